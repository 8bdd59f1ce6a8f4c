import { catalogue } from '../catalogue/index.ts'
import type { CacheEvent, InvalidationCause } from '../core/events.ts'
import type { Caller, EdgeRequest, Handler } from '../core/request.ts'
import type { CacheIndex, EdgeResponse, IndexEntry } from '../core/response.ts'
import { collect } from '../query/collect.ts'
import { CollectionError, readRequest } from '../query/request.ts'
import type { ArraySource } from '../query/sources.ts'
import { type ExplainPorts, explain } from './explain.ts'
import { compilePolicy } from './policy.ts'

/**
 * The `/cache` endpoints over whatever keeps answers. Shapes are the seed's; the store's client is named
 * `redisClient` on the wire, as the real API does.
 */

/** What the operations need to know of kept answers. */
export interface CacheOperationsPorts {
  readonly index: CacheIndex
  /** Milliseconds. */
  readonly defaultDuration: number
  readonly enabled: boolean
  readonly sharedThroughRedis: boolean
  /** Hears of each purge. */
  readonly onEvent?: (event: CacheEvent) => void
  /** Absent while nothing is kept. */
  readonly explained?: ExplainPorts & {
    /** The Ask of a GET of that path and query, validated; throws EdgeErrors where the request would be refused. */
    askOf(url: string, caller: Caller): Promise<EdgeRequest>
  }
}

/** Keeps nothing: what stands here while no cache is configured. */
export const disabledCache: CacheOperationsPorts = {
  index: { peek: async () => ({ kind: 'unavailable' }), list: async () => [], purge: async () => {} },
  defaultDuration: 0,
  enabled: false,
  sharedThroughRedis: false,
}

type CacheOperation = 'cacheIndex' | 'cacheClear' | 'cacheClearGroup' | 'cacheConfig' | 'cacheExplain'

const plans = catalogue.map(compilePolicy)
const groups: ReadonlySet<string> = new Set(plans.flatMap((plan) => (typeof plan === 'string' ? [] : [plan.group])))
/** As `keyOf` makes them. */
const KEY = /^[A-Za-z0-9_-]{43}$/

const entries: ArraySource = {
  engine: 'array',
  order: '+url',
  sortable: ['url', 'group', 'endpoint', 'scope', 'key', 'size', 'age', 'timeLeft', 'hits', 'cost'],
  searched: ['url', 'endpoint'],
  filters: { tag: { by: 'equal', fields: ['tags'] } },
}

export function cacheOperations(kept: CacheOperationsPorts): Readonly<Record<CacheOperation, Handler>> {
  // Whatever is dropped leaves a mark in the store that stays: what nothing can be kept under leaves none.
  const drop: CacheIndex['purge'] = async (what) => {
    const { key, group } = what
    if ((key === undefined || KEY.test(key)) && (group === undefined || groups.has(group))) await kept.index.purge(what)
    kept.onEvent?.({ kind: 'invalidated', cause: causeOf(what), tags: 1 })
  }
  const index = { ...kept.index, purge: drop }
  return {
    cacheIndex: async ({ query }) => {
      const rows = await kept.index.list()
      return query.details === 'true' ? detailed(rows, query) : json(indexOf(rows))
    },
    cacheClear: ({ query }) => clear(index, query, query.key === undefined ? {} : { key: query.key }),
    cacheClearGroup: ({ query, params }) => clear(index, query, { group: params.group ?? '' }),
    cacheConfig: async () =>
      json({
        debug: false,
        defaultDuration: kept.defaultDuration,
        enabled: kept.enabled,
        appendKey: [],
        jsonp: false,
        redisClient: kept.sharedThroughRedis,
      }),
    cacheExplain: async ({ query, caller }) => {
      const { explained } = kept
      if (explained === undefined) return json({ kept: false, why: 'the cache is off' })
      // As the index shows it: behind `#` the node whose part of a joined answer it is.
      const [url = '/', node] = (query.url ?? '/').split('#')
      const ask = await explained.askOf(url, caller)
      return json(await explain(explained, node === undefined ? ask : { ...ask, node: decodeURIComponent(node) }))
    },
  }
}

function causeOf({ key, group, soft }: Parameters<CacheIndex['purge']>[0]): InvalidationCause {
  if (soft) return 'softPurge'
  if (key !== undefined) return 'purgeKey'
  return group === undefined ? 'purgeAll' : 'purgeGroup'
}

/** Each URL once: answers of several scopes share it. */
function indexOf(rows: readonly IndexEntry[]): { all: readonly string[]; groups: Record<string, readonly string[]> } {
  const urlsOf = (of: readonly IndexEntry[]) => [...new Set(of.map(({ url }) => url))].sort()
  const names = [...new Set(rows.map(({ group }) => group))].sort()
  const groups = names.map((name) => [name, urlsOf(rows.filter(({ group }) => group === name))])
  return { all: urlsOf(rows), groups: Object.fromEntries(groups) }
}

function detailed(rows: readonly IndexEntry[], { details: _, ...query }: EdgeRequest['query']): EdgeResponse {
  try {
    return json(collect(rows.map(readable), readRequest(query, new Date()), entries))
  } catch (fault) {
    if (!(fault instanceof CollectionError)) throw fault
    return envelope({ error: fault.code, message: fault.message })
  }
}

/** Whole milliseconds, and nothing that the store may hold besides. */
function readable({ key, url, group, endpoint, scope, tags, size, age, timeLeft, hits, fetchTime: cost }: IndexEntry) {
  const times = { age: Math.round(age), timeLeft: Math.round(timeLeft), hits, cost: Math.round(cost) }
  return { key, url, group, endpoint, scope, tags, size, ...times }
}

async function clear(
  index: CacheIndex,
  query: EdgeRequest['query'],
  what: { readonly group?: string; readonly key?: string },
): Promise<EdgeResponse> {
  if (query.preview === 'true') return json(costOf(await index.list(what.group), what.key))
  await index.purge({ ...what, soft: query.soft === 'true' })
  return json(indexOf(await index.list()))
}

/** What would go: entries, bytes, and seconds of a node's time to fetch them again. */
function costOf(rows: readonly IndexEntry[], key: string | undefined) {
  const going = key === undefined ? rows : rows.filter((row) => row.key === key)
  const sum = (of: (row: IndexEntry) => number) => going.reduce((total, row) => total + of(row), 0)
  return {
    entries: going.length,
    bytes: sum(({ size }) => size),
    seconds: Math.round(sum(({ fetchTime: cost }) => cost)) / 1000,
  }
}

function json(data: unknown): EdgeResponse {
  return envelope({ error: 0, data })
}

function envelope(value: object): EdgeResponse {
  return { kind: 'json', status: 200, body: Buffer.from(JSON.stringify(value)) }
}
