/** Connects the view of plugins with the parts of the edge. */
import type { Access } from '../access/access.ts'
import { CACHE_OFF, explain, readEntry } from '../cache/explain.ts'
import type { CacheOperationsPorts } from '../cache/operations.ts'
import type { PurgePorts } from '../cache/purge.ts'
import { bothContracts } from '../contracts/index.ts'
import { nameOf } from '../core/endpoint-names.ts'
import type { Handler } from '../core/request.ts'
import type { EdgeView } from '../status/edge-view.ts'
import type { ClientPort } from '../status/view-types.ts'
import type { Cluster } from '../upstream/index.ts'
import type { Base } from './base.ts'
import { createNodeDrains } from './node-drains.ts'
import { createPurge } from './operator-purges.ts'
import { version } from './process.ts'
import type { Status } from './status.ts'

interface ViewParts {
  readonly cluster: Pick<Cluster, 'drains'>
  readonly cache: PurgePorts & CacheOperationsPorts
  readonly access: Pick<Access, 'rolesOf'>
  readonly handler: Handler
  readonly status: Pick<Status, 'sources' | 'problems' | 'counts'>
  readonly signIn: Pick<EdgeView['access'], 'usePages' | 'sessions'>
  /** The ports for clients, as soon as the edge listens. */
  readonly clientPorts: () => readonly ClientPort[]
}

export function buildEdgeView(
  { name, events, audit, shared }: Pick<Base, 'name' | 'events' | 'audit' | 'shared'>,
  { cluster, cache, access, handler, status, signIn, clientPorts }: ViewParts,
): EdgeView {
  const { sources } = status
  const { explained } = cache
  const permissions = new Map<string, string>(
    bothContracts.filter(({ method }) => method === 'GET').map((record) => [nameOf(record), record.permission]),
  )
  return {
    name,
    version,
    clientPorts,
    ready: sources.ready,
    problems: status.problems,
    cluster: sources,
    cache: {
      state: sources.cache,
      capacity: sources.capacity,
      index: cache.index,
      snapshots: () => cache.snapshots?.() ?? [],
      purge: createPurge(handler, cache),
      explain: async (url, caller) => (explained === undefined ? CACHE_OFF : explain(explained, url, caller)),
      read: (entry, caller) => readEntry(explained, entry, caller),
    },
    drains: createNodeDrains(audit, cluster, events.emit),
    events: {
      on: events.collect,
      requests: events.requests,
      totals: () => status.counts,
      recordStages: events.recordStages,
    },
    report: (part) => shared?.replicas.add(part),
    access: { permissionOf: (endpoint) => permissions.get(endpoint) ?? 'unknown', rolesOf: access.rolesOf, ...signIn },
  }
}
