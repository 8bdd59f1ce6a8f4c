/** Long work of several kinds at the same time: all of it together leaves the event loop to other requests. */

import t from 'tap'
import { mergeRows } from '../../../src/collections/merge.ts'
import { rowsOf } from '../../../src/collections/rows.ts'
import { sources } from '../../../src/collections/sources.ts'
import { readEnvelopeInTurns } from '../../../src/core/envelope.ts'
import { selectFirst } from '../../../src/core/long-lists.ts'
import { checkList } from '../../../src/http/body-contents.ts'
import { measureBestRun } from '../../support/event-loop.ts'

const ROWS = 100_000
const WORKS_OF_A_KIND = 8
/** CPU milliseconds: the bound of src/core/turns.ts. */
const MAX_TURN_MS = 20

const items = Array.from({ length: ROWS / WORKS_OF_A_KIND }, (_, at) => ({
  name: `package-${(at * 7919) % ROWS}`,
  version: `${at}`,
  description: 'a library that other packages need',
}))
const body = Buffer.from(JSON.stringify({ error: 0, data: { items, totalItems: items.length } }))
const names = Array.from({ length: ROWS / WORKS_OF_A_KIND }, (_, at) => `name-${(at * 7919) % ROWS}`)
const list = Buffer.from(names.map((name) => `${name}:1\n`).join(''))

async function join() {
  // A view has no rows that were found before.
  const found = await rowsOf(body.subarray())
  if (!found.ok) throw new Error(found.reason)
  const options = { sort: 'name', source: sources.packages, offset: 0, limit: ROWS }
  return mergeRows([{ rows: found.rows, isSorted: false }], options)
}

t.test(`${WORKS_OF_A_KIND} of each kind of work, each kind over ${ROWS} rows`, async (t) => {
  const kinds = [
    join,
    () => readEnvelopeInTurns(body),
    () =>
      selectFirst(
        names,
        (name) => name,
        (a, b) => (a < b ? -1 : 1),
        ROWS,
      ),
    () => checkList(list),
  ]
  const all = () =>
    Promise.all(
      kinds.flatMap((work) =>
        Array.from({ length: WORKS_OF_A_KIND }, async () => {
          // As responses that arrive in one turn: each is handled in a separate callback.
          await new Promise((resolve) => setImmediate(resolve))
          return work()
        }),
      ),
    )
  const longest = await measureBestRun(all, MAX_TURN_MS)
  t.ok(longest < MAX_TURN_MS, `${longest.toFixed(1)} ms`)
})
