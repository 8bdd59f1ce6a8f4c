/** Builds the cluster from the configuration. */
import { readFile } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Logger } from 'pino'
import type { ReloadableConfig } from '../config/reloadable.ts'
import type { Config } from '../config/schema.ts'
import { createSharedSlots } from '../replicas/shared-slots.ts'
import { warnOfUnusedDistribution } from '../upstream/distribution.ts'
import {
  type Cluster,
  type ClusterChanges,
  type ClusterOptions,
  createCluster,
  type NodeCredentials,
  type NodeTls,
} from '../upstream/index.ts'
import type { Base } from './base.ts'
import { toLog } from './log.ts'
import type { EdgeTimes } from './times.ts'

/** Rejects if a certificate cannot be read. */
export async function buildCluster(
  { initial, derive, onReload }: ReloadableConfig,
  log: Logger,
  ports: Partial<Omit<ClusterOptions, keyof ClusterChanges | 'layout' | 'limits' | 'log'>> = {},
): Promise<Cluster> {
  let used = await connectionsOf(initial)
  const built = createCluster({
    ...used,
    layout: initial.cluster.layout,
    limits: derive((config) => config.cluster.limits),
    log: toLog(log),
    ...ports,
  })
  onReload(async (next) => {
    const now = await connectionsOf(next)
    // Only what changed is passed on, because new certificates and addresses close all idle connections.
    const changed = Object.entries(now).filter(
      ([name, value]) => !isDeepStrictEqual(value, used[name as keyof typeof used]),
    )
    const apply = built.prepare(Object.fromEntries(changed))
    return () => {
      apply()
      used = now
      if (changed.some(([name]) => name === 'tls')) log.info('node certificates reloaded')
    }
  })
  return built
}

/** Connects the cluster with the replicas that share it, and with what listens to its events. */
export function connectCluster(base: ClusterBase, times: EdgeTimes['cluster']): Promise<Cluster> {
  const { settings, log, events, traces, shared, endedTokens } = base
  const { emit } = events
  events.on({
    layoutChange: (change) => warnOfUnusedDistribution(change, settings.initial.cluster.distribution, toLog(log)),
  })
  return buildCluster(settings, log, {
    onCall: emit.nodeCall,
    onEject: emit.ejection,
    onLayoutChange: emit.layoutChange,
    ...times,
    ...(traces && { untracedTraceparent: traces.untracedTraceparent }),
    hasEndedToken: endedTokens.hasEnded,
    ...(shared && {
      peers: () => shared.replicas.others() ?? [],
      onListRead: () => shared.replicas.publish(),
      slots: createSharedSlots(shared.replica),
      counters: shared.counters,
    }),
  })
}

type ClusterBase = Pick<Base, 'settings' | 'log' | 'events' | 'traces' | 'shared' | 'endedTokens'>

async function connectionsOf(config: Config): Promise<Required<ClusterChanges>> {
  const { nodes, discover, addresses } = config.cluster
  return {
    nodes,
    discover,
    tls: await readTls(config),
    credentials: credentialsOf(config),
    allowedAddresses: addresses,
  }
}

function credentialsOf({ cluster: { credentials } }: Config): NodeCredentials {
  const { mode, username = '', password = '' } = credentials
  return mode === 'service' ? { mode, username, password } : { mode }
}

/** Rejects if a file cannot be read. */
export async function readTls({ cluster: { tls } }: Config): Promise<NodeTls> {
  const [ca, cert, key] = await Promise.all([tls.ca, tls.cert, tls.key].map(readIfSet))
  return { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) }
}

async function readIfSet(file: string | undefined): Promise<string | undefined> {
  return file === undefined ? undefined : readFile(file, 'utf8')
}
