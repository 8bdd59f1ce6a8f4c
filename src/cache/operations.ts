/** The `/cache` endpoints. The shapes and the name `redisClient` are those of the manager's own cache. */
import { catalogue } from '../catalogue/index.ts'
import type { CacheEvent, InvalidationCause } from '../core/events.ts'
import type { EdgeRequest, Handler } from '../core/request.ts'
import type { CacheIndex, EdgeResponse, IndexEntry } from '../core/response.ts'
import { collect } from '../query/collect.ts'
import { CollectionError, parseCollectionRequest } from '../query/request.ts'
import type { ArraySource } from '../query/sources.ts'
import { type ExplainPorts, explain } from './explain.ts'
import { compilePolicy } from './policy.ts'

export interface CacheOperationsPorts {
  readonly index: CacheIndex
  /** Milliseconds. */
  readonly defaultDuration: number
  readonly enabled: boolean
  readonly sharedThroughRedis: boolean
  /** Receives one event for each purge. */
  readonly onEvent?: (event: CacheEvent) => void
  /** Absent if the cache is off. */
  readonly explained?: ExplainPorts
}

/** The ports if no cache is configured. */
export const disabledCache: CacheOperationsPorts = {
  index: { peek: async () => ({ kind: 'unavailable' }), list: async () => [], purge: async () => {} },
  defaultDuration: 0,
  enabled: false,
  sharedThroughRedis: false,
}

type CacheOperation = 'cacheIndex' | 'cacheClear' | 'cacheClearGroup' | 'cacheConfig' | 'cacheExplain'

const policies = catalogue.map(compilePolicy)
const groups: ReadonlySet<string> = new Set(
  policies.flatMap((policy) => (typeof policy === 'string' ? [] : policy.group)),
)
/** The form of keys: a SHA-256 digest in base64url. */
const KEY = /^[A-Za-z0-9_-]{43}$/

export function cacheOperations(ports: CacheOperationsPorts): Readonly<Record<CacheOperation, Handler>> {
  const { index, enabled, sharedThroughRedis, explained } = ports
  return {
    cacheIndex: async ({ query }) => {
      const entries = await index.list()
      return query.details === 'true' ? detailedIndex(entries, query) : success(indexOf(entries))
    },
    cacheClear: ({ query }) => clear(query, query.key === undefined ? {} : { key: query.key }),
    cacheClearGroup: ({ query, params }) => clear(query, { group: params.group?.toLowerCase() ?? '' }),
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
    query: EdgeRequest['query'],
    what: { readonly group?: string; readonly key?: string },
  ): Promise<EdgeResponse> {
    if (query.preview === 'true') return success(refillCost(await index.list(what.group), what.key))
    await purge({ ...what, soft: query.soft === 'true' })
    return success(indexOf(await index.list()))
  }

  async function purge(what: Parameters<CacheIndex['purge']>[0]): Promise<void> {
    const { key, group } = what
    // Each purge leaves an epoch in the store, so names that no response can have are not purged.
    if ((key !== undefined && !KEY.test(key)) || (group !== undefined && !groups.has(group))) return
    await index.purge(what)
    ports.onEvent?.({ kind: 'invalidated', cause: causeOf(what), tags: 1 })
  }
}

function causeOf({ key, group, soft }: Parameters<CacheIndex['purge']>[0]): InvalidationCause {
  if (soft) return 'softPurge'
  if (key !== undefined) return 'purgeKey'
  return group === undefined ? 'purgeAll' : 'purgeGroup'
}

/** Lists each URL once, though it may be stored for several scopes. */
function indexOf(entries: readonly IndexEntry[]): {
  readonly all: readonly string[]
  readonly groups: Readonly<Record<string, readonly string[]>>
} {
  const urlsOf = (some: readonly IndexEntry[]) => [...new Set(some.map(({ url }) => url))].sort()
  const names = [...new Set(entries.map(({ group }) => group))].sort()
  const byGroup = names.map((name) => [name, urlsOf(entries.filter(({ group }) => group === name))])
  return { all: urlsOf(entries), groups: Object.fromEntries(byGroup) }
}

const entrySource: ArraySource = {
  engine: 'array',
  defaultSort: '+url',
  sortable: ['url', 'group', 'endpoint', 'scope', 'key', 'size', 'age', 'timeLeft', 'hits', 'fetchTime'],
  searchable: ['url', 'endpoint'],
  filters: { tag: { by: 'equal', fields: ['tags'] } },
}

function detailedIndex(entries: readonly IndexEntry[], { details: _, ...query }: EdgeRequest['query']): EdgeResponse {
  try {
    return success(collect(entries.map(publicFields), parseCollectionRequest(query, new Date()), entrySource))
  } catch (fault) {
    if (!(fault instanceof CollectionError)) throw fault
    return jsonResponse({ error: fault.code, message: fault.message })
  }
}

/** Times in whole milliseconds. Named one by one, since the store may add fields. */
function publicFields({ key, url, group, endpoint, scope, tags, size, age, timeLeft, hits, fetchTime }: IndexEntry) {
  const times = { age: Math.round(age), timeLeft: Math.round(timeLeft), hits, fetchTime: Math.round(fetchTime) }
  return { key, url, group, endpoint, scope, tags, size, ...times }
}

/** What a purge would remove: entries, bytes, and seconds that nodes need to produce the responses again. */
function refillCost(entries: readonly IndexEntry[], key: string | undefined) {
  const removed = key === undefined ? entries : entries.filter((entry) => entry.key === key)
  const sum = (field: 'size' | 'fetchTime') => removed.reduce((total, entry) => total + entry[field], 0)
  return { entries: removed.length, bytes: sum('size'), seconds: Math.round(sum('fetchTime')) / 1000 }
}

function success(data: unknown): EdgeResponse {
  return jsonResponse({ error: 0, data })
}

function jsonResponse(value: object): EdgeResponse {
  return { kind: 'json', status: 200, body: Buffer.from(JSON.stringify(value)) }
}
