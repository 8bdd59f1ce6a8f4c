/** The query of a joined read, and what the queries of its parts have of it. */
import { sortFieldsOf } from '../collections/order.ts'
import { DEFAULT_LIMIT, type PageWindow } from '../collections/request.ts'
import type { DatabaseSource } from '../collections/sources.ts'
import type { EdgeRead } from '../core/request.ts'

/** Returns the page that the client asks for; its parameters were validated. */
export function pageWindowOf({ query }: EdgeRead): PageWindow {
  return { offset: Number(query.offset ?? 0), limit: Number(query.limit ?? DEFAULT_LIMIT) }
}

/** Returns `select` with the sort fields added, and in `drop` those that the client did not select. */
export function selectWithSortFields(
  { select, sort }: EdgeRead['query'],
  source: DatabaseSource,
): { readonly select?: string; readonly drop?: readonly string[] } {
  if (select === undefined) return {}
  const selected = select.split(',')
  const known = sortFieldsOf(sort, source).filter((field) => Object.hasOwn(source.fields, field))
  const drop = known.filter((field) => !selected.includes(field))
  return drop.length === 0 ? { select } : { select: [...selected, ...drop].join(','), drop }
}

export function omitParameters(query: EdgeRead['query'], ...names: readonly string[]): EdgeRead['query'] {
  return Object.fromEntries(Object.entries(query).filter(([name]) => !names.includes(name)))
}
