/** The console's API over kept answers: groups, entries, one in depth, why a URL hits, and purges. */
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { EdgeError } from '../../core/errors.ts'
import type { Caller } from '../../core/request.ts'
import type { IndexEntry } from '../../core/response.ts'
import { demand } from '../sign-in.ts'
import type { BodyAccess, EntryDepth, GroupLine, Groups, PurgeCost, PurgeOrder } from './api-types.ts'
import { createEntries, type EntriesQuery, lineOf, sortable } from './cache-entries.ts'
import type { ConsolePorts, ReadEntry } from './ports.ts'

const PURGE = 'cache:purge'
/** Of a body that is shown. */
const MOST_TEXT = 256 * 1024

const text = Type.Optional(Type.String({ maxLength: 2048 }))
const key = Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$' })
const name = Type.String({ pattern: '^[a-z]{1,40}$' })
const entriesQuery = Type.Object(
  {
    search: text,
    group: text,
    tag: text,
    scope: text,
    endpoint: text,
    sort: Type.Optional(Type.String({ pattern: `^-?(?:${sortable.join('|')})$` })),
    offset: Type.Optional(Type.Integer({ minimum: 0 })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500 })),
  },
  { additionalProperties: false },
)
/** Without a type, so that nothing is made one: `"preview": null` is a mistake, and no purge. */
const yesOrNo = Type.Unsafe<boolean>({ enum: [true, false] })
const purgeBody = Type.Object(
  { group: Type.Optional(name), key: Type.Optional(key), soft: yesOrNo, preview: yesOrNo },
  { additionalProperties: false },
)
const explainQuery = Type.Object({ url: Type.String({ minLength: 1, maxLength: 8192 }) })

export function cacheApi(app: FastifyInstance, ports: ConsolePorts): void {
  const entries = createEntries(ports.index)
  app.get('/api/groups', async (): Promise<Groups> => {
    const { rows, age, unfinished } = await entries.all()
    return {
      age,
      unfinished,
      groups: groupsOf(rows, ports),
      endpoints: [...new Set(rows.map(({ endpoint }) => endpoint))].sort(),
    }
  })
  app.get<{ Querystring: EntriesQuery }>('/api/entries', { schema: { querystring: entriesQuery } }, ({ query }) =>
    entries.page(query),
  )
  app.get<{ Params: { key: string } }>(
    '/api/entries/:key',
    { schema: { params: Type.Object({ key }) } },
    async ({ params, caller }): Promise<EntryDepth> => {
      const found = await entries.find(params.key)
      if (found === undefined) throw new EdgeError(603, '. No answer is kept under that key any more')
      const { row, age } = found
      return depthOf(row, age, await readFor(ports, row, caller), ports.permissionOf(row.endpoint))
    },
  )
  app.get<{ Querystring: { url: string } }>(
    '/api/explain',
    { schema: { querystring: explainQuery } },
    ({ query, caller }) => ports.explain(query.url, caller),
  )
  app.post<{ Body: PurgeOrder }>('/api/purge', { schema: { body: purgeBody } }, async (request): Promise<PurgeCost> => {
    const { body, caller, clientAddress: client, id: requestId } = request
    demand(caller, PURGE)
    request.asked = true
    const cost = await ports.purge(body, { caller, client, requestId })
    if (!body.preview) entries.forget()
    return cost
  })
}

function groupsOf(rows: readonly IndexEntry[], { traffic, divergence }: ConsolePorts): GroupLine[] {
  const groups = new Map<string, { entries: number; bytes: number; cost: number; oldest: number }>()
  for (const { group, size, fetchTime: cost, age } of rows) {
    const sum = groups.get(group) ?? { entries: 0, bytes: 0, cost: 0, oldest: 0 }
    groups.set(group, sum)
    sum.entries += 1
    sum.bytes += size
    sum.cost += cost
    sum.oldest = Math.max(sum.oldest, age)
  }
  const diverged = new Map((divergence?.() ?? []).map(({ group, ...counted }) => [group, counted]))
  return [...groups].sort().map(([group, sum]) => {
    const compared = diverged.get(group)
    return { group, ...sum, ...traffic.group(group), ...(compared && { divergence: compared }) }
  })
}

/** A caller who could not make the request itself does not read its answer here either. */
async function readFor(ports: ConsolePorts, row: IndexEntry, caller: Caller): Promise<ReadEntry | EdgeError> {
  try {
    return await ports.read(row, caller)
  } catch (fault) {
    if (fault instanceof EdgeError) return fault
    throw fault
  }
}

function depthOf(row: IndexEntry, age: number, found: ReadEntry | EdgeError, permission: string): EntryDepth {
  const line = { ...lineOf(row, age), permission }
  if (found instanceof EdgeError || found.kind !== 'kept') {
    return { ...line, encodings: {}, fenced: false, near: false, body: { shown: false, why: whyNot(found) } }
  }
  const { bytes, freshFor, ...rest } = found
  return { ...line, ...rest, freshFor: Math.round(freshFor), body: shown(bytes) }
}

function whyNot(found: EdgeError | { readonly kind: 'others' | 'gone' }): string {
  if (found instanceof EdgeError) return found.message
  if (found.kind === 'others') return 'It was made for callers with other rights than yours.'
  return 'It is not there any more, or a write is under way.'
}

function shown(bytes: Buffer): BodyAccess {
  return { shown: true, text: bytes.toString('utf8', 0, MOST_TEXT), cut: bytes.length > MOST_TEXT }
}
