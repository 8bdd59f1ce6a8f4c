/** Builds what operators learn about this replica: its counts and problems, and what replicas report to each other. */

import type { Access } from '../access/access.ts'
import { createCertificates } from '../config/certificates.ts'
import { digestSharedSettings } from '../config/reloadable.ts'
import { weaknessOf } from '../config/weak-passwords.ts'
import { digestText } from '../core/settings.ts'
import { readMemory } from '../replicas/memory.ts'
import type { RedisReplica } from '../replicas/replica.ts'
import { type Capacity, watchCapacity } from '../status/capacity.ts'
import type { RedisCapacity } from '../status/problem-types.ts'
import { watchProblems } from '../status/problem-watch.ts'
import type { ProblemSources } from '../status/problems/sources.ts'
import { problemsOf } from '../status/problems.ts'
import { NOT_READY, type Readiness, readinessOf } from '../status/readiness.ts'
import { createRecentErrors } from '../status/recent-errors.ts'
import type { Replicas } from '../status/replicas.ts'
import { createServedInOutage } from '../status/served-in-outage.ts'
import { compareSettings, type SettingsComparison } from '../status/setting-differences.ts'
import { RequestCounts } from '../telemetry/events.ts'
import type { Cluster } from '../upstream/index.ts'
import { nodeStates } from '../upstream/node-states.ts'
import type { Base } from './base.ts'
import type { BuiltCache } from './cache.ts'
import { watchOpenFiles } from './open-files.ts'
import { version } from './process.ts'
import type { Reloader } from './reload.ts'
import type { EdgeTimes } from './times.ts'

type StatusBase = Pick<
  Base,
  'settings' | 'name' | 'log' | 'events' | 'audit' | 'storeStatus' | 'shared' | 'encryptionKey'
>

interface StatusParts {
  readonly cluster: Cluster
  readonly access: Access
  readonly cache: BuiltCache
  readonly reloader: Reloader
  readonly isDraining: () => boolean
}

export type Status = Awaited<ReturnType<typeof buildStatus>>

/** Counts and watches from now on, so it is called before anything serves. */
export async function buildStatus(base: StatusBase, parts: StatusParts, times: EdgeTimes) {
  const { settings, events, audit, storeStatus, shared, log } = base
  const { cluster, access, cache, reloader } = parts
  const { initial, current } = settings
  const { ports, recheckInterval } = cache
  const counts = new RequestCounts()
  const errors = createRecentErrors()
  const outage = createServedInOutage(() => cluster.outageFor() !== undefined)
  for (const listeners of [counts, errors, outage]) events.collect(listeners)
  const counted =
    <Found>(read: () => Found) =>
    (): Found => {
      events.requests.drain()
      return read()
    }
  const ready = () => readinessOf({ isDraining: parts.isDraining(), contacts: cluster.contacts })
  const capacity = connectCapacity(cache, shared?.replica, times.capacityInterval)
  const openFiles = await watchOpenFiles({ log })
  const comparison = compareReplicaSettings(base, access, times.reportInterval)
  const certificates = await createCertificates(settings)
  if (shared !== undefined)
    reportToOthers(shared.replicas, base.name, { ready, cluster, capacity, settings: comparison })
  const sources: ProblemSources = {
    ready,
    credentials: () => ({
      refusedBy: cluster.contacts.refusing,
      isWeak: weaknessOf(current().cluster.credentials) !== undefined,
    }),
    configuration: reloader.status,
    cache: () => ({ enabled: ports.enabled, shared: ports.sharedThroughRedis, ...storeStatus.current() }),
    capacity: capacity.current,
    audit: () => ({ isFailing: audit.state().isFailing, refuses: current().audit.onFailure === 'refuse' }),
    recentErrors: counted(errors.all),
    servedInOutage: counted(outage.oldest),
    nodes: () => nodeStates(cluster),
    queueLimit: () => current().cluster.limits.queue,
    exhaustedFiles: openFiles.exhausted,
    ...(recheckInterval && {
      tokenRecheck: () => ({ interval: recheckInterval(), configured: initial.access.tokens.recheck }),
    }),
    certificates: certificates.current,
    ...(shared && { replicas: shared.replicas.others, settingDifferences: comparison.differences }),
    layoutMixture: () => cluster.view.layoutMixture(),
  }
  const problems = watchProblems(() => problemsOf(sources))
  const stop = () => {
    for (const part of [capacity, openFiles, problems]) part.stop()
  }
  return { counts, capacity, sources, problems: problems.current, stop }
}

/** Connects the view of the cache's capacity with the store and Redis. */
function connectCapacity(
  { ports: { index, enabled }, state }: Pick<BuiltCache, 'ports' | 'state'>,
  replica: RedisReplica | undefined,
  interval: number | undefined,
): Capacity {
  const readRedis = async (redis: RedisReplica): Promise<RedisCapacity> => {
    const memory = await readMemory(redis)
    if (memory === undefined) return {}
    const counts = await index.count()
    return { memory, entries: [...counts.values()].reduce((sum, count) => sum + count, 0) }
  }
  return watchCapacity(
    enabled && state ? () => state().local : undefined,
    replica && (() => readRedis(replica)),
    interval,
  )
}

/** Compares what this replica was given with what the others report. */
function compareReplicaSettings(
  { settings, name, encryptionKey }: Pick<Base, 'settings' | 'name' | 'encryptionKey'>,
  access: Access,
  interval: number | undefined,
): SettingsComparison {
  const keyDigest = digestText(encryptionKey?.toString('base64') ?? 'none')
  let digests = digestSharedSettings(settings.initial)
  settings.onReload((next) => {
    const nextDigests = digestSharedSettings(next)
    return () => {
      digests = nextDigests
    }
  })
  const all = () => ({ ...digests, ...access.fileDigests?.(), 'cache.encryptionKeyFile': keyDigest })
  return compareSettings(name, all, interval)
}

interface ReportedParts {
  readonly cluster: Cluster
  readonly ready: () => Readiness
  readonly capacity: Pick<Capacity, 'current'>
  readonly settings: Pick<SettingsComparison, 'report' | 'offer'>
}

function reportToOthers(replicas: Replicas, name: string, parts: ReportedParts): void {
  const { cluster, ready, capacity, settings } = parts
  replicas.report({
    name,
    version,
    ready: () => ready().ok,
    draining: () => ready().reasons.includes(NOT_READY.draining),
    contact: cluster.contacts.report,
    local: () => capacity.current().local,
    nodes: () => nodeStates(cluster),
    nodeList: cluster.nodeList,
    settings,
  })
}
