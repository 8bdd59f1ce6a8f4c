import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { type MergeInput, mergeRows } from '../../../src/collections/merge.ts'
import { flat, partOf } from '../collections/merge-cases.ts'

const ROWS = 1000
const NODES = 60

function createInputs(isSorted: boolean): MergeInput[] {
  return Array.from({ length: NODES }, (_, node) => {
    const rows = Array.from({ length: ROWS }, (_, at) => ({
      b: isSorted ? at : (at * 7919) % ROWS,
      node,
      x: 'x'.repeat(300),
    }))
    return { rows: partOf(rows), isSorted }
  })
}

for (const isSorted of [true, false]) {
  t.test(`long merges of ${isSorted ? 'sorted' : 'unsorted'} rows yield to the event loop`, async (t) => {
    const inputs = createInputs(isSorted)
    let turns = 0
    let done = false
    const others = (async () => {
      while (!done) {
        await setImmediate()
        turns++
      }
    })()
    const merged = await mergeRows(inputs, { sort: '+b', source: flat, offset: NODES * ROWS - 10, limit: 100 })
    done = true
    await others
    t.match(merged, { ok: true, total: NODES * ROWS })
    t.equal(merged.ok && JSON.parse(`[${Buffer.concat(merged.chunks)}]`).length, 10)
    t.ok(turns > 3, `${turns} turns of the event loop during the merge`)
  })
}
