import { type SourceName, sources } from '../../../src/query/sources.ts'
import type { Element } from '../../../src/query/value.ts'
import { json, recorded } from '../../contract/replay/exchanges.ts'

/** A recorded answer of a collection, or of one that refused the request. */
export interface RecordedAnswer {
  readonly source: SourceName
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  readonly answer:
    | { readonly items: readonly Element[]; readonly totalItems: number }
    | { readonly code: number; readonly message: string }
}

const answeredBy: readonly (readonly [RegExp, SourceName])[] = [
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
 * The recorded answers of collections, in the order of the recording, of its first sitting only: before the
 * others, groups and agents were changed. Refusals by parameters (6xx) are not the collection's.
 */
export function recordedAnswers(): RecordedAnswer[] {
  const exchanges = recorded()
  const sitting = exchanges.slice(
    0,
    exchanges.findIndex(({ tag }) => tag === 'auth'),
  )
  return sitting.flatMap(({ request, response }) => {
    if (request.path === '/summary/agents') return [groupsOfSummary(response.body)]
    const url = new URL(`http://node${request.path}`)
    const path = url.pathname.toLowerCase().replace(/(.)\/$/, '$1')
    const source = answeredBy.find(([pattern]) => pattern.test(path))?.[1]
    const answer = answerOf(response.body)
    if (!source || !answer || request.method !== 'GET') return []
    return [{ source, path, query: queryOf(url.searchParams), answer }]
  })
}

/** The summary holds the whole collection of groups, which is recorded nowhere else. */
function groupsOfSummary(body: string | null): RecordedAnswer {
  const { groups } = (json(body)?.data ?? {}) as { groups: { items: Element[]; totalItems: number } }
  return { source: 'groups', path: '/agents/groups', query: {}, answer: groups }
}

function answerOf(body: string | null): RecordedAnswer['answer'] | undefined {
  const { error, message = '', data } = json(body) ?? {}
  if (error === 0) return data as RecordedAnswer['answer']
  return typeof error === 'number' && error >= 1000 ? { code: error, message } : undefined
}

function queryOf(parameters: URLSearchParams): Record<string, string> {
  const query: Record<string, string> = {}
  for (const [name, value] of parameters) query[name] = name in query ? `${query[name]},${value}` : value
  delete query.pretty
  delete query.wait_for_complete
  return query
}

/** The rows of a collection, as far as they were recorded: all of them, or its first ones. */
export interface Known {
  readonly rows: readonly Element[]
  readonly whole: boolean
}

/**
 * Puts the rows of a path together. All of them are known where one answer shows them all, or where those
 * of all answers are as many as there are; else those from the first on without a gap.
 */
export function knownRows(answers: readonly RecordedAnswer[]): Known {
  const pages = answers.flatMap(({ source, query, answer }) => {
    if ('code' in answer || 'select' in query || 'summary' in query || 'hash' in query) return []
    const { offset = '0', limit: _, ...narrowed } = query
    const rows = 'nested' in sources[source] ? answer.items.map(flatten) : answer.items
    return [{ rows, offset: Number(offset), plain: Object.keys(narrowed).length === 0, total: answer.totalItems }]
  })
  const plain = pages.filter((page) => page.plain)
  const total = Math.max(0, ...plain.map((page) => page.total))
  const full = plain.find((page) => page.rows.length === total)
  if (full) return { rows: full.rows, whole: true }
  const first: Element[] = []
  for (const { rows, offset } of plain) for (const [at, row] of rows.entries()) first[offset + at] ??= row
  const seen = [...Object.values(first), ...pages.flatMap(({ rows }) => rows)]
  const different = new Map(seen.map((row) => [identity(row), row]))
  if (different.size === total) {
    const elsewhere = [...different.values()].slice(Object.values(first).length)
    return { rows: Array.from({ length: total }, (_, at) => first[at] ?? elsewhere.shift() ?? ''), whole: true }
  }
  let length = 0
  while (first[length] !== undefined) length++
  return { rows: first.slice(0, length), whole: false }
}

function identity(row: unknown): string {
  return JSON.stringify(row, (_, value: unknown) => {
    const object = typeof value === 'object' && value !== null && !Array.isArray(value)
    return object ? Object.fromEntries(Object.entries(value).sort()) : value
  })
}

/** `scan: {id}` back into the column `scan_id`. */
export function flatten(row: Element): Element {
  if (typeof row === 'string') return row
  return Object.fromEntries(
    Object.entries(row).flatMap(([name, value]) => {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return [[name, value]]
      return Object.entries(value).map(([part, inner]) => [`${name}_${part}`, inner])
    }),
  )
}
