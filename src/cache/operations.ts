/** The `/cache` endpoints. The shapes and the name `redisClient` are those of the manager's own cache. */
import { allows, READ_CACHE } from '../core/access.ts'
import { type IndexEntry, type SnapshotState, shownEntry } from '../core/cache-index.ts'
import { envelopeOf } from '../core/envelope.ts'
import type { Caller, EdgeRequest, Handler } from '../core/request.ts'
import {
  type CacheIndex,
  type EdgeOrigin,
  type EdgeResponse,
  type EnvelopeResponse,
  OF_EDGE,
} from '../core/response.ts'
import { compareTexts, inTurns, selectFirst } from '../core/turns.ts'
import { collectInTurns } from '../query/collect.ts'
import { CollectionError, parseCollectionRequest, parsePage } from '../query/request.ts'
import { cacheEntries } from '../query/sources.ts'
import { explain } from './explain.ts'
import { effectiveLifetimes } from './lifetimes.ts'
import { listPurged, type PurgePorts, policyByPath, purge, purgeCostOf, purgeScopeOf } from './purge.ts'

export interface CacheOperationsPorts extends PurgePorts {
  /** Returns the scopes of the stored responses that the caller may be served. Absent: there are no stored responses. */
  readonly scopesOf?: (caller: Caller) => ReadonlySet<string>
  /** Milliseconds. */
  readonly defaultDuration: () => number
  readonly enabled: boolean
  readonly sharedThroughRedis: boolean
  /** Returns the snapshots whose rows this process has. Absent if the cache is off. */
  readonly snapshots?: () => readonly SnapshotState[]
}

/** The ports if no cache is configured. */
export const disabledCache: CacheOperationsPorts = {
  index: {
    peek: async () => ({ kind: 'unavailable' }),
    list: async () => [],
    count: async () => new Map(),
    page: async () => ({ rows: [], total: 0 }),
    find: async () => undefined,
    purge: async () => 'done',
    purgeCount: () => 0,
  },
  defaultDuration: () => 0,
  lifetimesOf: () => ({ ttl: 0, staleWhileRevalidate: 0, staleIfError: 0 }),
  enabled: false,
  sharedThroughRedis: false,
}

type ListedEntries = Pick<CacheIndex, 'list' | 'count' | 'page'>

type CacheOperation = 'cacheIndex' | 'cacheClear' | 'cacheClearGroup' | 'cacheConfig' | 'cacheExplain'

export function cacheOperations(ports: CacheOperationsPorts): Readonly<Record<CacheOperation, Handler>> {
  const { index, enabled, sharedThroughRedis, explained } = ports
  return {
    cacheIndex: async ({ query, caller, returnMinimal }) => {
      const entries = readableBy(caller)
      return query.details === 'true' ? details(entries, query) : listing(entries, returnMinimal)
    },
    cacheClear: clear,
    cacheClearGroup: clear,
    cacheConfig: async () =>
      success({
        debug: false,
        defaultDuration: ports.defaultDuration(),
        enabled,
        appendKey: [],
        jsonp: false,
        redisClient: sharedThroughRedis,
        ...(enabled && effectiveLifetimes(policyByPath, ports.lifetimesOf)),
      }),
    cacheExplain: async ({ query, caller }) => {
      if (explained === undefined) return success({ cacheable: false, reason: 'the cache is off' })
      return success(await explain(explained, query.url ?? '/', caller))
    },
  }

  async function clear(request: EdgeRequest): Promise<EdgeResponse> {
    const { query, returnMinimal, caller } = request
    const entries = readableBy(caller)
    const scope = purgeScopeOf(request)
    if (query.preview === 'true') {
      const scopes = readableScopes(caller)
      const mayName = ({ scope: ofEntry }: IndexEntry) => scopes?.has(ofEntry) ?? true
      return success(await purgeCostOf(await listPurged(ports, scope, caller), ports.lifetimesOf, mayName))
    }
    const outcome = await purge(ports, scope, caller)
    const response = await listing(entries, returnMinimal)
    if (outcome === 'done') return response
    return { ...response, status: 202, origin: { ...response.origin, isUnfinished: true } }
  }

  function readableBy(caller: Caller): ListedEntries {
    const scopes = readableScopes(caller)
    return scopes === undefined ? index : ownEntriesOf(index, scopes)
  }

  /** Returns the scopes whose entries the caller may read; `undefined`: all. */
  function readableScopes(caller: Caller): ReadonlySet<string> | undefined {
    return allows(caller.permissions, READ_CACHE) ? undefined : (ports.scopesOf?.(caller) ?? new Set())
  }

  async function listing(entries: ListedEntries, isMinimal: boolean): Promise<EnvelopeResponse<EdgeOrigin>> {
    return isMinimal ? counts(entries) : urlsOf(await entries.list())
  }

  /** Counts instead of URLs (`Prefer: return=minimal`, RFC 7240): of all entries, the cost does not depend on their number. */
  async function counts(entries: ListedEntries): Promise<EnvelopeResponse<EdgeOrigin>> {
    const groups = await entries.count()
    const all = [...groups.values()].reduce((sum, count) => sum + count, 0)
    const headers = { 'preference-applied': 'return=minimal' }
    return envelopeOf({ error: 0, data: { all, groups: Object.fromEntries(groups) } }, { ...OF_EDGE, headers })
  }
}

/** A page costs as much as its rows, unless all rows must be compared: for a sort, a search or a filter by tag. */
async function details(listed: ListedEntries, { details: _, ...query }: EdgeRequest['query']): Promise<EdgeResponse> {
  const { group, offset, limit, ...others } = query
  try {
    if (Object.keys(others).length > 0) {
      const entries = await listed.list(group?.toLowerCase())
      const request = parseCollectionRequest(query, new Date())
      return success(await collectInTurns(entries, shownEntry, request, cacheEntries))
    }
    const window = parsePage(parseCollectionRequest({ ...(offset && { offset }), ...(limit && { limit }) }, new Date()))
    const { rows, total } = await listed.page({ ...window, ...(group && { group: group.toLowerCase() }) })
    return success({ items: rows.map((row) => shownEntry(row)), totalItems: total })
  } catch (fault) {
    if (!(fault instanceof CollectionError)) throw fault
    return envelopeOf({ error: fault.code, message: fault.message }, OF_EDGE)
  }
}

function success(data: unknown): EnvelopeResponse<EdgeOrigin> {
  return envelopeOf({ error: 0, data }, OF_EDGE)
}

/**
 * Returns the response of `GET /cache`: the URLs of all stored responses, also by group. There may be a hundred thousand.
 * Each URL is listed once, though it may be stored for several scopes. Serves other events of the loop meanwhile.
 */
async function urlsOf(entries: readonly IndexEntry[]): Promise<EnvelopeResponse<EdgeOrigin>> {
  const all = new Set<string>()
  const groups = new Map<string, Set<string>>()
  for await (const part of inTurns(entries)) {
    for (const { group, url } of part) {
      all.add(url)
      const urls = groups.get(group)
      if (urls === undefined) groups.set(group, new Set([url]))
      else urls.add(url)
    }
  }
  const parts = [Buffer.from('{"error":0,"data":{"all":'), ...(await listOf(all)), Buffer.from(',"groups":{')]
  for (const [at, group] of [...groups.keys()].sort().entries()) {
    parts.push(
      Buffer.from(`${at === 0 ? '' : ','}${JSON.stringify(group)}:`),
      ...(await listOf(groups.get(group) ?? [])),
    )
  }
  parts.push(Buffer.from('}}}'))
  return { kind: 'envelope', status: 200, body: Buffer.concat(parts), errorNumber: 0, origin: OF_EDGE }
}

/** Returns a JSON list of the sorted texts, in parts. */
async function listOf(texts: Iterable<string>): Promise<readonly Buffer[]> {
  const { first: sorted } = await selectFirst([...texts], (text) => text, compareTexts, Number.POSITIVE_INFINITY)
  const parts: Buffer[] = []
  for await (const part of inTurns(sorted)) {
    parts.push(Buffer.from(parts.length === 0 ? '[' : ','), Buffer.from(JSON.stringify(part).slice(1, -1)))
  }
  return parts.length === 0 ? [Buffer.from('[]')] : [...parts, Buffer.from(']')]
}

/**
 * Returns the part of the index that shows stored responses of these permission scopes only: rows, counts, pages and totals
 * contain nothing of other scopes. Each costs as much as the whole index.
 */
function ownEntriesOf(index: Pick<CacheIndex, 'list'>, scopes: ReadonlySet<string>): ListedEntries {
  async function list(group?: string): Promise<readonly IndexEntry[]> {
    const own: IndexEntry[] = []
    for await (const part of inTurns(await index.list(group)))
      own.push(...part.filter(({ scope }) => scopes.has(scope)))
    return own
  }
  return {
    list,
    async count() {
      const counts = new Map<string, number>()
      for (const { group } of await list()) counts.set(group, (counts.get(group) ?? 0) + 1)
      return new Map([...counts].sort())
    },
    async page({ group, offset, limit }) {
      const rows = await list(group)
      return { rows: rows.slice(offset, offset + limit), total: rows.length }
    },
  }
}
