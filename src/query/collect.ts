import { readConditions, type Test } from './condition.ts'
import { readFilter, readSearch } from './filter.ts'
import { readOrder } from './order.ts'
import type { Collected, CollectionRequest } from './request.ts'
import { cut, readPage } from './request.ts'
import { readShape } from './select.ts'
import type { Source } from './sources.ts'
import type { Element, Row } from './value.ts'

/**
 * Answers a collection request over the rows of a source, as the manager does, and rightly where it does
 * not (docs/collection-choices.md): filters, search and `q` narrow, the order is total and stable,
 * `select` picks, the page is cut last.
 *
 * `rows` are in the source's own order and are left untouched; items are new objects only where `select`,
 * hidden fields or nesting change them. Throws CollectionError with the code that the manager answers.
 * The sources of the real system stand ready in sources.ts; `readRequest` makes a request of query texts.
 *
 * @example collect(agents, readRequest({ limit: '10', sort: '-id', status: 'active' }, now), sources.agents)
 */

export function collect(rows: readonly Row[], request: CollectionRequest, source: Source): Collected<Row>
export function collect(rows: readonly string[], request: CollectionRequest, source: Source): Collected<string>
export function collect(rows: readonly Element[], request: CollectionRequest, source: Source): Collected
export function collect(rows: readonly Element[], request: CollectionRequest, source: Source): Collected {
  const offsetFirst = source.engine === 'array' && source.offsetFirst === true
  const page = readPage(request, offsetFirst ? Number.POSITIVE_INFINITY : undefined)
  const shape = readShape(request.select, source)
  const found = matching(offsetFirst ? rows.slice(page.offset) : rows, request, source)
  const items = cut(found, offsetFirst ? { ...page, offset: 0 } : page).map(shape)
  return { items, totalItems: offsetFirst ? items.length : found.length }
}

/** All rows that fit the request, in its order; not cut, not shaped. */
export function matching<E extends Element>(rows: readonly E[], request: CollectionRequest, source: Source): E[] {
  const tests = testsOf(request, source)
  const order = readOrder(request.sort, source, rows)
  const fitting = rows.filter((row) => tests.every((test) => test(row)))
  return order ? fitting.sort(order) : fitting
}

function testsOf(request: CollectionRequest, source: Source): Test[] {
  const tests = Object.entries(request.filters ?? {}).map(([name, value]) =>
    readFilter(name, value, source, request.now),
  )
  if (request.search !== undefined) tests.push(readSearch(request.search, source))
  if (request.q !== undefined) tests.push(readConditions(request.q, source, request.now))
  return tests
}
