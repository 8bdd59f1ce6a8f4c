import t from 'tap'
import { compareSource, sourceNames } from './differential/compare.ts'

/** `npm run check:queries` compares as many as wanted. */
const QUERIES_PER_SOURCE = 150

t.test('random queries get the answers of SQLite and of plain functions', async (t) => {
  for (const name of sourceNames) {
    const seed = Math.trunc(Math.random() * 2 ** 31)
    const { difference, queries, found } = await compareSource(name, QUERIES_PER_SOURCE, seed)
    t.equal(difference, undefined, `${name}, seed ${seed} (new objects in rows: test/support/nested-columns.ts)`)
    t.equal(queries, QUERIES_PER_SOURCE, `${name}: all queries were compared`)
    t.ok(found > QUERIES_PER_SOURCE / 20, `${name}: ${found} pages have rows`)
  }
})
