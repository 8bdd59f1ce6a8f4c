import fc from 'fast-check'
import t from 'tap'
import type { MergeInput } from '../../../src/collections/merge.ts'
import { type Case, cases, pageOf, partOf, sortedPageOf, wholeOf } from './merge-cases.ts'

const limits = fc.integer({ min: 1, max: 60 })

/** Inputs that the nodes have sorted and cut to one page. */
function sortedInputs(one: Case, reach: number): MergeInput[] {
  return one.nodes.map((rows) => ({ rows: sortedPageOf(rows, one, reach), isSorted: true }))
}

function unsortedInputs({ nodes }: Case): MergeInput[] {
  return nodes.map((rows) => ({ rows: partOf(rows), isSorted: false }))
}

t.test('pages over any nodes are those of one node that holds all rows', async (t) => {
  await fc.assert(
    fc.asyncProperty(cases, limits, async (one, limit) => {
      const whole = JSON.parse(JSON.stringify(wholeOf(one)))
      const got: unknown[] = []
      for (let offset = 0; offset < whole.length + 1; offset += limit) {
        const how = { sort: one.sort, source: one.source, offset, limit }
        const page = await pageOf(sortedInputs(one, Math.min(1000, offset + limit)), how)
        t.equal(page.totalItems, whole.length, 'totalItems is independent of the page')
        got.push(...page.items)
      }
      t.strictSame(got, whole)
    }),
    { numRuns: 150 },
  )
})

t.test('rows of unsorted inputs are sorted by the merge', async (t) => {
  await fc.assert(
    fc.asyncProperty(cases, limits, fc.nat(40), async (one, limit, offset) => {
      const whole = JSON.parse(JSON.stringify(wholeOf(one)))
      const inputs = unsortedInputs(one)
      const page = await pageOf(inputs, { sort: one.sort, source: one.source, offset, limit })
      const ats = page.items.map((item) => (item as { at: number }).at)
      const expected = whole.slice(offset, offset + limit).map((item: { at: number }) => item.at)
      t.strictSame(ats, expected)
      t.equal(page.totalItems, whole.length)
    }),
    { numRuns: 150 },
  )
})
