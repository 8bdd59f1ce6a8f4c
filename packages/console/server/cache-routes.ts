/** Console API of the cache: groups, entries, one entry in detail, explain, and purge. */

import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { requirePermission } from '../../../src/admin/sign-in.ts'
import { type IndexEntry, shownEntry } from '../../../src/core/cache-entries.ts'
import type { EntryContents } from '../../../src/core/cache-index.ts'
import { EdgeError } from '../../../src/core/errors.ts'
import type { Caller } from '../../../src/core/request.ts'
import type { EdgeView, PurgeCaller } from '../../../src/status/edge-view.ts'
import type { PurgeRequest, PurgeResult } from '../../../src/status/view-types.ts'
import { createEntryList, type EntryQuery, entryQuery, refresh, selectionQuery } from './cache-entries.ts'
import type { EntryBody, EntryDetails, GroupSummary, Groups, Selection } from './cache-types.ts'
import type { Recorders } from './recorders.ts'

const PURGE_PERMISSION = 'cache:purge'
/** Keys of one purge. The page sends several requests for more, and shows progress between them. */
const MAX_KEYS_PER_PURGE = 100
/** Entries of a search that are purged by their keys. Each purged key leaves an epoch in Redis. */
const MAX_SELECTED_ENTRIES = 5000
/** A longer body is truncated. */
const MAX_SHOWN_BODY_BYTES = 256 * 1024

const text = Type.Optional(Type.String({ maxLength: 2048 }))
const key = Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$' })
const groupName = Type.String({ pattern: '^[a-z]{1,40}$' })
/** Has no type, so that the validator converts no other value to a boolean: `"preview": null` is an error, not a purge. */
const strictBoolean = Type.Unsafe<boolean>({ enum: [true, false] })
const purgeBody = Type.Object(
  {
    group: Type.Optional(groupName),
    endpoint: text,
    tag: text,
    keys: Type.Optional(Type.Array(key, { minItems: 1, maxItems: MAX_KEYS_PER_PURGE })),
    soft: strictBoolean,
    preview: strictBoolean,
  },
  { additionalProperties: false },
)
const explainQuery = Type.Object({ url: Type.String({ minLength: 1 }) })

export function registerCacheRoutes(app: FastifyInstance, { cache, access }: EdgeView, { traffic }: Recorders): void {
  const entries = createEntryList(cache.index)
  app.get<{ Querystring: { refresh?: boolean } }>(
    '/api/groups',
    { schema: { querystring: Type.Object({ refresh }, { additionalProperties: false }) } },
    async ({ query }): Promise<Groups> => {
      if (query.refresh === true) entries.refresh()
      const { rows, partial } = await entries.all()
      return {
        partial,
        groups: groupsOf(rows, traffic),
        endpoints: [...new Set(rows.map(({ endpoint }) => endpoint))].sort(),
        snapshots: cache.snapshots(),
      }
    },
  )
  app.get<{ Querystring: EntryQuery }>('/api/entries', { schema: { querystring: entryQuery } }, ({ query }) => {
    if (query.refresh === true) entries.refresh()
    return entries.page(query)
  })
  app.get<{ Querystring: EntryQuery }>(
    '/api/selection',
    { schema: { querystring: selectionQuery } },
    async (request): Promise<Selection> => {
      const { query, caller } = request
      requirePermission(caller, PURGE_PERMISSION)
      const { rows, total } = await entries.select(query, MAX_SELECTED_ENTRIES)
      const limits = { limit: MAX_SELECTED_ENTRIES, maxKeys: MAX_KEYS_PER_PURGE }
      if (total > rows.length) return { total, ...limits }
      const keys = rows.map((row) => row.key)
      const { entries: count, bytes, seconds, neverStale } = await cache.purge({ keys, ...PREVIEW }, purgerOf(request))
      return { total, ...limits, chosen: { keys, cost: { entries: count, bytes, seconds, neverStale } } }
    },
  )
  app.get<{ Params: { key: string } }>(
    '/api/entries/:key',
    { schema: { params: Type.Object({ key }) } },
    async ({ params, caller }): Promise<EntryDetails> => {
      const found = await entries.find(params.key)
      if (found === undefined) throw new EdgeError(603, '. The cache has no entry with this key')
      const { row, age } = found
      return detailsOf(row, age, await readFor(cache, row, caller), access.permissionOf(row.endpoint))
    },
  )
  app.get<{ Querystring: { url: string } }>(
    '/api/explain',
    { schema: { querystring: explainQuery } },
    ({ query, caller }) => cache.explain(query.url, caller),
  )
  app.post<{ Body: PurgeRequest }>(
    '/api/purge',
    { schema: { body: purgeBody } },
    async (request): Promise<PurgeResult> => {
      const { body } = request
      requirePermission(request.caller, PURGE_PERMISSION)
      const names = [body.group, body.endpoint, body.tag, body.keys].filter((name) => name !== undefined)
      // Otherwise a request that names two things would purge more than the operator meant.
      if (names.length > 1) throw new EdgeError(604, '. Give only one of group, endpoint, tag and keys')
      request.isAuditedByPipeline = true
      return cache.purge(body, purgerOf(request))
    },
  )
}

const PREVIEW = { preview: true, soft: false } as const

function purgerOf({ caller, clientAddress: client, id: requestId }: FastifyRequest): PurgeCaller {
  return { caller, client, requestId }
}

function groupsOf(rows: readonly IndexEntry[], traffic: Recorders['traffic']): GroupSummary[] {
  const groups = new Map<string, { entries: number; bytes: number; refillCost: number; oldest: number }>()
  for (const { group, size, fetchTime, age } of rows) {
    const sum = groups.get(group) ?? { entries: 0, bytes: 0, refillCost: 0, oldest: 0 }
    groups.set(group, sum)
    sum.entries += 1
    sum.bytes += size
    sum.refillCost += fetchTime
    sum.oldest = Math.max(sum.oldest, age)
  }
  return [...groups].sort().map(([group, sum]) => ({ group, ...sum, ...traffic.group(group) }))
}

/** Returns the EdgeError if the caller may not make the request whose response is stored. */
async function readFor(
  { read }: EdgeView['cache'],
  row: IndexEntry,
  caller: Caller,
): Promise<EntryContents | EdgeError> {
  try {
    return await read(row, caller)
  } catch (error) {
    if (error instanceof EdgeError) return error
    throw error
  }
}

function detailsOf(
  row: IndexEntry,
  age: number,
  contents: EntryContents | EdgeError,
  permission: string,
): EntryDetails {
  const summary = { ...shownEntry(row, age), permission }
  if (contents instanceof EdgeError || contents.kind !== 'stored') {
    return {
      ...summary,
      encodings: {},
      fenced: false,
      local: false,
      body: { shown: false, reason: reasonOf(contents) },
    }
  }
  const { bytes, freshFor, etag, encodings, fenced, local } = contents
  return { ...summary, etag, encodings, fenced, local, freshFor: Math.round(freshFor), body: bodyOf(bytes) }
}

function reasonOf(contents: EdgeError | { readonly kind: 'otherPermissions' | 'missing' }): string {
  if (contents instanceof EdgeError) return contents.message
  if (contents.kind === 'otherPermissions') return 'The entry belongs to callers with other permissions.'
  return 'The entry no longer exists, or a write to its data is in progress.'
}

function bodyOf(bytes: Buffer): EntryBody {
  const text = bytes.toString('utf8', 0, MAX_SHOWN_BODY_BYTES)
  return { shown: true, text, truncated: bytes.length > MAX_SHOWN_BODY_BYTES }
}
