/** The `/cache` endpoints. The shapes and the name `redisClient` are those of the manager's own cache. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { catalogue } from '../catalogue/index.ts'
import type { CacheEvent, InvalidationCause } from '../core/events.ts'
import type { EdgeRequest, Handler } from '../core/request.ts'
import type { CacheIndex, EdgeResponse, IndexEntry, JsonResponse } from '../core/response.ts'
import { collect } from '../query/collect.ts'
import { CollectionError, parseCollectionRequest, parsePage } from '../query/request.ts'
import type { ArraySource } from '../query/sources.ts'
import { type ExplainPorts, explain } from './explain.ts'
import { type CompiledPolicy, compilePolicy, type LifetimesOf, lifetimesUnder } from './policy.ts'
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
      return returnMinimal ? counts() : success(await indexOf(await index.list()))
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
    { query, returnMinimal }: EdgeRequest,
    what: { readonly group?: string; readonly key?: string },
  ): Promise<EdgeResponse> {
    if (query.preview === 'true') return success(previewOf(await matching(what)))
    await purge({ ...what, soft: query.soft === 'true' })
    return returnMinimal ? counts() : success(await indexOf(await index.list()))
  }

  async function matching({ group, key }: { readonly group?: string; readonly key?: string }) {
    if (key === undefined) return index.list(group)
    const found = await index.find(key)
    return found === undefined ? [] : [found]
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
        return success(collect(entries.map(publicFields), parseCollectionRequest(query, new Date()), entrySource))
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

  async function purge(what: Parameters<CacheIndex['purge']>[0]): Promise<void> {
    const { key, group } = what
    // Each purge leaves an epoch in the store, so names that no response can have are not purged.
    if ((key !== undefined && !KEY.test(key)) || (group !== undefined && !groups.has(group))) return
    await index.purge(what)
    ports.onEvent?.({ kind: 'invalidated', cause: causeOf(what), tags: 1 })
  }

  function previewOf(entries: readonly IndexEntry[]) {
    const neverStale = entries.filter((entry) => !mayBeStale(entry, ports.lifetimesOf))
    const urls = neverStale.map(({ url }) => url).sort()
    return { ...refillCost(entries), neverStale: { entries: urls.length, urls: urls.slice(0, MAX_PREVIEWED_URLS) } }
  }
}

/** Whether a response is served once more after a soft purge. */
function mayBeStale({ endpoint }: IndexEntry, lifetimesOf: LifetimesOf): boolean {
  const policy = policyByPath.get(endpoint)
  return policy !== undefined && staleBound(lifetimesUnder(policy, lifetimesOf(policy.group, endpoint))) > 0
}

function causeOf({ key, group, soft }: Parameters<CacheIndex['purge']>[0]): InvalidationCause {
  if (soft) return 'softPurge'
  if (key !== undefined) return 'purgeKey'
  return group === undefined ? 'purgeAll' : 'purgeGroup'
}

/** Lists each URL once, though it may be stored for several scopes. Yields to the event loop after each group. */
async function indexOf(entries: readonly IndexEntry[]): Promise<{
  readonly all: readonly string[]
  readonly groups: Readonly<Record<string, readonly string[]>>
}> {
  const urls = new Map<string, Set<string>>()
  for (const { group, url } of entries) {
    const ofGroup = urls.get(group)
    if (ofGroup === undefined) urls.set(group, new Set([url]))
    else ofGroup.add(url)
  }
  const groups: [string, readonly string[]][] = []
  for (const group of [...urls.keys()].sort()) {
    groups.push([group, [...(urls.get(group) ?? [])].sort()])
    await nextTurn()
  }
  const all = [...new Set(groups.flatMap(([, ofGroup]) => ofGroup))]
  return { all: all.sort(), groups: Object.fromEntries(groups) }
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

/** What a purge would remove: entries, bytes, and seconds that nodes need to produce the responses again. */
function refillCost(removed: readonly IndexEntry[]) {
  const sum = (field: 'size' | 'fetchTime') => removed.reduce((total, entry) => total + entry[field], 0)
  return { entries: removed.length, bytes: sum('size'), seconds: Math.round(sum('fetchTime')) / 1000 }
}

function success(data: unknown): JsonResponse {
  return jsonResponse({ error: 0, data })
}

function jsonResponse(value: object): JsonResponse {
  return { kind: 'json', status: 200, body: Buffer.from(JSON.stringify(value)) }
}
