import t from 'tap'
import { measureBestRun } from '../../../support/event-loop.ts'
import { startRedis } from '../../../support/redis.ts'
import { describeStore, entry, epochsOf, fill, hitOf, served, TAGS } from './contract.ts'
import { empty, replica, steady } from './replicas.ts'

/** CPU milliseconds: less than the bound of src/core/turns.ts. */
const MAX_TURN_MS = 12

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

/** Longer than a part, and not of equal parts. */
const long = {
  body: Buffer.concat(
    Array.from({ length: 60_001 }, (_, at) => Buffer.from(`row ${at} of a long response\n`.repeat(9))),
  ),
}

for (const encryptionKey of [undefined, Buffer.from('a key of a test')]) {
  t.test(`a long response is stored in parts${encryptionKey ? ', encrypted' : ''}`, async (t) => {
    const { one, other } = await over({ localBytes: () => 0, ...(encryptionKey && { encryptionKey }) })(t)
    const client = server.client()
    const partsOf = async () => (await client.keys('edge:p:*')).sort()
    const lookedUp = async () => hitOf(await other.lookup('k', TAGS)).body.equals(long.body)
    await fill(one, 'long', { more: long })
    t.ok(await lookedUp())
    const parts = await partsOf()
    t.ok(parts.length > 10)
    for (const key of ['edge:c:2:k', ...parts]) t.ok((await client.strlen(key)) < 1.1 * 1024 * 1024, key)
    t.ok((await Promise.all(parts.map((key) => client.pttl(key)))).every((left) => left > 0))

    await client.del(parts[3] ?? '')
    t.equal(await served(other), 'miss', 'without one of its parts')
    await fill(one, 'long', { more: long })
    const older = await client.getBuffer(parts[3] ?? '')
    await fill(one, 'long again', { more: long })
    await client.set(parts[3] ?? '', older ?? '', 'KEEPTTL')
    t.equal(await served(other), 'miss', 'with a part of another response')
    await fill(one, 'long', { more: long })
    t.ok(await lookedUp())
    await fill(one, 'short')
    t.equal(await served(other), 'short')
  })
}

t.test('a purge by key leaves nothing of a long response in Redis, and all of others', async (t) => {
  const { one, other } = await over({ localBytes: () => 0 })(t)
  const client = server.client()
  await fill(one, 'long', { more: long, key: 'other' })
  const before = (await client.keys('edge:[cp]:*')).sort()
  await fill(one, 'long', { more: long })
  t.ok((await client.keys('edge:p:*')).length > 20)
  await other.purge({ keys: ['k'] })
  t.strictSame((await client.keys('edge:[cp]:*')).sort(), before)
})

t.test('a long response takes no long turn of the event loop', async (t) => {
  const { one, other } = await over({ localBytes: () => 0 })(t)
  const largest = { body: Buffer.alloc(24 * 1024 * 1024, 'x') }
  const writing = await measureBestRun(() => fill(one, 'largest', { more: largest }), MAX_TURN_MS)
  t.ok(writing < MAX_TURN_MS, `written: ${writing.toFixed(1)} ms`)
  const reading = await measureBestRun(() => other.lookup('k', TAGS), MAX_TURN_MS)
  t.ok(reading < MAX_TURN_MS, `read: ${reading.toFixed(1)} ms`)
  t.equal(hitOf(await other.lookup('k', TAGS)).body.length, largest.body.length)
})
