import type { Test } from 'tap'
import t from 'tap'
import { cacheOperations } from '../../../src/cache/operations.ts'
import { createMemoryStore } from '../../../src/cache/stores/memory-store.ts'
import type { CacheIndex } from '../../../src/core/cache-index.ts'
import { bodyOf, edgeRequest, lifetimes } from '../../support/edge-requests.ts'
import { startRedis } from '../../support/redis.ts'
import { fill, type Store } from './stores/contract.ts'
import { writeRows } from './stores/many-rows.ts'
import { replica } from './stores/replicas.ts'

const MANY = 100_000
const FEW = 5
/** The work for a hundred thousand entries may cost this many times that for a thousand. Without an index it is 100. */
const MAX_RATIO = 5
const MAX_PAGE_MS = 50

interface Case {
  readonly index: CacheIndex & Store
  /** CPU milliseconds of this process and of Redis. */
  cpu(): Promise<number>
}

async function inMemory(_t: Test, entries: number): Promise<Case> {
  const index = createMemoryStore({ bytes: () => 1 << 30 })
  for (let at = 0; at < entries; at += 1) {
    const id = String(at).padStart(6, '0')
    await fill(index, id, { key: `key-${id}`.padEnd(43, '0'), tags: ['cache', 'cache:agents', `agent:${id}`] })
  }
  return { index, cpu: async () => ownCpu() }
}

async function inRedis(t: Test, entries: number): Promise<Case> {
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const { store } = await replica(t, redis, { times: { commandTimeout: 5000, bulkTimeout: 10_000 } })
  await writeRows(redis, store, entries)
  const client = redis.client()
  const cpu = async () => {
    const info = await client.info('cpu')
    const [user = 0, system = 0] = ['user', 'sys'].map((kind) =>
      Number(new RegExp(`used_cpu_${kind}:([\\d.]+)`).exec(info)?.[1]),
    )
    return ownCpu() + (user + system) * 1000
  }
  return { index: store, cpu }
}

function ownCpu(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/** Returns the least CPU time of some runs, since the first ones compile. */
async function cost(cpu: Case['cpu'], work: (run: number) => unknown): Promise<number> {
  const costs: number[] = []
  for (let run = 0; run < 6; run += 1) {
    const before = await cpu()
    await work(run)
    costs.push((await cpu()) - before)
  }
  return Math.min(...costs)
}

async function addGroup(index: Store): Promise<void> {
  for (let at = 0; at < FEW; at += 1) {
    await fill(index, `${at}`, {
      key: `few-${at}`.padEnd(43, '0'),
      group: 'rules',
      tags: ['cache', 'cache:rules', 'rules'],
    })
  }
}

/** CPU milliseconds of each operation with this many entries in another group. */
async function costs(t: Test, make: typeof inMemory, entries: number) {
  const { index, cpu } = await make(t, entries)
  const shown = {
    enabled: true,
    defaultDuration: () => 750,
    lifetimesOf: () => lifetimes,
    sharedThroughRedis: false,
  } as const
  const operations = cacheOperations({ index, ...shown })
  const minimal = { returnMinimal: true } as const
  const list = (offset: number) => async () => {
    const query = { details: 'true', offset: `${offset}`, limit: '100' }
    const { data } = bodyOf(await operations.cacheIndex(edgeRequest('GET /cache', { query }))) as {
      data: { items: object[]; totalItems: number }
    }
    t.equal(data.items.length, 100)
    t.equal(data.totalItems, entries)
  }
  const found = {
    'the first page': await cost(cpu, list(0)),
    'the last page': await cost(cpu, list(entries - 100)),
    'a purge of a group of five': await cost(cpu, async () => {
      await addGroup(index)
      const request = edgeRequest('DELETE /cache/:group', { params: { group: 'rules' }, ...minimal })
      const response = await operations.cacheClearGroup(request)
      t.strictSame(bodyOf(response).data, { all: entries, groups: { agents: entries } })
    }),
    'a preview and a purge of one key': await cost(cpu, async (run) => {
      const key = `key-${String(run).padStart(6, '0')}`.padEnd(43, '0')
      await operations.cacheClear(edgeRequest('DELETE /cache', { query: { key, preview: 'true' } }))
      const response = await operations.cacheClear(edgeRequest('DELETE /cache', { query: { key }, ...minimal }))
      t.strictSame(bodyOf(response).data, { all: entries - run - 1, groups: { agents: entries - run - 1 } })
    }),
  }
  return found
}

for (const [where, make] of Object.entries({ memory: inMemory, Redis: inRedis })) {
  t.test(`${where}: pages of details and purges cost what is asked, not what is stored`, async (t) => {
    const small = await costs(t, make, 1000)
    const large = await costs(t, make, MANY)
    for (const [name, ms] of Object.entries(large)) {
      const before = small[name as keyof typeof small]
      const figures = `${name}: ${ms.toFixed(1)} ms of CPU time with ${MANY} entries, ${before.toFixed(1)} ms with 1,000`
      t.comment(figures)
      // A few milliseconds are within the noise.
      t.ok(ms < Math.max(MAX_RATIO * before, MAX_PAGE_MS), figures)
    }
  })
}
