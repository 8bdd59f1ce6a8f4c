import t, { type Test } from 'tap'
import { collect } from '../../../packages/simulator/src/data/collect.ts'
import { CollectionError, parseCollectionRequest } from '../../../src/collections/request.ts'
import { sources } from '../../../src/collections/sources.ts'
import type { Element } from '../../../src/collections/value.ts'
import {
  flatten,
  type KnownRows,
  knownRows,
  notCompared,
  RECORDED_AT,
  type RecordedCollection,
  recordedCollections,
  withoutKeepAlive,
} from './recorded.ts'

function collectFrom({ source, query }: RecordedCollection, rows: readonly Element[]): RecordedCollection['expected'] {
  try {
    const { items, totalItems } = collect(rows, parseCollectionRequest(query, RECORDED_AT), sources[source])
    return { items: items.map(withoutKeepAlive), totalItems }
  } catch (error) {
    if (error instanceof CollectionError) return { code: error.code, message: error.message }
    throw error
  }
}

function compare(t: Test, recorded: RecordedCollection, known: KnownRows): void {
  const { path, query, expected, source } = recorded
  const name = `${path} ${new URLSearchParams(query)}`
  const collected = collectFrom(recorded, known.rows)
  if ('code' in expected || 'code' in collected) {
    t.same(collected, expected, name)
    return
  }
  const items = expected.items.map(withoutKeepAlive)
  if (known.isComplete) {
    t.same(collected, { items, totalItems: expected.totalItems }, name)
    return
  }
  // With only the first rows recorded, matches among them must come first, unless there is a sort.
  if (!('sort' in query)) t.same(collected.items, items.slice(0, collected.items.length), name)
  t.ok(collected.totalItems <= expected.totalItems, name)
  const { offset: _, ...rest } = query
  const rows = 'nested' in sources[source] ? expected.items.map(flatten) : expected.items
  t.same(
    collectFrom({ ...recorded, query: rest }, rows),
    { items, totalItems: items.length },
    `${name}, of the recorded page itself`,
  )
}

const exchanges = recordedCollections()
const paths = new Set(exchanges.map(({ path }) => path))

for (const path of paths) {
  t.test(path, async (t) => {
    const ofPath = exchanges.filter((exchange) => exchange.path === path)
    const known = knownRows(ofPath.filter((exchange) => !notCompared.some(({ fits }) => fits(exchange))))
    for (const exchange of ofPath) {
      const reason = notCompared.find(({ fits }) => fits(exchange))
      if (reason) t.pass(`not compared: ${reason.why}`)
      else compare(t, exchange, known)
    }
  })
}

t.test('every reason to skip an exchange is used, and most exchanges are compared', async (t) => {
  for (const { why, fits } of notCompared) t.ok(exchanges.some(fits), why)
  const compared = exchanges.filter((exchange) => !notCompared.some(({ fits }) => fits(exchange)))
  t.ok(compared.length >= 230, `${compared.length} of ${exchanges.length} are compared`)
})
