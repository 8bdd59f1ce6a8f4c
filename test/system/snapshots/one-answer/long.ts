/**
 * Asks random queries of every collection with a snapshot twice, from a node and from the snapshot, in front of both
 * layouts (`npm run check:answers`). With the printed seed and the same options, a run is repeated exactly.
 */
import { readOptions } from '../../../support/script-options.ts'
import { compareV4Contract } from '../v4-contract/long.ts'
import { type Compared, pathOf, startSites } from './compare.ts'

const { values, refuse } = readOptions({
  name: 'check:answers',
  purpose: 'Compares responses from snapshots with those of a node: one URL, one answer.',
  options: {
    queries: { kind: 'number', meaning: 'number of queries over all collections and layouts (default 10000)' },
    seed: { kind: 'number', meaning: 'the seed of a run (default: random)' },
    only: { kind: 'text', value: 'PATH', meaning: 'collections whose path contains this text' },
    layout: { kind: 'text', value: 'LAYOUT', meaning: 'v3 or v4 only' },
    contract: { kind: 'text', value: 'CONTRACT', meaning: 'v3 or v4 only' },
  },
})
const { queries = 10_000, seed = Math.trunc(Math.random() * 2 ** 31), only = '', layout: wanted, contract } = values
if (contract !== undefined && contract !== 'v3' && contract !== 'v4')
  refuse(`--contract must be v3 or v4, got "${contract}"`)
const layouts = (['v3', 'v4'] as const).filter((layout) => contract !== 'v4' && (wanted ?? layout) === layout)
if (layouts.length === 0 && contract !== 'v4') refuse(`--layout must be v3 or v4, got "${wanted}"`)

const teardowns: (() => unknown)[] = []
const begin = performance.now()
console.log(`seed ${seed}`)
const all: Compared[] = []
for (const layout of layouts) {
  const sites = await startSites(
    { teardown: (...args: unknown[]) => void teardowns.unshift(args[0] as () => unknown) },
    layout,
  )
  const chosen = sites.collections.filter((record) => pathOf(record).includes(only))
  if (chosen.length === 0) refuse(`no collection has "${only}" in its path`)
  for (const record of chosen) {
    const random = await sites.compare(record, Math.ceil(queries / layouts.length / chosen.length), seed)
    // In the v3 layout a test has each part of a query.
    for (const compared of layout === 'v4' ? [random, await sites.compareParts(record, 1, 0)] : [random]) {
      all.push(compared)
      const { path, computed, withRows, refused, differences } = compared
      console.log(
        `${layout} ${path}: ${compared.queries} queries, ${computed} from the snapshot (${withRows} with rows), ` +
          `${refused} refused, ${differences.length} differences`,
      )
      for (const difference of differences) console.log(`  DIFFERENCE ${difference}`)
    }
  }
}
const sum = (count: (compared: Compared) => number) => all.reduce((total, compared) => total + count(compared), 0)
const remaining = new Map<string, number>()
for (const each of all)
  for (const [name, count] of Object.entries(each.remaining)) remaining.set(name, (remaining.get(name) ?? 0) + count)
for (const [name, count] of remaining) console.log(`listed in docs/contract-decisions.md: ${name}: ${count}`)
const differences = sum((compared) => compared.differences.length)
console.log(
  `${sum((compared) => compared.queries)} queries over ${all.length} collections in ` +
    `${((performance.now() - begin) / 1000).toFixed(0)} s, ${sum((compared) => compared.computed)} from snapshots ` +
    `(${sum((compared) => compared.withRows)} with rows), ${sum((compared) => compared.refused)} refused, ` +
    `seed ${seed}: ${differences} differences`,
)
for (const close of teardowns) await close()
const inV4 = contract === 'v3' ? 0 : await compareV4Contract({ queries, seed, only })
process.exit(differences + inV4 === 0 ? 0 : 1)
