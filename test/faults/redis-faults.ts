/** What can become of Redis under load. Each ends with Redis as it should be; `time`: milliseconds that it is not. */
import { randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { authorization } from './coherence/processes.ts'
import type { ClusterStage, SentinelStage, SingleStage } from './redis-stage.ts'

/** To a single server. */
export const faults = {
  killed: async ({ redis }, time) => {
    await redis.kill()
    await wait(time)
    await redis.restart()
  },
  paused: async ({ redis }, time) => {
    redis.pause()
    await wait(time)
    redis.resume()
  },
  flushed: async ({ redis }, time) => {
    const client = redis.client()
    for (const until = performance.now() + time; performance.now() < until; await wait(200)) await client.flushall()
  },
  full: async ({ redis }, time) => {
    const client = redis.client()
    await client.config('SET', 'maxmemory', '1')
    await wait(time)
    await client.config('SET', 'maxmemory', '0')
  },
  garbage: async ({ redis, replicas }, time) => {
    const client = redis.client()
    for (const until = performance.now() + time; performance.now() < until; await wait(200)) {
      for (const key of await client.keys('edge:c:*')) await client.set(key, randomBytes(1 + (key.length % 97)))
      // After a write nobody has a near copy, so all look into Redis.
      const put = { method: 'PUT', headers: { authorization } }
      await Promise.all(replicas.map(({ url }, at) => fetch(`${url}/agents/00${at + 1}/group/web`, put)))
    }
  },
} satisfies Record<string, (stage: SingleStage, time: number) => Promise<void>>

export type FaultName = keyof typeof faults

/** The primary dies with all that its replica does not have: what it took in `time` milliseconds before. Only once. */
export async function failOver({ group }: SentinelStage, time: number): Promise<void> {
  group.replica.pause()
  await wait(time)
  await group.primary.kill()
  group.replica.resume()
  await group.failedOver()
}

/** Slots change their master one after the other: of an entry, of the index, of revocations, and of epochs and fences. */
export async function moveSlots({ cluster }: ClusterStage, time: number): Promise<void> {
  const clients = cluster.nodes.map((node) => node.client())
  const until = performance.now() + time
  for (let turn = 1; performance.now() < until || turn <= 2; turn += 1) {
    const entries = (await Promise.all(clients.map((client) => client.keys('edge:c:*')))).flat()
    const names = [...entries.slice(0, 3), 'edge:i:{agents}', 'edge:{a}:revoked', 'edge:{e}']
    for (const name of names) {
      const slot = Number(await clients[0]?.cluster('KEYSLOT', name))
      await cluster.moveSlot(slot, turn % clients.length)
    }
    await wait(200)
  }
}
