/** What a miss costs in Redis while no other replica is registered, and what changes when one is. */
import t from 'tap'
import { eventually } from '../../../support/eventually.ts'
import { startRedis } from '../../../support/redis.ts'
import { recordCommands } from '../../../support/redis-monitor.ts'
import { entry, epochsOf, fill, served, TAGS } from './contract.ts'
import { replica } from './replicas.ts'

const times = { lease: 120_000, heartbeatInterval: 60_000 }

t.test('a lone replica sends no command for the fetch lock of a miss', async (t) => {
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const { store } = await replica(t, redis, { times })
  await fill(store, 'text', { key: 'first' })
  let key = 'k'
  await eventually(async () => {
    key += 'k'
    const commands = await recordCommands(redis.port, async () => {
      const epochs = await epochsOf(store, key)
      const lock = await store.acquireFetchLock(key, epochs, 5000)
      t.match(lock, { held: true, isMissing: true })
      t.match(await store.acquireFetchLock(key, epochs, 5000), { held: false }, 'equal fetches of the replica share it')
      await store.store(entry('text', epochs, { key }))
      if (lock.held) await lock.release()
    })
    // The row of the entry is sent later, together with others.
    const sent = commands
      .filter(({ isFromScript, words }) => !isFromScript && !words.includes('edge:i:{agents}'))
      .map(({ words }) => words[0] ?? '')
    // On a busy machine, the epochs may be too old, and the lock is shared then.
    return sent.sort().join(' ') === 'evalsha evalsha evalsha'
  })
  t.equal(await served(store, key), 'text')
})

t.test('a replica is registered when it has started: from then on, the others share fetch locks with it', async (t) => {
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const { store } = await replica(t, redis, { times })
  const { store: other } = await replica(t, redis, { times })
  const lock = await store.acquireFetchLock('k', await epochsOf(store, 'k', TAGS), 5000)
  t.match(await other.acquireFetchLock('k', await epochsOf(other, 'k', TAGS), 5000), { held: false })
  if (lock.held) await lock.release()
  await other.close()
})
