/** The `/cache` endpoints of both contracts. What they return is computed here; `operation-forms.ts` writes it. */

import { collectInTurns } from '../collections/collect.ts'
import { CollectionError, type CollectionPage, parseCollectionRequest, parsePage } from '../collections/request.ts'
import { cacheEntries } from '../collections/sources.ts'
import type { Element } from '../collections/value.ts'
import type { Contract, EdgeOperation } from '../contracts/endpoint.ts'
import { allows, READ_CACHE } from '../core/access.ts'
import type { SnapshotState } from '../core/cache.ts'
import type { IndexEntry, PurgeScope } from '../core/cache-entries.ts'
import type { CacheIndex } from '../core/cache-index.ts'
import { nameFor, nameOf, parseName } from '../core/endpoint-names.ts'
import { inTurns } from '../core/long-lists.ts'
import type { Caller, EdgeRequest, Handler } from '../core/request.ts'
import type { EdgeResponse } from '../core/response.ts'
import { effectiveLifetimes } from './effective-lifetimes.ts'
import { CACHE_OFF, explain } from './explain.ts'
import { type CacheForm, type FoundResponses, type ListedEntries, v3Form } from './operation-forms.ts'
import { listPurged, type PurgePorts, policyByName, purge, purgeCostOf, purgeScopeOf } from './purge.ts'
import { createMemoryStore } from './stores/memory-store.ts'
import { v4Form } from './v4-operation-form.ts'

export interface CacheOperationsPorts extends PurgePorts {
  /** Returns the scope of the stored responses that the caller may be served. Absent: there are no stored responses. */
  readonly scopeOf?: (caller: Caller) => string
  /** Milliseconds. */
  readonly defaultDuration: () => number
  readonly enabled: boolean
  readonly sharedThroughRedis: boolean
  /** Returns the snapshots whose rows this process has. Absent if the cache is off. */
  readonly snapshots?: () => readonly SnapshotState[]
}

export const disabledCache: CacheOperationsPorts = {
  // A store notes each purge, and this one would do so for good.
  index: { ...createMemoryStore({ bytes: () => 0 }), purge: async () => 'done' },
  defaultDuration: () => 0,
  lifetimesOf: () => ({ ttl: 0, staleWhileRevalidate: 0, staleIfError: 0 }),
  enabled: false,
  sharedThroughRedis: false,
}

type CacheOperation = Extract<EdgeOperation, `cache${string}`>

const forms: Readonly<Record<Contract, CacheForm>> = { v3: v3Form, v4: v4Form }

export function cacheOperations(ports: CacheOperationsPorts): Readonly<Record<CacheOperation, Handler>> {
  const { enabled, sharedThroughRedis, explained } = ports
  const clear: Handler = (request) => clearCache(ports, request)
  return {
    cacheIndex: async (request) => {
      const { details, ...query } = request.query
      if (details === 'true') return page(ports, request, query)
      return v3Form.listing(readableBy(ports, request.caller), request.returnMinimal)
    },
    cacheEntries: async (request) => page(ports, request, request.query),
    cacheGroups: async ({ caller }) => v4Form.groups(await readableBy(ports, caller).count()),
    cacheClear: clear,
    cacheClearGroup: clear,
    cacheConfig: async ({ endpoint: { contract } }) =>
      forms[contract].configuration({
        debug: false,
        defaultDuration: ports.defaultDuration(),
        enabled,
        appendKey: [],
        jsonp: false,
        redisClient: sharedThroughRedis,
        ...(enabled && effectiveLifetimes(policiesOf(contract), ports.lifetimesOf)),
      }),
    cacheExplain: async ({ query, caller, endpoint: { contract } }) => {
      const form = forms[contract]
      if (explained === undefined) return form.explanation(CACHE_OFF)
      const name = nameOf(parseName(query.url ?? '/', contract))
      return form.explanation(await explain(explained, name, caller))
    },
  }
}

async function page(
  ports: CacheOperationsPorts,
  { caller, endpoint: { contract } }: EdgeRequest,
  query: EdgeRequest['query'],
): Promise<EdgeResponse> {
  const form = forms[contract]
  try {
    return await form.page(await pageOf(readableBy(ports, caller), query, contract))
  } catch (fault) {
    if (!(fault instanceof CollectionError)) throw fault
    return form.refused(fault, query)
  }
}

async function clearCache(ports: CacheOperationsPorts, request: EdgeRequest): Promise<EdgeResponse> {
  const { query, caller, endpoint } = request
  const form = forms[endpoint.contract]
  const scope = purgeScopeOf(request)
  const isPreview = query.preview === 'true'
  const found = isPreview || form.namesPurged ? await findPurged(ports, scope, caller) : undefined
  const outcome = isPreview ? 'preview' : await purge(ports, scope, caller)
  const response = await form.purged({ request, outcome, found, left: readableBy(ports, caller) })
  if (outcome !== 'pending') return response
  return { ...response, status: 202, origin: { ...response.origin, isUnfinished: true } }
}

async function findPurged(ports: CacheOperationsPorts, scope: PurgeScope, caller: Caller): Promise<FoundResponses> {
  const readable = readableScope(ports, caller)
  const rows = await listPurged(ports, scope, caller)
  const keys = new Set(scope.keys)
  for (const { key } of rows) keys.delete(key)
  return {
    cost: await purgeCostOf(rows, ports.lifetimesOf),
    readable: rows.filter(({ scope }) => readable === undefined || scope === readable),
    unknownKeys: [...keys],
  }
}

function readableBy(ports: CacheOperationsPorts, caller: Caller): ListedEntries {
  const scope = readableScope(ports, caller)
  return scope === undefined ? ports.index : ownEntriesOf(ports.index, scope)
}

/** Returns the scope whose entries the caller may read; `undefined`: all. */
function readableScope({ scopeOf }: CacheOperationsPorts, caller: Caller): string | undefined {
  return allows(caller.permissions, READ_CACHE) ? undefined : (scopeOf?.(caller) ?? '')
}

function policiesOf(contract: Contract): typeof policyByName {
  return new Map([...policyByName].filter(([name]) => parseName(name).contract === contract))
}

/**
 * A page costs as much as its rows, unless all rows must be compared: for a sort, a search or a filter by tag. Throws
 * CollectionError.
 */
async function pageOf(listed: ListedEntries, query: EdgeRequest['query'], contract: Contract): Promise<CollectionPage> {
  const { toRow, maxLimit, searchOf } = forms[contract]
  const { group, offset, limit, ...others } = query
  if (Object.keys(others).length > 0) {
    const { endpoint, search } = others
    const entries = await listed.list(group?.toLowerCase())
    const parsed = {
      ...query,
      ...(search !== undefined && { search: searchOf(search) }),
      ...(endpoint !== undefined && { endpoint: nameFor(contract, nameOf(parseName(endpoint, contract))) }),
    }
    return collectInTurns(entries, toRow, parseCollectionRequest(parsed, new Date()), cacheEntries, maxLimit)
  }
  const window = parsePage(
    parseCollectionRequest({ ...(offset && { offset }), ...(limit && { limit }) }, new Date()),
    maxLimit,
  )
  const { rows, total } = await listed.page({ ...window, ...(group && { group: group.toLowerCase() }) })
  const items: Element[] = []
  for await (const part of inTurns(rows)) items.push(...part.map(toRow))
  return { items, totalItems: total }
}

/**
 * Returns the part of the index that shows stored responses of this permission scope only: rows, counts, pages and totals
 * contain nothing of other scopes. Each costs as much as the whole index.
 */
function ownEntriesOf(index: Pick<CacheIndex, 'list'>, own: string): ListedEntries {
  async function list(group?: string): Promise<readonly IndexEntry[]> {
    const entries: IndexEntry[] = []
    for await (const part of inTurns(await index.list(group)))
      entries.push(...part.filter(({ scope }) => scope === own))
    return entries
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
