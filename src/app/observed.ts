/** What is observed of requests, calls and nodes: from the first one on, so it is created before anything serves. */
import { isDeepStrictEqual } from 'node:util'
import { readMemory } from '../replicas/memory.ts'
import type { RedisReplica } from '../replicas/replica.ts'
import { type CapacityMonitor, createCapacityMonitor } from '../status/capacity.ts'
import type { RedisCapacity } from '../status/problem-types.ts'
import { createQueueTrends } from '../status/queue-trends.ts'
import { createRecentErrors } from '../status/recent-errors.ts'
import type { Replicas } from '../status/replicas.ts'
import { createServedInOutage } from '../status/served-in-outage.ts'
import { RequestCounts } from '../telemetry/events.ts'
import type { Cluster } from '../upstream/index.ts'
import type { Api } from './api.ts'
import type { Base } from './base.ts'

/** Parts that earlier ones call, once they exist. */
export interface LaterParts {
  api?: Api
  replicas?: Replicas | undefined
}

export type Observed = ReturnType<typeof observeTraffic>

export function observeTraffic(
  { settings, events: { on, emit } }: Pick<Base, 'settings' | 'events'>,
  cluster: Pick<Cluster, 'status' | 'outageFor'>,
) {
  const counts = new RequestCounts()
  const errors = createRecentErrors()
  const outage = createServedInOutage(() => cluster.outageFor() !== undefined)
  const queues = createQueueTrends(cluster.status)
  for (const listeners of [counts, errors, outage]) on(listeners)
  settings.onReload((next) => {
    const isChanged = !isDeepStrictEqual(next, settings.current())
    return isChanged ? () => emit.operation({ kind: 'reload' }) : () => undefined
  })
  return { counts, errors, outage, queues }
}

/** Connects the view of the cache's capacity with the store and Redis. */
export function watchCapacity(
  { cache: { index, enabled }, storeState }: Pick<Api, 'cache' | 'storeState'>,
  replica: RedisReplica | undefined,
  interval: number | undefined,
): CapacityMonitor {
  const readRedis = async (redis: RedisReplica): Promise<RedisCapacity> => {
    const memory = await readMemory(redis)
    if (memory === undefined) return {}
    const counts = await index.count()
    return { memory, entries: [...counts.values()].reduce((sum, count) => sum + count, 0) }
  }
  const sources = {
    ...(enabled && storeState && { local: () => storeState().local }),
    ...(replica && { readRedis: () => readRedis(replica) }),
  }
  return createCapacityMonitor(sources, interval)
}
