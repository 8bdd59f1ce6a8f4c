/** Stores over one Redis with short leases, closed at the end of the test. */
import type { Redis } from 'ioredis'
import type { Test } from 'tap'
import type { RedisStore } from '../../../../src/cache/stores/redis-store.ts'
import type { StoreEvent } from '../../../../src/core/events.ts'
import type { RedisTimes } from '../../../../src/replicas/options.ts'
import { describeStoreFailure } from '../../../../src/replicas/store-status.ts'
import type { RedisServer } from '../../../support/redis.ts'
import { type OpenStoreOptions, openRedisStore } from '../../../support/redis-store.ts'

export interface Replica {
  readonly store: RedisStore
  /** The events of the store and its replica, in order. */
  readonly events: StoreEvent[]
  /** Why Redis was slow or unreachable, in words. */
  readonly reasons: string[]
}

/** Shorter than in production, except the command timeout: machines that run tests are busy. */
export const shortTimes = {
  lease: 600,
  heartbeatInterval: 100,
  retryInterval: 30,
  socketTimeout: 5000,
  commandTimeout: 3000,
}

/** For tests in which no lease ends: on busy cores, a short one would, and nothing is stored then. */
export const steady: Partial<RedisTimes> = { lease: 4000 }

/** Options that differ from those of the tests. */
export type ReplicaOptions = Partial<Omit<OpenStoreOptions, 'times'>> & { readonly times?: Partial<RedisTimes> }

export async function replica(
  t: Test,
  redis: RedisServer | OpenStoreOptions['redis'],
  more: ReplicaOptions = {},
): Promise<Replica> {
  const events: StoreEvent[] = []
  const reasons: string[] = []
  const { times, ...others } = more
  const store = await openRedisStore({
    redis: 'pid' in redis ? { url: redis.url } : redis,
    localBytes: () => 10_000_000,
    times: { ...shortTimes, ...times },
    onEvent: (event, error) => {
      events.push(event)
      if (error !== undefined) reasons.push(describeStoreFailure(error))
    },
    ...others,
  })
  t.teardown(() => store.close())
  return { store, events, reasons }
}

/** Deletes all keys except the epochs: after a flush, the first write would wait for a lease. */
export async function empty(...clients: readonly Redis[]): Promise<void> {
  for (const client of clients) {
    const keys = await client.keys('edge:*')
    const others = keys.filter((key) => !key.startsWith('edge:{e}'))
    // A node that has lost a slot to another one still lists its keys for a moment.
    await Promise.all(others.map((key) => client.del(key).catch(ignoreMoved)))
  }
}

function ignoreMoved(error: Error): void {
  if (!error.message.startsWith('MOVED')) throw error
}

export function sleep(time: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, time))
}
