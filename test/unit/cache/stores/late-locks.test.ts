/** Redis may carry out commands long after their time limits. What it takes then must not hold up later requests. */
import t from 'tap'
import { Locks } from '../../../../src/cache/stores/locks.ts'
import type { RedisConnection } from '../../../../src/replicas/connection.ts'
import type { RedisReplica } from '../../../../src/replicas/replica.ts'
import { eventually } from '../../../support/eventually.ts'
import { startRedis } from '../../../support/redis.ts'
import { entry, epochsOf } from './contract.ts'
import { replica, shortTimes } from './replicas.ts'

const server = await startRedis()
t.teardown(() => server.close())
const LEASE_MS = 3_600_000
/** Longer than what Redis reads from a connection before it learns that the connection was closed. */
const LONG = 'x'.repeat(1_000_000)

t.test('a fetch lock that Redis takes after a stall, without its release, is released by its replica', async (t) => {
  const { store, events } = await replica(t, server, {
    times: { ...shortTimes, commandTimeout: 200, socketTimeout: 600 },
  })
  const { store: other } = await replica(t, server)
  const [epochs, ofLong] = [await epochsOf(store), await epochsOf(store, 'long')]
  server.pause()
  const acquired = store.acquireFetchLock('k', epochs, LEASE_MS)
  // Between the lock and its release.
  void store.store(entry(LONG, ofLong, { key: 'long' }))
  t.match(await acquired, { held: true }, 'without Redis, the replica is alone')
  await eventually(() => events.includes('unreachable'))
  server.resume()
  await eventually(() => events.includes('reachable'))
  await eventually(async () => (await other.acquireFetchLock('k', epochs, LEASE_MS)).held)
})

t.test('releases that Redis never confirms are a bounded number with each heartbeat', async (t) => {
  const beats: (() => void)[] = []
  let releases = 0
  const failed = { ok: false, error: 'CLUSTERDOWN' } as const
  const connection = {
    send: async () => failed,
    runScript: async () => {
      releases += 1
      return failed
    },
  }
  const locks = new Locks(
    {
      contact: { isTrusted: true, isUp: true, reportReply: () => undefined },
      times: { commandTimeout: 100, bulkTimeout: 100 },
      heartbeat: { onBeat: (listener: () => void) => void beats.push(listener) },
    } as unknown as RedisReplica,
    connection as unknown as RedisConnection,
  )
  for (let at = 0; at < 3000; at += 1) await locks.acquire(`lock ${at}`, LEASE_MS)
  for (let beat = 0; beat < 3; beat += 1) {
    releases = 0
    for (const listener of beats) listener()
    await new Promise(setImmediate)
    t.ok(releases > 0 && releases <= 1000, `${releases}`)
  }
})
