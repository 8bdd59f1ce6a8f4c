import { matching } from './collect.ts'
import { CollectionError } from './error.ts'
import { cut, readPage } from './page.ts'
import { pick } from './select.ts'
import type { Collected, CollectionRequest, DatabaseSource, Row } from './source.ts'

/**
 * The different combinations of `fields` among the rows that fit the request, each with the `count` of rows
 * that have it, in the order in which they first occur. Without `fields` every field of the source counts.
 * totalItems is the number of combinations. Throws CollectionError; 1724 for an unknown field.
 */
export function distinct(
  rows: readonly Row[],
  request: CollectionRequest,
  fields: string | undefined,
  source: DatabaseSource,
): Collected<Row> {
  const page = readPage(request)
  const known = Object.keys(source.fields)
  const asked = fields?.split(',') ?? known
  if (asked.some((field) => !known.includes(field))) throw new CollectionError(1724)
  const groups = new Map<string, { readonly row: Row; count: number }>()
  for (const element of matching(rows, request, source)) {
    if (typeof element === 'string') continue
    const row = pick(element, asked)
    const group = groups.get(JSON.stringify(row))
    if (group) group.count++
    else groups.set(JSON.stringify(row), { row, count: 1 })
  }
  const items = cut([...groups.values()], page).map(({ row, count }) => ({ ...row, count }))
  return { items, totalItems: groups.size }
}
