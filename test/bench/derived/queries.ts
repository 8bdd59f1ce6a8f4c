/** Queries that differ each time, and what their pages must be by the rows themselves. */
import { type AgentRow, agentRow } from './rows.ts'

export interface DerivedQuery {
  readonly query: Readonly<Record<string, string>>
  readonly totalItems: number
  /** The id of the first row of the page; absent: rows with equal values have no order. */
  readonly firstId?: string
}

export const ROWS_PER_PAGE = 20

type Kind = (turn: number) => DerivedQuery

/** The kinds of queries of a collection of this size. Each call of one kind returns another query. */
export function kindsOf(total: number): Readonly<Record<string, Kind>> {
  const rows = Array.from({ length: total }, (_, at) => agentRow(at))
  const count = (isMatch: (row: AgentRow) => boolean) => rows.filter(isMatch).length
  const ubuntu = count(({ os }) => os.platform === 'ubuntu')
  const active = count(({ status }) => status === 'Active')
  // Offsets and limits differ, so that no query is sent twice.
  const offsetOf = (turn: number, among: number) => (turn * 997) % (among - ROWS_PER_PAGE)
  const page = (turn: number, among: number) => ({ offset: `${offsetOf(turn, among)}`, limit: `${ROWS_PER_PAGE}` })
  const id = (at: number) => rows[at]?.id ?? ''
  return {
    'a page': (turn) => ({ query: page(turn, total), totalItems: total, firstId: id(offsetOf(turn, total)) }),
    'a page of a sort': (turn) => {
      const firstId = id(total - 1 - offsetOf(turn, total))
      return { query: { ...page(turn, total), sort: '-id' }, totalItems: total, firstId }
    },
    'a page of a sort by text': (turn) => {
      return { query: { ...page(turn, total), sort: turn % 2 === 0 ? 'name' : '-os.platform,name' }, totalItems: total }
    },
    'a page of a filter': (turn) => {
      return { query: { ...page(turn, ubuntu), 'os.platform': 'ubuntu' }, totalItems: ubuntu }
    },
    'a page of a filter and a sort': (turn) => {
      return { query: { ...page(turn, active), status: 'active', sort: '-dateAdd' }, totalItems: active }
    },
    'another number in a condition': (turn) => {
      const above = (turn * 37) % total
      return { query: { q: `id>${above}`, limit: `${ROWS_PER_PAGE}` }, totalItems: total - above, firstId: id(above) }
    },
    'another text in a condition': (turn) => {
      const part = String(100 + turn)
      return { query: { q: `name~${part}`, limit: '20' }, totalItems: count(({ name }) => name.includes(part)) }
    },
  }
}
