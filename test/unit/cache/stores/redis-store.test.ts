import t from 'tap'
import { startRedis } from '../../../support/redis.ts'
import { describeStore, entry, epochsOf, served } from './contract.ts'
import { empty, replica, steady } from './replicas.ts'

const server = await startRedis()
t.teardown(() => server.close())

/** Makes stores over an empty Redis for each subtest. */
function over(options: Parameters<typeof replica>[2]) {
  return async (t: Parameters<typeof replica>[0]) => {
    await empty(server.client())
    const open = () => replica(t, server, { ...options, times: steady })
    const [one, other] = await Promise.all([open(), open()])
    return { one: one.store, other: other.store }
  }
}

t.test('without a local tier', async (t) => describeStore(t, over({ localBytes: () => 0 })))
t.test('with a local tier, encrypted', async (t) =>
  describeStore(t, over({ encryptionKey: Buffer.from('a key of a test') })),
)

t.test('a response replaces a longer one that is still being encoded', async (t) => {
  const { one, other } = await over({ localBytes: () => 0, encryptionKey: Buffer.from('a key of a test') })(t)
  const epochs = await epochsOf(one)
  const long = { body: Buffer.alloc(10 * 1024 * 1024) }
  await Promise.all([one.store(entry('older', epochs, { more: long })), one.store(entry('v4', epochs))])
  t.equal((await served(other)).slice(0, 10), 'v4')
})
