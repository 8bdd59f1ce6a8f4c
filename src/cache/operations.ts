/** The `/cache` endpoints. The shapes and the name `redisClient` are those of the manager's own cache. */
import { catalogue } from '../catalogue/index.ts'
import type { CacheEvent, InvalidationCause } from '../core/events.ts'
import { compareTexts, selectFirst } from '../core/in-turns.ts'
import type { Caller, EdgeRequest, Handler } from '../core/request.ts'
import type { CacheIndex, EdgeResponse, IndexEntry, JsonResponse, SnapshotState } from '../core/response.ts'
import { collectInTurns } from '../query/collect-in-turns.ts'
import { CollectionError, parseCollectionRequest, parsePage } from '../query/request.ts'
import type { ArraySource } from '../query/sources.ts'
import { type ExplainPorts, explain, snapshotKeyOf } from './explain.ts'
import { type LifetimesOf, staleTimesOf } from './lifetimes.ts'
import { urlsOf } from './listed-urls.ts'
import { type CompiledPolicy, compilePolicy } from './policy.ts'
import { staleBound } from './stores/local-entries.ts'

export interface CacheOperationsPorts {
  readonly index: CacheIndex
  /** Milliseconds. */
  readonly defaultDuration: number
  readonly lifetimesOf: LifetimesOf
  readonly enabled: boolean
  readonly sharedThroughRedis: boolean
  /** Receives one event for each purge. */
  readonly onEvent?: (event: CacheEvent) => void
  /** Absent if the cache is off. */
  readonly explained?: ExplainPorts
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
    purge: async () => {},
    purgeCount: () => 0,
  },
  defaultDuration: 0,
  lifetimesOf: () => ({ ttl: 0, staleWhileRevalidate: 0, staleIfError: 0 }),
  enabled: false,
  sharedThroughRedis: false,
}

type CacheOperation = 'cacheIndex' | 'cacheClear' | 'cacheClearGroup' | 'cacheConfig' | 'cacheExplain'

/** The policies of all endpoints whose responses may be stored. */
const policyByPath: ReadonlyMap<string, CompiledPolicy> = new Map(
  catalogue.flatMap((endpoint) => {
    const policy = compilePolicy(endpoint)
    return typeof policy === 'string' ? [] : [[endpoint.path as string, policy] as const]
  }),
)
const groups: ReadonlySet<string> = new Set([...policyByPath.values()].map(({ group }) => group))
/** URLs of responses that a soft purge cannot mark; a preview names no more of them. */
const MAX_PREVIEWED_URLS = 100
/** The form of keys: a SHA-256 digest in base64url. */
const KEY = /^[A-Za-z0-9_-]{43}$/

export function cacheOperations(ports: CacheOperationsPorts): Readonly<Record<CacheOperation, Handler>> {
  const { index, enabled, sharedThroughRedis, explained } = ports
  return {
    cacheIndex: async ({ query, returnMinimal }) => {
      if (query.details === 'true') return details(query)
      return returnMinimal ? counts() : urlsOf(await index.list())
    },
    cacheClear: (request) => clear(request, request.query.key === undefined ? {} : { key: request.query.key }),
    cacheClearGroup: (request) => clear(request, { group: request.params.group?.toLowerCase() ?? '' }),
    cacheConfig: async () =>
      success({
        debug: false,
        defaultDuration: ports.defaultDuration,
        enabled,
        appendKey: [],
        jsonp: false,
        redisClient: sharedThroughRedis,
      }),
    cacheExplain: async ({ query, caller }) => {
      if (explained === undefined) return success({ cacheable: false, reason: 'the cache is off' })
      return success(await explain(explained, query.url ?? '/', caller))
    },
  }

  async function clear(
    { query, returnMinimal, caller }: EdgeRequest,
    what: { readonly group?: string; readonly key?: string },
  ): Promise<EdgeResponse> {
    if (query.preview === 'true') return success(await previewOf(await matching(what, caller)))
    await purge({ ...what, soft: query.soft === 'true' }, caller)
    return returnMinimal ? counts() : urlsOf(await index.list())
  }

  async function matching({ group, key }: { readonly group?: string; readonly key?: string }, caller: Caller) {
    if (key === undefined) return index.list(group)
    const found = [await index.find(key), await snapshotOf(key, caller)]
    return found.filter((entry) => entry !== undefined)
  }

  /** Returns the snapshot from which the response with this key would be computed again, as it was before. */
  async function snapshotOf(key: string, caller: Caller): Promise<IndexEntry | undefined> {
    const entry = await index.find(key)
    if (entry === undefined || explained === undefined) return undefined
    const snapshotKey = await snapshotKeyOf(explained, entry.url, caller)
    return snapshotKey === undefined ? undefined : index.find(snapshotKey)
  }

  /** Counts instead of URLs (`Prefer: return=minimal`, RFC 7240): the cost does not depend on what is stored. */
  async function counts(): Promise<EdgeResponse> {
    const groups = await index.count()
    const all = [...groups.values()].reduce((sum, count) => sum + count, 0)
    const response = success({ all, groups: Object.fromEntries(groups) })
    return { ...response, headers: { 'preference-applied': 'return=minimal' } }
  }

  /** A page costs as much as its rows, unless all rows must be compared: for a sort, a search or a filter by tag. */
  async function details({ details: _, ...query }: EdgeRequest['query']): Promise<EdgeResponse> {
    const { group, offset, limit, ...others } = query
    try {
      if (Object.keys(others).length > 0) {
        const entries = await index.list(group?.toLowerCase())
        const request = parseCollectionRequest(query, new Date())
        return success(await collectInTurns(entries, publicFields, request, entrySource))
      }
      const window = parsePage(
        parseCollectionRequest({ ...(offset && { offset }), ...(limit && { limit }) }, new Date()),
      )
      const { rows, total } = await index.page({ ...window, ...(group && { group: group.toLowerCase() }) })
      return success({ items: rows.map(publicFields), totalItems: total })
    } catch (fault) {
      if (!(fault instanceof CollectionError)) throw fault
      return jsonResponse({ error: fault.code, message: fault.message })
    }
  }

  async function purge(what: Parameters<CacheIndex['purge']>[0], caller: Caller): Promise<void> {
    const { key, group } = what
    // Each purge leaves an epoch in the store, so names that no response can have are not purged.
    if ((key !== undefined && !KEY.test(key)) || (group !== undefined && !groups.has(group))) return
    const snapshot = key === undefined ? undefined : await snapshotOf(key, caller)
    // First the snapshot: a request in between would compute the response from it again.
    if (snapshot !== undefined) await index.purge({ ...what, key: snapshot.key })
    await index.purge(what)
    ports.onEvent?.({ kind: 'invalidated', cause: causeOf(what), tags: 1 })
  }

  /** What a purge would remove: entries, bytes, and seconds that nodes need to produce the responses again. */
  async function previewOf(entries: readonly IndexEntry[]) {
    const [seen, removed] = [new Map<string, boolean>(), { bytes: 0, fetchTime: 0 }]
    const neverStaleUrl = ({ endpoint, url, size, fetchTime }: IndexEntry): string | undefined => {
      removed.bytes += size
      removed.fetchTime += fetchTime
      const isNeverStale = seen.get(endpoint) ?? !mayBeStale(endpoint, ports.lifetimesOf)
      seen.set(endpoint, isNeverStale)
      return isNeverStale ? url : undefined
    }
    const { first: urls, total } = await selectFirst(entries, neverStaleUrl, compareTexts, MAX_PREVIEWED_URLS)
    const cost = { entries: entries.length, bytes: removed.bytes, seconds: Math.round(removed.fetchTime) / 1000 }
    return { ...cost, neverStale: { entries: total, urls } }
  }
}

/** Whether a response is served once more after a soft purge. */
function mayBeStale(endpoint: string, lifetimesOf: LifetimesOf): boolean {
  const policy = policyByPath.get(endpoint)
  return policy !== undefined && staleBound(staleTimesOf(policy, lifetimesOf(policy.group, endpoint), 0)) > 0
}

function causeOf({ key, group, soft }: Parameters<CacheIndex['purge']>[0]): InvalidationCause {
  if (soft) return 'softPurge'
  if (key !== undefined) return 'purgeKey'
  return group === undefined ? 'purgeAll' : 'purgeGroup'
}

const entrySource: ArraySource = {
  engine: 'array',
  defaultSort: '+url',
  sortable: ['url', 'group', 'endpoint', 'scope', 'key', 'size', 'age', 'timeLeft', 'hits', 'fetchTime'],
  searchable: ['url', 'endpoint'],
  filters: { tag: { by: 'equal', fields: ['tags'] } },
}

/** Times in whole milliseconds. Named one by one, since the store may add fields. */
function publicFields({ key, url, group, endpoint, scope, tags, size, age, timeLeft, hits, fetchTime }: IndexEntry) {
  const times = { age: Math.round(age), timeLeft: Math.round(timeLeft), hits, fetchTime: Math.round(fetchTime) }
  return { key, url, group, endpoint, scope, tags, size, ...times }
}

function success(data: unknown): JsonResponse {
  return jsonResponse({ error: 0, data })
}

function jsonResponse(value: object): JsonResponse {
  return { kind: 'json', status: 200, body: Buffer.from(JSON.stringify(value)) }
}
