/** Purges that operators ask for: requests to the endpoints that clients use, through the same pipeline. */
import { listPurged, type PurgePorts, purgeCostOf, purgeScopeOf } from '../cache/purge.ts'
import { cacheGroups } from '../config/schema.ts'
import type { EdgeOperation, WriteEndpoint } from '../contracts/endpoint.ts'
import { catalogue } from '../contracts/index.ts'
import type { IndexEntry } from '../core/cache-entries.ts'
import { errorNumberOf } from '../core/envelope.ts'
import { EdgeError, suggestionHeaders } from '../core/errors.ts'
import { type EdgeWrite, type Handler, NO_BODY } from '../core/request.ts'
import { toEdgeRequest } from '../http/edge-request.ts'
import { NO_FLAGS } from '../http/parameters.ts'
import type { CacheView } from '../status/edge-view.ts'
import type { PurgeRequest } from '../status/view-types.ts'

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
    const found = { ...(await purgeCostOf(rows, cache.lifetimesOf)), missing: countMissing(purge, rows) }
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
function countMissing({ keys = [] }: PurgeRequest, rows: readonly IndexEntry[]): number {
  const named = new Set(keys)
  return named.size - rows.filter(({ key }) => named.has(key)).length
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
