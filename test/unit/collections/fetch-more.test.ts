import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import { type MergeInput, mergeRows } from '../../../src/collections/merge.ts'
import type { Rows } from '../../../src/collections/rows.ts'
import type { Row } from '../../../src/collections/value.ts'
import { referencePage } from '../../support/reference-collection.ts'
import { type Case, cases, flat, pageOf, partOf, referenceOf, sortOf, wholeOf } from './merge-cases.ts'

/** A node that returns pages of `size` rows, and records the requested offsets. */
function paged(rows: readonly Row[], one: Case, size: number, isSorted = true) {
  const asked: number[] = []
  const pageAt = (offset: number): Rows => {
    asked.push(offset)
    const query = { ...sortOf(one), offset: String(offset), limit: String(size) }
    const page = referencePage(rows, query, referenceOf(one))
    return partOf(page.items, page.totalItems)
  }
  let offset = 0
  const fetchMore = async () => {
    await undefined
    offset += size
    return offset < rows.length ? pageAt(offset) : undefined
  }
  const input: MergeInput = { rows: pageAt(0), isSorted, fetchMore }
  return { input, asked }
}

t.test('inputs of several pages give the same result', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      cases,
      fc.integer({ min: 1, max: 3 }),
      fc.nat(30),
      fc.boolean(),
      async (one, size, offset, isSorted) => {
        const inputs = one.nodes.map((rows) => paged(rows, one, size, isSorted).input)
        const page = await pageOf(inputs, { sort: one.sort, source: one.source, offset, limit: 20 })
        const whole = JSON.parse(JSON.stringify(wholeOf(one)))
        t.strictSame(page.items, whole.slice(offset, offset + 20))
        t.equal(page.totalItems, whole.length)
      },
    ),
    { numRuns: 150 },
  )
})

const ordered: Case = { source: flat, sort: '+b', nodes: [[], []] }
const rowsFrom = (from: number, count: number): Row[] => Array.from({ length: count }, (_, at) => ({ b: from + at }))

t.test('only inputs whose rows the page reaches are asked for more', async (t) => {
  const [low, high] = [paged(rowsFrom(0, 40), ordered, 10), paged(rowsFrom(100, 40), ordered, 10)]
  const page = await pageOf([low.input, high.input], { sort: '+b', source: flat, offset: 15, limit: 10 })
  t.strictSame(page.items, rowsFrom(15, 10))
  t.strictSame(low.asked, [0, 10, 20])
  t.strictSame(high.asked, [0])
})

t.test('a merge that fetches nothing returns without a promise', async (t) => {
  // The turn of the test before may have no time left.
  await setImmediate()
  const merged = mergeRows([paged(rowsFrom(0, 40), ordered, 10).input], {
    sort: '+b',
    source: flat,
    offset: 0,
    limit: 10,
  })
  t.notOk(merged instanceof Promise)
})

t.test('an input whose next page cannot be fetched is named, with the cause', async (t) => {
  const cause = new Error('reset')
  const broken: MergeInput = { rows: partOf(rowsFrom(0, 2), 5), isSorted: true, fetchMore: () => Promise.reject(cause) }
  for (const isSorted of [true, false]) {
    const inputs = [paged(rowsFrom(0, 3), ordered, 10).input, { ...broken, isSorted }]
    const merged = await mergeRows(inputs, { sort: '+b', source: flat, offset: 0, limit: 100 })
    t.strictSame(merged, { ok: false, input: 1, reason: 'its next page cannot be fetched', cause })
  }
})

t.test('a sorted input that is out of order is sorted by the merge', async (t) => {
  const swapped: fc.Arbitrary<readonly [Case, number]> = fc.tuple(cases, fc.nat())
  await fc.assert(
    fc.asyncProperty(swapped, async ([one, at]) => {
      const inputs = one.nodes.map((rows): MergeInput => ({ rows: partOf(inner(rows, one)), isSorted: true }))
      const merged = await mergeRows(inputs, { sort: one.sort, source: one.source, offset: at % 7, limit: 1000 })
      if (!merged.ok) throw new Error(merged.reason)
      const got = JSON.parse(`[${merged.chunks.map(String).join('')}]`)
      t.strictSame(got, JSON.parse(JSON.stringify(wholeOf(one))).slice(at % 7))
    }),
    { numRuns: 150 },
  )
})

/** The rows as their node returns them, in the given order. */
function inner(rows: readonly Row[], one: Case): Row[] {
  return rows.flatMap((row) => referencePage([row], {}, referenceOf(one)).items)
}
