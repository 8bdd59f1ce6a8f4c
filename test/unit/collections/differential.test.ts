import t from 'tap'
import { inventoryObjects } from '../../../src/contracts/v3/inventories.ts'
import { ALWAYS_NESTED, NESTED_IN_PAIRS } from '../../support/nested-columns.ts'
import { compareSource, sourceNames } from './differential/compare.ts'

/** `npm run check:queries` compares as many as wanted. */
const QUERIES_PER_SOURCE = 150

t.test('the oracles nest what the rows of inventories have as objects', async (t) => {
  const listed = [...ALWAYS_NESTED, ...NESTED_IN_PAIRS]
  const missing = [...inventoryObjects].filter((name) => !listed.includes(name))
  t.strictSame(missing, [], 'add these to ALWAYS_NESTED in test/support/nested-columns.ts')
})

t.test('random queries get the answers of SQLite and of plain functions', async (t) => {
  for (const name of sourceNames) {
    const seed = Math.trunc(Math.random() * 2 ** 31)
    const { difference, queries, found } = await compareSource(name, QUERIES_PER_SOURCE, seed)
    t.equal(difference, undefined, `${name}, seed ${seed}`)
    t.equal(queries, QUERIES_PER_SOURCE, `${name}: all queries were compared`)
    t.ok(found > QUERIES_PER_SOURCE / 20, `${name}: ${found} pages have rows`)
  }
})
