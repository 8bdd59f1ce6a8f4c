/** Responses of the v4 contract from snapshots equal those of the simulated node, and planted faults are found. */
import t from 'tap'
import type { RandomQuery } from '../one-answer/queries.ts'
import { collections, type Plant, startSites } from './compare.ts'

/** `npm run check:answers` asks as many as wanted. */
const QUERIES_PER_COLLECTION = 8
/** A planted fault is looked for in batches, until one finds it. */
const QUERIES_PER_BATCH = 40
const MAX_BATCHES = 25

const PLANTS: readonly Plant[] = [
  {
    fault: 'a search is not negated',
    path: '/rules',
    change: ({ search, ...query }) => withPart(query, 'search', search?.replace(/^-/, '')),
  },
  {
    fault: 'a descending order ascends',
    path: '/agents',
    change: ({ sort, ...query }) => withPart(query, 'sort', sort?.replace(/^-/, '')),
  },
  {
    fault: 'a later page begins a row too late',
    path: '/decoders',
    change: ({ offset, ...query }) => withPart(query, 'offset', offset && `${Number(offset) + 1}`),
  },
  {
    fault: 'unequal is equal',
    path: '/syscollector/:agent_id/processes',
    change: ({ q, ...query }) => withPart(query, 'q', q?.replace('!=', '=')),
  },
  { fault: 'selected members are not cut', path: '/cluster/nodes', change: ({ select, ...query }) => query },
  { fault: 'a filter has no effect', path: '/rules/files', change: ({ status, ...query }) => query },
]

function withPart(query: RandomQuery, name: string, value: string | undefined): RandomQuery {
  return value === undefined || value === '' ? query : { ...query, [name]: value }
}

t.test('every collection, and planted faults', async (t) => {
  const sites = await startSites(t)
  const seed = Math.trunc(Math.random() * 2 ** 30)
  t.ok(collections.length >= 35, `${collections.length} collections`)
  let [computed, queries] = [0, 0]
  for (const record of collections) {
    const compared = await sites.compare(record, QUERIES_PER_COLLECTION, seed)
    t.strictSame(compared.differences, [], `${compared.path}, seed ${seed}`)
    computed += compared.computed
    queries += compared.queries
  }
  t.ok(computed > queries / 10, `${computed} of ${queries} queries are answered from snapshots, seed ${seed}`)
  for (const plant of PLANTS) {
    const record = collections.find(({ path }) => path === plant.path)
    if (record === undefined) throw new Error(`${plant.path} has no snapshot`)
    let found = 0
    for (let batch = 0; batch < MAX_BATCHES && found === 0; batch++)
      found = (await sites.compare(record, QUERIES_PER_BATCH, seed + batch, plant)).differences.length
    t.ok(found > 0, `${plant.path}: ${plant.fault}, seed ${seed}`)
  }
})
