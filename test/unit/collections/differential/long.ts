/**
 * Compares random queries over all collections with the oracles (`npm run check:queries`). Prints the seed of each
 * collection; with it and the same number of queries, a run is repeated exactly.
 */
import { readOptions } from '../../../support/script-options.ts'
import { compareSource, sourceNames } from './compare.ts'

const { values, refuse } = readOptions({
  name: 'check:queries',
  purpose: 'Compares random queries with SQLite and with plain functions.',
  options: {
    queries: { kind: 'number', meaning: 'number of queries over all collections (default 100000)' },
    seed: { kind: 'number', meaning: 'the seed of a run (default: random)' },
    only: { kind: 'text', value: 'COLLECTION', meaning: `one collection only: ${sourceNames.join(', ')}` },
  },
})
const { queries = 100_000, seed = Math.trunc(Math.random() * 2 ** 31), only } = values
const names = sourceNames.filter((name) => only === undefined || name === only)
if (names.length === 0) refuse(`--only must be a collection, got "${only}"`)

let [compared, differences] = [0, 0]
const begin = performance.now()
console.log(`seed ${seed}`)
for (const name of names) {
  const result = await compareSource(name, queries / names.length, seed)
  compared += result.queries
  console.log(`${name}: ${result.queries} queries, ${result.found} pages with rows, ${result.refused} refused`)
  if (result.difference === undefined) continue
  differences += 1
  console.log(`DIFFERENCE in ${name}, seed ${seed}: ${result.difference}`)
}
const seconds = ((performance.now() - begin) / 1000).toFixed(0)
console.log(
  `${compared} queries over ${names.length} collections in ${seconds} s, seed ${seed}: ${differences} differences`,
)
process.exit(differences === 0 ? 0 : 1)
