/** Connects the view of plugins with the parts of the edge, and runs the purges of operators. */
import type { Access } from '../access/access.ts'
import { CACHE_OFF, explain, readEntry } from '../cache/explain.ts'
import type { CacheOperationsPorts } from '../cache/operations.ts'
import { listPurged, type PurgePorts, purgeCostOf, purgeScopeOf } from '../cache/purge.ts'
import { cacheGroups } from '../config/schema.ts'
import type { EdgeOperation, WriteEndpoint } from '../contracts/endpoint.ts'
import { bothContracts, catalogue } from '../contracts/index.ts'
import type { IndexEntry } from '../core/cache-entries.ts'
import { nameOf } from '../core/endpoint-names.ts'
import { errorNumberOf } from '../core/envelope.ts'
import { EdgeError, suggestionHeaders } from '../core/errors.ts'
import { type EdgeWrite, type Handler, NO_BODY } from '../core/request.ts'
import { toEdgeRequest } from '../http/edge-request.ts'
import { NO_FLAGS } from '../http/parameters.ts'
import type { CacheView, EdgeView } from '../status/edge-view.ts'
import type { ClientPort, PurgeRequest, PurgeResult } from '../status/view-types.ts'
import type { Cluster } from '../upstream/index.ts'
import type { Base } from './base.ts'
import { createNodeDrains } from './node-drains.ts'
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
  { name, events, audit, replicas }: Pick<Base, 'name' | 'events' | 'audit' | 'replicas'>,
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
    events: { on: events.on, requests: events.requests, totals: status.counts, recordStages: events.recordStages },
    report: (part) => replicas?.add(part),
    access: { permissionOf: (endpoint) => permissions.get(endpoint) ?? 'unknown', rolesOf: access.rolesOf, ...signIn },
  }
}

/** Purges of the console are requests to the same endpoints that clients use, through the same pipeline. */
export function createPurge(handler: Handler, cache: PurgePorts): CacheView['purge'] {
  const all = findOperation('cacheClear')
  const group = findOperation('cacheClearGroup')
  return async (purge, { caller, client, requestId }) => {
    checkGroup(purge.group)
    const endpoint = purge.group === undefined ? all : group
    const params = purge.group === undefined ? {} : { group: purge.group }
    const url = { endpoint, params, query: purgeQuery(purge), flags: NO_FLAGS }
    const headers = { prefer: 'return=minimal' }
    const request = toEdgeRequest(url, { caller, headers, id: requestId, clientAddress: client, body: NO_BODY })
    // What is purged is known only before it is purged.
    const rows = await listPurged(cache, purgeScopeOf(request), caller)
    const found = { ...(await purgeCostOf(rows, cache.lifetimesOf)), ...countKeys(purge, rows) }
    if (purge.preview) return { ...found, pending: false }
    const response = await handler(request)
    if (errorNumberOf(response) !== 0) throw new EdgeError(949)
    return { ...found, pending: response.status === STATUS_ACCEPTED }
  }
}

/** A misspelled group would purge nothing, and report success. */
function checkGroup(group: string | undefined): void {
  const known: readonly string[] = cacheGroups
  if (group === undefined || known.includes(group)) return
  const headers = suggestionHeaders(group, known)
  throw new EdgeError(604, `. There is no cache group ${group}; there are ${known.join(', ')}`, { headers })
}

/** Of a purge that was not sent, because Redis is unreachable. */
const STATUS_ACCEPTED = 202

/** The entries of keys that the purge does not name are snapshots. */
function countKeys(
  { keys = [], previewAge = 0 }: PurgeRequest,
  rows: readonly IndexEntry[],
): Pick<PurgeResult, 'missing' | 'newer'> {
  const named = new Set(keys)
  const found = rows.filter(({ key }) => named.has(key))
  return { missing: named.size - found.length, newer: found.filter(({ age }) => age < previewAge).length }
}

function purgeQuery({ keys, endpoint, tag, soft }: PurgeRequest): EdgeWrite['query'] {
  return {
    ...(keys !== undefined && { key: keys.join(',') }),
    ...(endpoint !== undefined && { endpoint }),
    ...(tag !== undefined && { tag }),
    ...(soft && { soft: 'true' }),
  }
}

function findOperation(operation: EdgeOperation): WriteEndpoint {
  const found = catalogue.find(({ target }) => target.kind === 'edge' && target.operation === operation)
  if (found === undefined || found.method === 'GET') throw new Error(`the catalogue has no write ${operation}`)
  return found
}
