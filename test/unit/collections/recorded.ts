import { sources } from '../../../src/collections/sources.ts'
import type { Element } from '../../../src/collections/value.ts'
import type { Collection } from '../../../src/contracts/endpoint.ts'
import { json, recorded } from '../../contract/replay/exchanges.ts'

/** A recorded request for a collection with the page or the error that the manager returned. */
export interface RecordedCollection {
  readonly source: Collection
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly expected:
    | { readonly items: readonly Element[]; readonly totalItems: number }
    | { readonly code: number; readonly message: string }
}

const sourceByPath: readonly (readonly [RegExp, Collection])[] = [
  [/^\/agents(?:\/no_group|\/groups\/default)?$/, 'agents'],
  [/^\/agents\/groups$/, 'groups'],
  [/^\/agents\/groups\/default\/files$/, 'groupFiles'],
  [/^\/agents\/summary\/os$/, 'catalogue'],
  [/^\/cluster\/nodes$/, 'nodes'],
  [/^\/(?:manager|cluster\/worker-[12])\/logs$/, 'logs'],
  [/^\/rules$/, 'rules'],
  [/^\/rules\/files$/, 'ruleFiles'],
  [/^\/rules\/(?:groups|pci|gdpr|gpg13|hipaa|nist-800-53)$/, 'catalogue'],
  [/^\/decoders(?:\/parents)?$/, 'decoders'],
  [/^\/decoders\/files$/, 'decoderFiles'],
  [/^\/lists$/, 'lists'],
  [/^\/lists\/files$/, 'listFiles'],
  [/^\/syscheck\/0[0-9]{2}$/, 'syscheck'],
  [/^\/rootcheck\/0[0-9]{2}$/, 'rootcheck'],
  [/^\/sca\/0[0-9]{2}$/, 'sca'],
  [/^\/sca\/001\/checks\/[a-z_]+$/, 'scaChecks'],
  [/^\/ciscat\/0[0-9]{2}\/results$/, 'ciscat'],
  [/^\/(?:syscollector\/0[0-9]{2}|experimental\/syscollector)\/packages$/, 'packages'],
  [/^\/(?:syscollector\/0[0-9]{2}|experimental\/syscollector)\/processes$/, 'processes'],
  [/^\/(?:syscollector\/0[0-9]{2}|experimental\/syscollector)\/ports$/, 'ports'],
  [/^\/(?:syscollector\/0[0-9]{2}|experimental\/syscollector)\/netaddr$/, 'netaddr'],
  [/^\/(?:syscollector\/0[0-9]{2}|experimental\/syscollector)\/netproto$/, 'netproto'],
  [/^\/(?:syscollector\/0[0-9]{2}|experimental\/syscollector)\/netiface$/, 'netiface'],
  [/^\/syscollector\/0[0-9]{2}\/hotfixes$/, 'hotfixes'],
  [/^\/experimental\/syscollector\/os$/, 'os'],
  [/^\/experimental\/syscollector\/hardware$/, 'hardware'],
]

/**
 * Returns the recorded collections in the order of the recording, up to the first exchange that changed groups or agents.
 * Errors 6xx are of the validation of parameters, not of the collection.
 */
export function recordedCollections(): RecordedCollection[] {
  const exchanges = recorded()
  const unchanged = exchanges.slice(
    0,
    exchanges.findIndex(({ tag }) => tag === 'auth'),
  )
  return unchanged.flatMap(({ request, response }) => {
    if (request.path === '/summary/agents') return [groupsOfSummary(response.body)]
    const url = new URL(`http://node${request.path}`)
    const path = url.pathname.toLowerCase().replace(/(.)\/$/, '$1')
    const source = sourceByPath.find(([pattern]) => pattern.test(path))?.[1]
    const expected = parseExpected(response.body)
    if (!source || !expected || request.method !== 'GET') return []
    return [{ source, path, query: queryOf(url.searchParams), expected }]
  })
}

/** The summary contains the whole collection of groups, which was not recorded on its own. */
function groupsOfSummary(body: string | null): RecordedCollection {
  const { groups } = (json(body)?.data ?? {}) as { groups: { items: Element[]; totalItems: number } }
  return { source: 'groups', path: '/agents/groups', query: {}, expected: groups }
}

function parseExpected(body: string | null): RecordedCollection['expected'] | undefined {
  const { error, message = '', data } = json(body) ?? {}
  if (error === 0) return data as RecordedCollection['expected']
  return typeof error === 'number' && error >= 1000 ? { code: error, message } : undefined
}

function queryOf(parameters: URLSearchParams): Record<string, string> {
  const query: Record<string, string> = {}
  for (const [name, value] of parameters) query[name] = name in query ? `${query[name]},${value}` : value
  delete query.pretty
  delete query.wait_for_complete
  return query
}

/** The recorded rows of a collection: all of them, or its first ones. */
export interface KnownRows {
  readonly rows: readonly Element[]
  readonly isComplete: boolean
}

/**
 * Combines the recorded pages of a path. The rows are complete if one page has all of them, or if the different rows of
 * all pages are as many as the total; otherwise the rows from the first on without a gap are returned.
 */
export function knownRows(exchanges: readonly RecordedCollection[]): KnownRows {
  const pages = exchanges.flatMap(({ source, query, expected }) => {
    if ('code' in expected || 'select' in query || 'summary' in query || 'hash' in query) return []
    const { offset = '0', limit: _, ...narrowed } = query
    const rows = 'nested' in sources[source] ? expected.items.map(flatten) : expected.items
    return [{ rows, offset: Number(offset), plain: Object.keys(narrowed).length === 0, total: expected.totalItems }]
  })
  const plain = pages.filter((page) => page.plain)
  const total = Math.max(0, ...plain.map((page) => page.total))
  const full = plain.find((page) => page.rows.length === total)
  if (full) return { rows: full.rows, isComplete: true }
  const first: Element[] = []
  for (const { rows, offset } of plain) for (const [at, row] of rows.entries()) first[offset + at] ??= row
  const seen = [...Object.values(first), ...pages.flatMap(({ rows }) => rows)]
  const different = new Map(seen.map((row) => [identity(row), row]))
  if (different.size === total) {
    const others = [...different.values()].slice(Object.values(first).length)
    return { rows: Array.from({ length: total }, (_, at) => first[at] ?? others.shift() ?? ''), isComplete: true }
  }
  let length = 0
  while (first[length] !== undefined) length++
  return { rows: first.slice(0, length), isComplete: false }
}

function identity(row: unknown): string {
  return JSON.stringify(row, (_, value: unknown) => {
    const object = typeof value === 'object' && value !== null && !Array.isArray(value)
    return object ? Object.fromEntries(Object.entries(value).sort()) : value
  })
}

/** Returns the flat form of a nested row: `scan: {id}` becomes `scan_id`. */
export function flatten(row: Element): Element {
  if (typeof row === 'string') return row
  return Object.fromEntries(
    Object.entries(row).flatMap(([name, value]) => {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return [[name, value]]
      return Object.entries(value).map(([part, inner]) => [`${name}_${part}`, inner])
    }),
  )
}

/** The time of the recording. */
export const RECORDED_AT = new Date('2026-11-20T12:45:00Z')

/** Exchanges that cannot be compared, and why. */
export const notCompared: readonly {
  readonly why: string
  readonly fits: (recorded: RecordedCollection) => boolean
}[] = [
  {
    why: 'the manager joins these page by page and loses rows',
    fits: ({ path, expected }) => path.startsWith('/experimental/') && 'items' in expected,
  },
  { why: 'the manager recomputes the hashes', fits: ({ query }) => 'hash' in query },
  { why: 'a summary is grouped', fits: ({ query }) => 'summary' in query },
  {
    why: 'recorded when the log was shorter',
    fits: ({ path, query }) => path === '/cluster/worker-1/logs' && query.limit === '1',
  },
]

/** Agents send a keep-alive every ten seconds, so the field differs from response to response. */
export function withoutKeepAlive(element: Element): Element {
  if (typeof element === 'string') return element
  const { lastKeepAlive: _, ...rest } = element
  return rest
}
