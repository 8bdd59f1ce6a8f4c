/**
 * The differences that remain between the response of a node and the one from a snapshot. docs/contract-decisions.md has
 * the same list; remaining-differences.test.ts compares both.
 */
import { isDeepStrictEqual } from 'node:util'
import type { RandomQuery } from './queries.ts'

export interface Answered {
  readonly status: number
  readonly cacheStatus: string
  readonly text: string
  readonly body: { readonly error: number; readonly message?: string; readonly data?: unknown }
}

export interface Remaining {
  /** As in the first column of the table in docs/contract-decisions.md. */
  readonly name: string
  covers(query: RandomQuery, node: Answered, edge: Answered): boolean
}

export const REMAINING: readonly Remaining[] = [
  {
    name: 'order of the members of a row',
    covers: (_, node, edge) => isDeepStrictEqual(node.body, edge.body),
  },
]
