/**
 * A purge while the connections of another replica to Redis are slow, each in another way: the rows that it has sent arrive
 * before its acknowledgement, so none of them follows the purge.
 */
import t from 'tap'
import { startFaultProxy } from '../../../faults/proxy.ts'
import { startRedis } from '../../../support/redis.ts'
import { entry, epochsOf } from './contract.ts'
import { replica, sleep, steady } from './replicas.ts'

const ROUNDS = 40
const KEYS_PER_ROUND = 10
/** Milliseconds. */
const MAX_DELAY = 40

const server = await startRedis()
t.teardown(() => server.close())
const client = server.client()
const proxy = await startFaultProxy(server.port)
t.teardown(() => proxy.close())

for (const scope of ['keys', 'group'] as const) {
  t.test(`a purge by ${scope} leaves no row that another replica sends over a slow link`, async (t) => {
    const { store: one } = await replica(t, { url: `redis://127.0.0.1:${proxy.port}` }, { times: steady })
    const { store: other } = await replica(t, server, { times: steady })
    await proxy.set({ kind: 'link', toTarget: { jitter: MAX_DELAY } })
    const left: string[] = []
    for (let round = 0; round < ROUNDS; round += 1) {
      const keys = Array.from({ length: KEYS_PER_ROUND }, (_, at) => `${scope}-${round}-${at}`)
      const before = await Promise.all(keys.map(async (key) => ({ key, epochs: await epochsOf(one, key) })))
      const storing = before.map(({ key, epochs }) => one.store(entry('text', epochs, { key })))
      await sleep((round * 7) % (2 * MAX_DELAY))
      await other.purge(scope === 'keys' ? { keys } : { group: 'agents' })
      await Promise.all(storing)
      // Writes the rows that wait.
      await one.count()
      const rows = await client.hkeys('edge:i:{agents}:rows')
      left.push(...rows.filter((key) => keys.includes(key)))
    }
    await proxy.set({ kind: 'pass' })
    t.same(left, [], 'Redis has no row')
  })
}
