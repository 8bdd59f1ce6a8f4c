/** A purge beside a store of another replica. The rows of the index follow their entries: none may follow the purge. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { startRedis } from '../../../support/redis.ts'
import { entry, epochsOf } from './contract.ts'
import { replica, steady } from './replicas.ts'

const ROUNDS = 30
const KEYS_PER_ROUND = 20

const server = await startRedis()
t.teardown(() => server.close())
const client = server.client()

for (const scope of ['keys', 'group'] as const) {
  t.test(`a purge by ${scope} leaves no row of a response that another replica stores meanwhile`, async (t) => {
    const [{ store: one }, { store: other }] = [
      await replica(t, server, { times: steady }),
      await replica(t, server, { times: steady }),
    ]
    const left: string[] = []
    for (let round = 0; round < ROUNDS; round += 1) {
      const keys = Array.from({ length: KEYS_PER_ROUND }, (_, at) => `${scope}-${round}-${at}`)
      const before = await Promise.all(keys.map(async (key) => ({ key, epochs: await epochsOf(one, key) })))
      const storing = before.map(async ({ key, epochs }, at) => {
        await sleep(at % 5)
        await one.store(entry('text', epochs, { key }))
      })
      await sleep(round % 8)
      await other.purge(scope === 'keys' ? { keys } : { group: 'agents' })
      await Promise.all(storing)
      // Writes the rows that wait.
      await one.count()
      left.push(...(await client.hkeys('edge:i:{agents}:rows')))
    }
    t.same(left, [], 'Redis has no row')
  })
}
