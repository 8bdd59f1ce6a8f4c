/**
 * Faults of Redis. Each leaves Redis in its normal state after `time` milliseconds. The waits here are the duration of
 * the fault, or the interval at which it is repeated; nothing is expected at their end.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { authorization } from './coherence/processes.ts'
import type { ClusterStage, SentinelStage, SingleStage } from './redis-stage.ts'

/** Faults of a single server. */
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
      for (const key of await client.keys('edge:[cp]:*')) await client.set(key, randomBytes(1 + (key.length % 97)))
      // After a write no local tier has the entries, so that all lookups go to Redis.
      const put = { method: 'PUT', headers: { authorization } }
      await Promise.all(replicas.map(({ url }, at) => fetch(`${url}/agents/00${at + 1}/group/web`, put)))
    }
  },
} satisfies Record<string, (stage: SingleStage, time: number) => Promise<void>>

export type FaultName = keyof typeof faults

/** Kills the primary, which has not replicated its data for `time` milliseconds. Once per stage. */
export async function failOver({ group }: SentinelStage, time: number): Promise<void> {
  group.replica.pause()
  await wait(time)
  await group.primary.kill()
  group.replica.resume()
  await group.failedOver()
}

/** Moves slots to other masters one after the other: of entries, of the index, of revocations, of the epochs. */
export async function moveSlots({ cluster }: ClusterStage, time: number): Promise<void> {
  const clients = cluster.nodes.map((node) => node.client())
  const until = performance.now() + time
  for (let turn = 1; performance.now() < until || turn <= 2; turn += 1) {
    const entries = (await Promise.all(clients.map((client) => client.keys('edge:[cp]:*')))).flat()
    const names = [...entries.slice(0, 3), 'edge:i:{agents}', 'edge:{a}:revoked', 'edge:{e}']
    for (const name of names) {
      const slot = Number(await clients[0]?.cluster('KEYSLOT', name))
      await cluster.moveSlot(slot, turn % clients.length)
    }
    await wait(200)
  }
}
