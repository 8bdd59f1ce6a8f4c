/**
 * The differences that remain between the response of a node and the one from a snapshot. docs/contract-decisions.md has
 * the same list; test/contract/remaining-differences.test.ts compares both.
 */
import { isDeepStrictEqual } from 'node:util'
import type { RandomQuery } from './queries.ts'

export interface Answered {
  readonly status: number
  readonly cacheStatus: string
  readonly text: string
  readonly body: { readonly error: number; readonly message?: string; readonly data?: unknown }
}

export interface Asked {
  readonly path: string
  readonly query: RandomQuery
  /** Rows of the collection that have letters outside ASCII. */
  readonly rowsOutsideAscii: number
}

export interface Remaining {
  /** As in the first column of the table in docs/contract-decisions.md. */
  readonly name: string
  covers(asked: Asked, node: Answered, edge: Answered): boolean
}

export const REMAINING: readonly Remaining[] = [
  {
    name: 'order of the members of a row',
    covers: (_, node, edge) => isDeepStrictEqual(node.body, edge.body),
  },
  {
    name: 'rows of all agents with `select`',
    covers: ({ path, query }, node, edge) => isOfAllAgents(path) && query.select !== undefined && arePages(node, edge),
  },
  {
    name: 'rows of the workers themselves among more than 1,000 rows of all agents',
    covers: ({ path }, node, edge) => isOfAllAgents(path) && arePages(node, edge) && onlyEdgeHasGaps(node, edge),
  },
  {
    name: 'order of rows of all agents that a sort leaves open',
    // Without a sort they are sorted by scan, then by agent.
    covers: ({ path, query }, node, edge) => {
      return isOfAllAgents(path) && areEquallySorted({ sort: 'scan_id,agent_id', ...query }, node, edge)
    },
  },
  {
    name: 'letter case outside ASCII',
    // Only rows with such a letter can be found by one of both, and each moves the rows of a page by one.
    covers: ({ query, rowsOutsideAscii: most }, node, edge) => {
      if (!comparedTextsOf(query).some(mayMatchLetterOutsideAscii) || !arePages(node, edge)) return false
      const nearTotals = Math.abs((totalOf(node) ?? 0) - (totalOf(edge) ?? 0)) <= most
      return nearTotals && rowsOnlyIn(node, edge) <= most && rowsOnlyIn(edge, node) <= most
    },
  },
]

/** The sign for Kelvin is a capital `k`, and comes behind all letters of ASCII without this rule. */
function mayMatchLetterOutsideAscii(text: string): boolean {
  return /[^ -~]|k|^[<>]/i.test(text)
}

/** The texts that `search` and the conditions of `q` compare with those of rows. */
function comparedTextsOf({ search, q }: RandomQuery): readonly string[] {
  const conditions = q?.split(/[;,()]/).map((condition) => condition.replace(/^[^=<>~!]*/, '')) ?? []
  return [...(search === undefined ? [] : [search]), ...conditions]
}

interface Page {
  readonly items: readonly unknown[]
  readonly totalItems: number
}

/** Whether the response from the snapshot names rows of workers that it cannot have (935), and the other does not. */
function onlyEdgeHasGaps(node: Answered, edge: Answered): boolean {
  const gapsOf = ({ body }: Answered) =>
    (body.data as { failed_nodes?: { error: { code: number } }[] }).failed_nodes ?? []
  const gaps = gapsOf(edge)
  return gapsOf(node).length === 0 && gaps.length > 0 && gaps.every(({ error }) => error.code === 935)
}

function isOfAllAgents(path: string): boolean {
  return path.startsWith('/experimental/')
}

function arePages(node: Answered, edge: Answered): boolean {
  return node.body.error === 0 && edge.body.error === 0
}

function totalOf({ body }: Answered): number | undefined {
  return (body.data as Page | undefined)?.totalItems
}

function rowsOnlyIn(one: Answered, other: Answered): number {
  const textsOf = ({ body }: Answered) => (body.data as Page).items.map((row) => JSON.stringify(row))
  const left = new Map<string, number>()
  for (const text of textsOf(other)) left.set(text, (left.get(text) ?? 0) + 1)
  let count = 0
  for (const text of textsOf(one)) {
    const found = left.get(text) ?? 0
    if (found === 0) count += 1
    else left.set(text, found - 1)
  }
  return count
}

/** The same total, as many rows, and in each place a row with the same values of the fields of the sort. */
function areEquallySorted({ sort }: RandomQuery, node: Answered, edge: Answered): boolean {
  if (sort === undefined || !arePages(node, edge)) return false
  const fields = sort.replace(/^[-+ ]/, '').split(',')
  const valuesOf = ({ body }: Answered) =>
    (body.data as Page).items.map((row) => fields.map((field) => cellOf(row, field)))
  const [one, other] = [node.body.data as Page, edge.body.data as Page]
  return one.totalItems === other.totalItems && isDeepStrictEqual(valuesOf(node), valuesOf(edge))
}

function cellOf(row: unknown, field: string): unknown {
  if (typeof row !== 'object' || row === null) return undefined
  const cells = row as Readonly<Record<string, unknown>>
  if (field in cells) return cells[field]
  const [, prefix = '', rest = ''] = /^([^._]+)[._](.+)$/.exec(field) ?? []
  return cellOf(cells[prefix], rest)
}
