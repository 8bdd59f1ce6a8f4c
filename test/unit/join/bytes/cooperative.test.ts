import { setImmediate } from 'node:timers/promises'
import t from 'tap'
import { type MergeInput, mergeRows } from '../../../../src/join/bytes/merge.ts'
import { flat, partOf } from './merge-cases.ts'

const ROWS = 1000
const NODES = 60

function parts(trusted: boolean): MergeInput[] {
  return Array.from({ length: NODES }, (_, node) => {
    const rows = Array.from({ length: ROWS }, (_, at) => ({
      b: trusted ? at : (at * 7919) % ROWS,
      node,
      x: 'x'.repeat(300),
    }))
    return { rows: partOf(rows), isSorted: trusted }
  })
}

for (const trusted of [true, false]) {
  t.test(`long joins of ${trusted ? 'sorted' : 'unsorted'} rows give way to others`, async (t) => {
    const long = parts(trusted)
    let turns = 0
    let done = false
    const others = (async () => {
      while (!done) {
        await setImmediate()
        turns++
      }
    })()
    const joined = await mergeRows(long, { sort: '+b', source: flat, offset: NODES * ROWS - 10, limit: 100 })
    done = true
    await others
    t.match(joined, { ok: true, count: 10, total: NODES * ROWS, unsortedInputs: [] })
    t.ok(turns > 3, `others had ${turns} turns`)
  })
}
