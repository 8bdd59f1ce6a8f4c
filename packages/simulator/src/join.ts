/**
 * Joins the responses of several nodes as the real manager does, including its losses: the page is cut on every node
 * and again after the join, and one failing part fails the whole.
 */

import { parseCollectionRequest } from '../../../src/collections/request.ts'
import { collect } from './data/collect.ts'
import { FrameworkError } from './model.ts'

export type PartAnswer = { readonly data: unknown } | { readonly failure: FrameworkError }

/** If responses differ, one text takes precedence independent of the order. */
const stronger: readonly (readonly [string, string])[] = [
  ['Some agents were not restarted', 'All selected agents were restarted'],
  ['KO', 'OK'],
]

/** Returns `data` of the joined response. Parts are in join order. Throws the error of a failed part. */
export function joinNodes(parts: readonly PartAnswer[], query: Readonly<Record<string, string>>, now: Date): unknown {
  const failures = parts.flatMap((part) => ('failure' in part ? [part.failure] : []))
  const [first] = failures
  if (first !== undefined) throw new FrameworkError(Math.max(...failures.map(({ code }) => code)), first.message)
  const [head, ...rest] = parts.flatMap((part) => ('data' in part ? [part.data] : []))
  // A single response is not joined, so its page is cut only once.
  if (rest.length === 0) return head
  const joined = rest.reduce((sum, data) => join('data', sum, data), head)
  return cutAgain(joined, query, now)
}

function join(field: string, a: unknown, b: unknown): unknown {
  if (a === undefined) return b
  if (b === undefined) return a
  if (Array.isArray(a) && Array.isArray(b)) return union(a, b)
  if (isObject(a) && isObject(b)) {
    const fields = new Set([...Object.keys(a), ...Object.keys(b)])
    return Object.fromEntries([...fields].map((name) => [name, join(name, a[name], b[name])]))
  }
  if (typeof a !== typeof b || Array.isArray(a) !== Array.isArray(b)) throw new FrameworkError(1000, 'Internal error')
  if (field === 'totalItems' && typeof a === 'number' && typeof b === 'number') return a + b
  return stronger.some(([strong, weak]) => a === weak && b === strong) ? b : a
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Removes elements that equal an earlier one, although their node counted them. */
function union(a: readonly unknown[], b: readonly unknown[]): unknown[] {
  const known = new Set(a.map((element) => JSON.stringify(element)))
  return [...a, ...b.filter((element) => !known.has(JSON.stringify(element)))]
}

function cutAgain(joined: unknown, query: Readonly<Record<string, string>>, now: Date): unknown {
  if (!isObject(joined) || !Array.isArray(joined.items)) return joined
  const { sort, offset, limit } = query
  const again = Object.entries({ sort, offset, limit }).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  )
  const { items } = collect(joined.items, parseCollectionRequest(Object.fromEntries(again), now), { engine: 'array' })
  return { ...joined, items }
}
