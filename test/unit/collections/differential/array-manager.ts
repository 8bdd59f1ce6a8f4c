/**
 * What the manager itself returns for `q` on collections in memory: it differs from the edge on purpose
 * (docs/collection-choices.md), so a request that the edge computes in its place must not reach a difference.
 */

import type { Collection } from '../../../support/engine/arrays.ts'
import { answerOf, type Item } from './array-oracle.ts'
import { type Condition, type Expected, printParameters, type Query, type Tree } from './query.ts'

const FAILED: Expected = { codes: [1000] }

export function answerOfManager(rows: readonly Item[], query: Query, collection: Collection): unknown {
  const expected = answer(rows, query, collection)
  return 'codes' in expected ? expected.codes[0] : expected.page
}

function answer(rows: readonly Item[], query: Query, collection: Collection): Expected {
  if (query.q === undefined) return answerOf(rows, query, collection)
  if (printParameters(query).q?.includes('(')) return FAILED
  const conditions = conditionsOf(query.q)
  const cellsOf = ({ field }: Condition) => rows.map((row) => (typeof row === 'object' ? row[field] : undefined))
  if (conditions.some((condition) => cellsOf(condition).some((cell) => failsOn(condition, cell)))) return FAILED
  return answerOf(rows, { ...query, q: cut(query.q) }, collection)
}

/** Numbers are compared with numbers only, and only texts have a beginning. */
function failsOn({ operator, value }: Condition, cell: unknown): boolean {
  if (cell === undefined || cell === null || typeof cell === 'string') return false
  if (operator === '~') return true
  return typeof cell !== 'number' || !/^\d+$/.test(value)
}

function conditionsOf(tree: Tree): readonly Condition[] {
  return 'join' in tree ? tree.of.flatMap(conditionsOf) : [tree]
}

/** A value ends at its first space. */
function cut(tree: Tree): Tree {
  if ('join' in tree) return { ...tree, of: tree.of.map(cut) }
  return { ...tree, value: tree.value.split(' ')[0] ?? '' }
}
