/** A collection request in parts. Oracles read the parts, `src` gets the texts that are printed from them. */
export type Operator = '=' | '!=' | '<' | '>' | '~'

export interface Condition {
  readonly field: string
  readonly operator: Operator
  readonly value: string
}

/** `redundant`: printed with parentheses that have no meaning. */
export type Tree =
  | (Condition & { readonly redundant?: boolean })
  | { readonly join: ';' | ','; readonly of: readonly Tree[]; readonly redundant?: boolean }

export interface Query {
  readonly offset?: number
  readonly limit?: number
  /** No fields: the sign alone. `sign` as it is written; a space is a decoded plus. */
  readonly sort?: { readonly sign: '' | '+' | '-' | ' '; readonly fields: readonly string[] }
  readonly search?: { readonly negated: boolean; readonly quoted: boolean; readonly text: string }
  readonly select?: readonly string[]
  readonly q?: Tree
  readonly filters: readonly (readonly [name: string, value: string])[]
}

export interface Page {
  readonly items: readonly unknown[]
  readonly totalItems: number
}

/** A page, or the codes of all faults of the query. */
export type Expected = { readonly page: Page } | { readonly codes: readonly number[] }

/** The time from which time frames count. */
export const NOW = new Date('2026-11-20T12:00:00Z')

/** Time frames and their seconds. Of all other texts, only digits are time frames. */
const TIME_FRAMES: Readonly<Record<string, number>> = {
  '0s': 0,
  '45s': 45,
  '20m': 1200,
  '3h': 10_800,
  '1d': 86_400,
  '1d2h': 93_600,
  '7d': 604_800,
}

/** Returns the seconds of a time frame; `undefined`: the text is invalid. */
export function secondsOf(text: string): number | undefined {
  return /^\d+$/.test(text) ? Number(text) : TIME_FRAMES[text]
}

export function printParameters(query: Query): Record<string, string> {
  const { offset, limit, sort, search, select, q, filters } = query
  return {
    ...(offset !== undefined && { offset: String(offset) }),
    ...(limit !== undefined && { limit: String(limit) }),
    ...(sort && { sort: sort.sign + sort.fields.join(',') }),
    ...(search && { search: `${search.negated ? '!' : ''}${search.quoted ? `"${search.text}"` : search.text}` }),
    ...(select && { select: select.join(',') }),
    ...(q && { q: printTree(q) }),
    ...Object.fromEntries(filters),
  }
}

/** `;` binds tighter than `,`, so only alternatives inside of `;` need parentheses. */
function printTree(tree: Tree, inside?: ';'): string {
  const text =
    'join' in tree
      ? tree.of.map((part) => printTree(part, tree.join === ';' ? ';' : undefined)).join(tree.join)
      : tree.field + tree.operator + tree.value
  const needed = 'join' in tree && tree.join === ',' && inside === ';'
  return needed || tree.redundant ? `(${text})` : text
}

/** The text that a search looks for. Without quotes it is trimmed. */
export function searchedText({ quoted, text }: NonNullable<Query['search']>): string {
  return quoted ? text : text.trim()
}
