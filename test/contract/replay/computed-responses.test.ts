/** Where the recording has a whole collection and parts of it, the edge computes the recorded parts from the whole. */
import t from 'tap'
import { isComputable } from '../../../src/collections/computable.ts'
import { answerFrom } from '../../../src/collections/queried-rows.ts'
import { CollectionError, parseCollectionRequest } from '../../../src/collections/request.ts'
import { nestRow } from '../../../src/collections/select.ts'
import { type Source, sources } from '../../../src/collections/sources.ts'
import type { Element, Row } from '../../../src/collections/value.ts'
import { snapshotOf } from '../../support/snapshots.ts'
import {
  knownRows,
  notCompared,
  RECORDED_AT,
  type RecordedCollection,
  recordedCollections,
  withoutKeepAlive,
} from '../../unit/collections/recorded.ts'

/** Returns the computed page, or the code with which the collection refuses the request. */
async function computed(
  recorded: RecordedCollection,
  source: Source,
  rows: readonly Element[],
): Promise<RecordedCollection['expected'] | number> {
  const isNested = source.engine === 'database' && source.nested
  const asSent = isNested ? rows.map((row) => nestRow(row as Row)) : rows
  const snapshot = await snapshotOf(asSent, source)
  try {
    const body = await answerFrom(snapshot, { source, collection: parseCollectionRequest(recorded.query, RECORDED_AT) })
    const { data } = JSON.parse(body.toString()) as { data: { items: Element[]; totalItems: number } }
    return { items: data.items.map(withoutKeepAlive), totalItems: data.totalItems }
  } catch (error) {
    if (error instanceof CollectionError) return error.code
    throw error
  }
}

const exchanges = recordedCollections().filter((exchange) => !notCompared.some(({ fits }) => fits(exchange)))
let pages = 0
const paths = [...new Set(exchanges.map(({ path }) => path))]
const pathsWithParts = new Set<string>()

for (const path of paths) {
  t.test(path, async (t) => {
    const ofPath = exchanges.filter((exchange) => exchange.path === path)
    const { rows, isComplete } = knownRows(ofPath)
    if (!isComplete) {
      t.pass('the whole collection was not recorded')
      return
    }
    for (const exchange of ofPath) {
      const { query, expected } = exchange
      const source: Source = sources[exchange.source]
      if (!isComputable(parseCollectionRequest(query, RECORDED_AT), source)) continue
      const name = `${path}?${new URLSearchParams(query)}`
      const actual = await computed(exchange, source, rows)
      if ('code' in expected) {
        t.equal(actual, expected.code, `${name}: the node refuses it, so the edge asks the node`)
        continue
      }
      t.same(actual, { items: expected.items.map(withoutKeepAlive), totalItems: expected.totalItems }, name)
      if (Object.keys(query).length > 0) pathsWithParts.add(path)
      pages += 1
    }
  })
}

t.test('most recorded pages are compared', async (t) => {
  t.comment(`${pages} pages of ${pathsWithParts.size} collections with parts, of ${exchanges.length} exchanges`)
  t.ok(pages >= 120, `${pages} pages`)
  t.ok(pathsWithParts.size >= 15, `${pathsWithParts.size} collections`)
})
