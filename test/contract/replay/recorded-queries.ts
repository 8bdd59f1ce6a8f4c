/** The requests for collections in the recordings of a v3 cluster, and the rows that were recorded for each. */
import { engineCollectionOf } from '../../support/engine/collections.ts'
import type { EngineItem } from '../../support/engine/outcome.ts'
import { json, recorded } from './exchanges.ts'
import { recorded as recordedNodes } from './three-nodes.ts'

export interface RecordedQuery {
  /** Recording and URL. */
  readonly name: string
  /** Requests of the same source read the same rows. */
  readonly source: string
  readonly path: string
  readonly parameters: Readonly<Record<string, string>>
  readonly expected:
    | { readonly kind: 'page'; readonly items: readonly EngineItem[]; readonly totalItems: number }
    | { readonly kind: 'error'; readonly code: number }
}

/** The time of the recording. */
export const RECORDED_AT = new Date('2026-11-20T12:45:00Z')

/** The node, the agent or the group of the path does not exist. */
const ERRORS_OF_TARGETS: readonly number[] = [1701, 1710, 3022]

/**
 * Returns the recorded reads of collections, up to the first exchange that changed agents. Parameters that the API itself
 * refuses, in front of the engine, and missing targets of paths are left out.
 */
export function recordedQueries(): RecordedQuery[] {
  const exchanges = recorded()
  const unchanged = exchanges.slice(
    0,
    exchanges.findIndex(({ tag }) => tag === 'auth'),
  )
  return [
    ...unchanged.flatMap(({ request, response }) => queryOf('one cluster', request, response.body)),
    ...recordedNodes.flatMap(({ distribution, node, request, response }) => {
      return queryOf(`${node}, distribution ${distribution}`, request, response.body)
    }),
  ]
}

function queryOf(
  recording: string,
  request: { readonly method: string; readonly path: string },
  body: string | null,
): RecordedQuery[] {
  const url = new URL(`http://node${request.path}`)
  const path = decodeURIComponent(url.pathname.toLowerCase().replace(/(.)\/$/, '$1'))
  const { error, data } = json(body) ?? {}
  if (request.method !== 'GET' || engineCollectionOf(path) === undefined || typeof error !== 'number') return []
  if (error > 0 && (error < 1000 || ERRORS_OF_TARGETS.includes(error))) return []
  const parameters: Record<string, string> = {}
  for (const [name, value] of url.searchParams) {
    if (name === 'pretty' || name === 'wait_for_complete') continue
    parameters[name] = name in parameters ? `${parameters[name]},${value}` : value
  }
  const page = data as { readonly items: readonly EngineItem[]; readonly totalItems: number }
  // One object in place of a page: hardware and os of an agent.
  if (error === 0 && !Array.isArray(page?.items)) return []
  return [
    {
      name: `${recording}: ${path}?${new URLSearchParams(parameters)}`,
      source: `${recording}: ${path}`,
      path,
      parameters,
      expected:
        error === 0 ? { kind: 'page', items: page.items, totalItems: page.totalItems } : { kind: 'error', code: error },
    },
  ]
}

export interface KnownRows {
  readonly rows: readonly EngineItem[]
  /** Otherwise the rows are the first ones. */
  readonly isComplete: boolean
}

/** Parameters with which a response has rows of another form. */
const OTHER_FORMS = ['select', 'summary', 'hash']

/** Combines the recorded pages of the source of a query. */
export function knownRowsOf({ source, path }: RecordedQuery, all: readonly RecordedQuery[]): KnownRows {
  const pages = all.flatMap((query) => {
    const { expected, parameters } = query
    if (query.source !== source || expected.kind === 'error') return []
    if (OTHER_FORMS.some((name) => name in parameters)) return []
    const isPlain = Object.keys(parameters).every((name) => name === 'offset' || name === 'limit')
    const hasAll = Object.keys(parameters).length === 0 && expected.totalItems === expected.items.length
    return [{ ...expected, offset: Number(parameters.offset ?? 0), isPlain, hasAll }]
  })
  const plain = pages.filter(({ isPlain }) => isPlain)
  const total = Math.max(0, ...plain.map(({ totalItems }) => totalItems))
  // The total of lists counts their page.
  const whole = plain.find(({ items, hasAll }) => hasAll || (items.length === total && !path.startsWith('/lists')))
  if (whole) return { rows: whole.items, isComplete: true }
  const first: EngineItem[] = []
  for (const { items, offset } of plain) for (const [at, item] of items.entries()) first[offset + at] ??= item
  const leading = first.indexOf(undefined as never)
  const rows = leading < 0 ? first : first.slice(0, leading)
  const different = new Map(
    [...Object.values(first), ...pages.flatMap(({ items }) => items)].map((row) => [textOf(row), row]),
  )
  if (different.size === total && plain.length > 0)
    return { rows: inGaps(first, [...different.values()], total), isComplete: true }
  return { rows, isComplete: false }
}

/** The rows whose place is known keep it; the others fill the gaps. */
function inGaps(first: readonly EngineItem[], all: readonly EngineItem[], total: number): EngineItem[] {
  const placed = new Set(Object.values(first).map(textOf))
  const others = all.filter((row) => !placed.has(textOf(row)))
  return Array.from({ length: total }, (_, at) => first[at] ?? others.shift() ?? '')
}

function textOf(row: unknown): string {
  return JSON.stringify(row, (_, value: unknown) => {
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? Object.fromEntries(Object.entries(value).sort()) : value
  })
}
