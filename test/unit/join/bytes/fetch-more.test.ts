import fc from 'fast-check'
import t from 'tap'
import type { PageRows } from '../../../../src/join/bytes/envelope-rows.ts'
import { type MergeInput, mergeRows } from '../../../../src/join/bytes/merge.ts'
import type { Row } from '../../../../src/query/value.ts'
import { referencePage, referenceSort } from '../../../support/reference-collection.ts'
import { type Case, cases, flat, pageOf, partOf, referenceOf, sortOf, wholeOf } from './merge-cases.ts'

/** A node that answers `size` rows a page, and counts what it is asked. */
function paged(rows: readonly Row[], one: Case, size: number, trusted = true) {
  const asked: number[] = []
  const page = (offset: number): PageRows => {
    asked.push(offset)
    const query = { ...sortOf(one), offset: String(offset), limit: String(size) }
    const answer = referencePage(rows, query, referenceOf(one))
    return partOf(answer.items, answer.totalItems)
  }
  let offset = 0
  const more = async () => {
    await undefined
    offset += size
    return offset < rows.length ? page(offset) : undefined
  }
  const part: MergeInput = { rows: page(0), isSorted: trusted, fetchMore: more }
  return { part, asked }
}

t.test('rows that come page by page join to the same', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      cases,
      fc.integer({ min: 1, max: 3 }),
      fc.nat(30),
      fc.boolean(),
      async (one, size, offset, trusted) => {
        const parts = one.nodes.map((rows) => paged(rows, one, size, trusted).part)
        const page = await pageOf(parts, { sort: one.sort, source: one.source, offset, limit: 20 })
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

t.test('only those parts are asked for more whose rows the page reaches', async (t) => {
  const [low, high] = [paged(rowsFrom(0, 40), ordered, 10), paged(rowsFrom(100, 40), ordered, 10)]
  const page = await pageOf([low.part, high.part], { sort: '+b', source: flat, offset: 15, limit: 10 })
  t.strictSame(page.items, rowsFrom(15, 10))
  t.strictSame(low.asked, [0, 10, 20])
  t.strictSame(high.asked, [0])
})

t.test('what is there is joined at once', async (t) => {
  const joined = mergeRows([paged(rowsFrom(0, 40), ordered, 10).part], {
    sort: '+b',
    source: flat,
    offset: 0,
    limit: 10,
  })
  t.notOk(joined instanceof Promise)
})

t.test('a part whose next rows do not come is named, with the cause', async (t) => {
  const cause = new Error('reset')
  const broken: MergeInput = { rows: partOf(rowsFrom(0, 2), 5), isSorted: true, fetchMore: () => Promise.reject(cause) }
  for (const trusted of [true, false]) {
    const parts = [paged(rowsFrom(0, 3), ordered, 10).part, { ...broken, isSorted: trusted }]
    const joined = await mergeRows(parts, { sort: '+b', source: flat, offset: 0, limit: 100 })
    t.strictSame(joined, { ok: false, input: 1, reason: 'its next page cannot be fetched', cause })
  }
})

t.test('a trusted part that is not in order is sorted here, and named', async (t) => {
  const swapped: fc.Arbitrary<readonly [Case, number]> = fc.tuple(cases, fc.nat())
  await fc.assert(
    fc.asyncProperty(swapped, async ([one, at]) => {
      const parts = one.nodes.map((rows): MergeInput => ({ rows: partOf(inner(rows, one)), isSorted: true }))
      const joined = await mergeRows(parts, { sort: one.sort, source: one.source, offset: at % 7, limit: 1000 })
      if (!joined.ok) throw new Error(joined.reason)
      const got = JSON.parse(`[${joined.chunks.map(String).join('')}]`)
      t.strictSame(got, JSON.parse(JSON.stringify(wholeOf(one))).slice(at % 7))
      for (const part of joined.unsortedInputs) t.notSame(sortedOf(one, part), one.nodes[part], 'rightly distrusted')
    }),
    { numRuns: 150 },
  )
})

/** As they leave their source, but in the order in which they are given. */
function inner(rows: readonly Row[], one: Case): Row[] {
  return rows.flatMap((row) => referencePage([row], {}, referenceOf(one)).items)
}

function sortedOf(one: Case, part: number): Row[] {
  return referenceSort(one.nodes[part] ?? [], one.sort, referenceOf(one))
}
