/** Replicas of the store over one Redis, with short leases, closed with the test. */
import type { Redis } from 'ioredis'
import type { Test } from 'tap'
import type { RedisStore } from '../../../../src/cache/stores/redis-store.ts'
import type { StoreEvent } from '../../../../src/redis/options.ts'
import type { RedisServer } from '../../../support/redis.ts'
import { type OpenStoreOptions, openRedisStore } from '../../../support/redis-store.ts'

export interface Replica {
  readonly store: RedisStore
  /** What it said of itself, in order. */
  readonly events: StoreEvent[]
}

/** Shorter than in the field but for the time of a step, since machines that run tests are busy. */
export const shortTimes = {
  lease: 600,
  heartbeatInterval: 100,
  retryInterval: 30,
  socketTimeout: 3000,
  commandTimeout: 1000,
}

export async function replica(
  t: Test,
  redis: RedisServer | OpenStoreOptions['redis'],
  more: Partial<OpenStoreOptions> = {},
): Promise<Replica> {
  const events: StoreEvent[] = []
  const { times, ...others } = more
  const store = await openRedisStore({
    redis: 'pid' in redis ? { url: redis.url } : redis,
    localBytes: 10_000_000,
    times: { ...shortTimes, ...times },
    onEvent: (event) => events.push(event),
    ...others,
  })
  t.teardown(() => store.close())
  return { store, events }
}

/** Nothing is kept any more. Epochs stay: in a flushed Redis the first write of all waits for a lease. */
export async function empty(...clients: readonly Redis[]): Promise<void> {
  for (const client of clients) {
    const keys = await client.keys('edge:*')
    await Promise.all(keys.filter((key) => !key.startsWith('edge:{e}')).map((key) => client.del(key)))
  }
}

/** Resolves as soon as the condition holds; rejects after `patience` milliseconds. */
export async function eventually(holds: () => boolean | Promise<boolean>, patience = 10_000): Promise<void> {
  const begin = performance.now()
  while (!(await holds())) {
    if (performance.now() - begin > patience) throw new Error('it never came')
    await sleep(10)
  }
}

export function sleep(time: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, time))
}
