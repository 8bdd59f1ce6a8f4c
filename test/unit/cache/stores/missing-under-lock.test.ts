/** A fetch lock shows whether a response was stored after the lookup, so that a miss is looked up once. */
import { randomUUID } from 'node:crypto'
import t from 'tap'
import type { Lock } from '../../../../src/cache/stores/contract.ts'
import { eventually } from '../../../support/eventually.ts'
import { startRedis } from '../../../support/redis.ts'
import { fill } from './contract.ts'
import { replica } from './replicas.ts'

const server = await startRedis()
t.teardown(() => server.close())
const times = { commandTimeout: 5000, lease: 120_000 }
const { store } = await replica(t, server, { times })
const { store: other } = await replica(t, server, { times })

/** Looks up a new key, and takes its fetch lock after `between`. */
async function lockOfMiss(between: (key: string) => Promise<void> = async () => {}): Promise<Lock> {
  const key = randomUUID()
  const lookup = await store.lookup(key, ['cache'])
  if (lookup.kind !== 'miss') throw new Error(lookup.kind)
  await between(key)
  return store.acquireFetchLock(key, lookup.epochs, 1000)
}

t.test('nothing was stored meanwhile', async (t) => {
  // On a busy machine, the lookup may be too old.
  await eventually(async () => {
    const lock = await lockOfMiss()
    return lock.held && lock.isMissing === true
  }, 60_000)
  t.pass()
})

t.test('another replica has stored the response between the lookup and the lock', async (t) => {
  const lock = await lockOfMiss((key) => fill(other, 'text', { key, tags: ['cache'] }))
  t.match(lock, { held: true, isMissing: false })
})
