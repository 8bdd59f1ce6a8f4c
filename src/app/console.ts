/** Connects the operators' console with the parts of the edge. */
import type { Access } from '../access/access.ts'
import type { ConsoleAdvice } from '../admin/console/advice.ts'
import type { ClientPort } from '../admin/console/api-types.ts'
import type { CapacityMonitor } from '../admin/console/capacity.ts'
import type { ConsoleCosts } from '../admin/console/costs.ts'
import type { ConsolePorts } from '../admin/console/ports.ts'
import { compareSettings, createReplicas, type Replicas, type SettingsComparison } from '../admin/console/replicas.ts'
import type { Readiness } from '../admin/readiness.ts'
import type { CoherenceCheck } from '../cache/coherence-check.ts'
import { CACHE_OFF, explain, readEntry } from '../cache/explain.ts'
import { purgeCostOf, withSnapshots } from '../cache/purge.ts'
import { bothContracts } from '../catalogue/index.ts'
import type { Certificates } from '../config/certificates.ts'
import { weaknessOf } from '../config/rules.ts'
import { digestSharedSettings } from '../config/shared-settings.ts'
import { nameOf } from '../core/request.ts'
import { digestText } from '../core/settings.ts'
import type { Cluster } from '../upstream/index.ts'
import { nodeStates } from '../upstream/node-states.ts'
import type { Api } from './api.ts'
import type { Base } from './base.ts'
import { createNodeDrains } from './console-drains.ts'
import { createPurge } from './console-purge.ts'
import type { Observed } from './observed.ts'
import { type ProcessGroup, version } from './process.ts'
import type { ReloadStatus } from './reload.ts'

/** Compares what this replica was given with what the others report. */
export function compareReplicaSettings(
  { settings, name, encryptionKey }: Pick<Base, 'settings' | 'name' | 'encryptionKey'>,
  access: Access,
): SettingsComparison {
  const keyDigest = digestText(encryptionKey?.toString('base64') ?? 'none')
  let digests = digestSharedSettings(settings.initial)
  settings.onReload((next) => {
    const nextDigests = digestSharedSettings(next)
    return () => {
      digests = nextDigests
    }
  })
  return compareSettings(name, () => ({
    ...digests,
    ...access.fileDigests?.(),
    'cache.encryptionKeyFile': keyDigest,
  }))
}

/** Returns `undefined` if replicas share nothing. `interval`: milliseconds between two reports. */
export function buildReplicas(
  parts: Pick<ConsoleParts, 'name' | 'replica' | 'cluster' | 'monitors' | 'ready' | 'incidents'> & {
    readonly costs: Pick<ConsoleCosts, 'report' | 'offer'>
    readonly advice: Pick<ConsoleAdvice, 'report' | 'offer'>
    readonly capacity: CapacityMonitor
    readonly settings: Pick<SettingsComparison, 'report' | 'offer'>
  },
  interval?: number,
): Replicas | undefined {
  const { name, replica, cluster, monitors, ready, incidents, costs, advice, capacity, settings } = parts
  if (replica === undefined) return undefined
  const self = {
    name,
    version,
    ready: () => ready().ok,
    contact: cluster.contacts.report,
    rates: monitors.traffic.rates,
    local: () => capacity.current().local,
    nodes: () => nodeStates(cluster),
    joined: monitors.joins.last,
    nodeList: cluster.nodeList,
    incidents,
    costs,
    settings,
    advice,
  }
  return createReplicas(self, (text) => replica.exchangeDescriptions(text), interval)
}

export function buildConsolePorts(parts: ConsoleParts): ConsolePorts {
  const { settings, name, monitors, history, incidents, costs, advice, divergence, storeStatus } = parts
  const { cluster, api, capacity, replicas, certificates, processGroup } = parts
  const { initial, current } = settings
  const { cache, handler, recheckInterval } = api
  const { explained } = cache
  const permissions = new Map<string, string>(
    bothContracts.filter(({ method }) => method === 'GET').map((record) => [nameOf(record), record.permission]),
  )
  return {
    name,
    version,
    clientPorts: parts.clientPorts,
    ready: parts.ready,
    credentials: () => ({
      refusedBy: cluster.contacts.refusing,
      isWeak: weaknessOf(current().cluster.credentials) !== undefined,
    }),
    configuration: parts.reload,
    traffic: monitors.traffic,
    history,
    incidents,
    costs,
    advice,
    tail: monitors.tail,
    records: monitors.records,
    ...(processGroup && { findElsewhere: (id: string) => processGroup.findRequest(id) }),
    joins: monitors.joins,
    divergence,
    index: cache.index,
    purge: createPurge(handler, cache),
    costOf: async (rows, caller) => purgeCostOf(await withSnapshots(cache, rows, caller), cache.lifetimesOf),
    snapshots: () => cache.snapshots?.() ?? [],
    cache: () => ({ enabled: cache.enabled, shared: cache.sharedThroughRedis, ...storeStatus.current() }),
    capacity: capacity.current,
    nodes: () => nodeStates(cluster),
    queueLimit: () => current().cluster.limits.queue,
    growingQueues: monitors.queues.growing,
    ...(recheckInterval && {
      tokenRecheck: () => ({ interval: recheckInterval(), configured: initial.access.tokens.recheck }),
    }),
    certificates: certificates.current,
    ...(replicas && { replicas: replicas.others, settingDifferences: parts.comparison.differences }),
    ...(api.coherence && { checkCoherence: createCoherenceRun(parts, api.coherence) }),
    drains: createNodeDrains(parts),
    layoutMixture: () => cluster.view.layoutMixture?.(),
    permissionOf: (endpoint) => permissions.get(endpoint) ?? 'unknown',
    explain: async (url, caller) => (explained === undefined ? CACHE_OFF : explain(explained, url, caller)),
    read: (entry, caller) => readEntry(explained, entry, caller),
  }
}

function createCoherenceRun(
  { audit, replicas }: Pick<ConsoleParts, 'audit' | 'replicas'>,
  coherence: CoherenceCheck,
): NonNullable<ConsolePorts['checkCoherence']> {
  return ({ caller, client, requestId: request }) => {
    const others = (replicas?.others() ?? []).map(({ name }) => name)
    const described = {
      request,
      caller: caller.name,
      client,
      method: 'POST',
      route: '/api/coherence',
      params: {},
    } as const
    return audit.record(described, () => coherence.run(others))
  }
}

export interface ConsoleParts extends Base, Observed {
  readonly cluster: Cluster
  readonly access: Access
  readonly api: Api
  readonly capacity: CapacityMonitor
  readonly ready: () => Readiness
  /** Absent: this is the only process behind its ports. */
  readonly processGroup: ProcessGroup | undefined
  readonly reload: () => ReloadStatus
  readonly certificates: Certificates
  /** Absent: replicas share nothing. */
  readonly replicas: Replicas | undefined
  readonly comparison: SettingsComparison
  /** The ports for clients, as soon as the edge listens. */
  readonly clientPorts: () => readonly ClientPort[]
}
