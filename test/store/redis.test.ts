import t from 'tap'
import { startRedis } from '../redis.ts'
import { contract } from './contract.ts'
import { replica } from './replicas.ts'

const server = await startRedis()
t.teardown(() => server.close())

/** Stores over an empty Redis for each subtest. */
function over(options: Parameters<typeof replica>[2]) {
  return async (t: Parameters<typeof replica>[0]) => {
    const [one, other] = await Promise.all([replica(t, server, options), replica(t, server, options)])
    // A flushed Redis would have the first write of each subtest wait for a lease.
    await one.store.drop({})
    return { one: one.store, other: other.store }
  }
}

t.test('without a near copy', async (t) => contract(t, over({ nearBytes: 0 })))
t.test('with a near copy, sealed', async (t) => contract(t, over({ encryptionKey: Buffer.from('a key of a test') })))
