import t, { type Test } from 'tap'
import { type Sites, startSites } from './compare.ts'
import { PLANTS, type Plant } from './plants.ts'

/** `npm run check:answers` asks as many random ones as wanted. */
const QUERIES_PER_COLLECTION = { v3: 5, v4: 2 } as const
/** The same in each run, so that no change fails for a query that another one has not met. */
const SEED = 30_031
/** A run has one of this number of parts, `npm run check:answers` all. */
const STEP = 40
/** A planted fault is looked for in batches, until one finds it. */
const QUERIES_PER_BATCH = 60
const MAX_BATCHES = 25

t.test('v3 layout', async (t) => {
  const sites = await startSites(t, 'v3')
  await t.test('a URL has one answer, from a node and from the snapshot', (t) => compareAll(t, sites, 'v3'))
  await t.test('planted faults of answers from snapshots are found', async (t) => {
    for (const plant of PLANTS) {
      const { differences, queries } = await findPlanted(sites, plant)
      const name = `${plant.path}, ${plant.fault}`
      if (plant.prepare === undefined) t.strictSame(differences, [], name)
      else t.ok(differences.length > 0, `${name}: ${differences.length} differences in ${queries} queries`)
    }
  })
})

t.test('v4 layout: a URL has one answer, from a node and from the snapshot', async (t) => {
  const sites = await startSites(t, 'v4')
  await compareAll(t, sites, 'v4')
  // Nodes compare rows in another form than clients see them.
  await t.test('each part of a query, alone and beside others', async (t) => {
    const from = Math.trunc(Math.random() * STEP)
    for (const record of sites.collections) {
      const { path, differences } = await sites.compareParts(record, STEP, from)
      t.strictSame(differences, [], `${path}, from ${from}`)
    }
  })
})

async function findPlanted(sites: Sites, plant: Plant) {
  const batches = plant.prepare === undefined ? 1 : MAX_BATCHES
  let queries = 0
  for (let batch = 0; batch < batches; batch++) {
    const { differences } = await sites.comparePlanted(plant, QUERIES_PER_BATCH, SEED + batch)
    queries += QUERIES_PER_BATCH
    if (differences.length > 0) return { differences, queries }
  }
  return { differences: [], queries }
}

async function compareAll(t: Test, sites: Sites, layout: keyof typeof QUERIES_PER_COLLECTION): Promise<void> {
  t.ok(sites.collections.length >= 43, `${sites.collections.length} collections`)
  let [computed, queries] = [0, 0]
  for (const record of sites.collections) {
    const compared = await sites.compare(record, QUERIES_PER_COLLECTION[layout], SEED)
    t.strictSame(compared.differences, [], compared.path)
    computed += compared.computed
    queries += compared.queries
  }
  t.comment(`${layout} layout: ${queries} queries, ${computed} from snapshots`)
  t.ok(computed > queries / 5, `${computed} of ${queries} queries are answered from snapshots`)
}
