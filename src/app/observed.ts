/** What operators are shown of requests, calls and nodes: from the first one on, so it is created before anything serves. */
import { isDeepStrictEqual } from 'node:util'
import { CallerCounts } from '../admin/console/caller-counts.ts'
import { ConsoleCosts } from '../admin/console/costs.ts'
import { ConsoleHistory } from '../admin/console/history.ts'
import { createLiveTail } from '../admin/console/live-tail.ts'
import { RequestRecords } from '../admin/console/request-records.ts'
import { createRecentJoins, createTraffic } from '../admin/console/traffic.ts'
import { readMemory } from '../replicas/memory.ts'
import type { RedisReplica } from '../replicas/replica.ts'
import { type CapacityMonitor, createCapacityMonitor } from '../status/capacity.ts'
import type { RedisCapacity } from '../status/problem-types.ts'
import { createQueueTrends } from '../status/queue-trends.ts'
import { createRecentErrors } from '../status/recent-errors.ts'
import type { Replicas } from '../status/replicas.ts'
import { createServedInOutage } from '../status/served-in-outage.ts'
import { type EdgeEvents, RequestCounts } from '../telemetry/events.ts'
import type { Cluster } from '../upstream/index.ts'
import type { Api } from './api.ts'
import type { Base } from './base.ts'

/** Parts that earlier ones call, once they exist. */
export interface LaterParts {
  api?: Api
  replicas?: Replicas | undefined
}

export type Observed = ReturnType<typeof observeTraffic>

export function observeTraffic(base: Base, cluster: Cluster, later: LaterParts) {
  const { settings, name, events, replica } = base
  const counts = new RequestCounts()
  const monitors = createMonitors(events, cluster, counts)
  const others = replica && (() => later.replicas?.others())
  const history = new ConsoleHistory({ name, rates: monitors.traffic.rates, others })
  events.on(history)
  settings.onReload((next) => {
    const isChanged = !isDeepStrictEqual(next, settings.current())
    return isChanged ? () => history.recordEvent({ kind: 'reload' }) : () => undefined
  })
  const callers = new CallerCounts()
  events.on(callers)
  const costs = new ConsoleCosts(events.requests, callers)
  return { counts, monitors, history, costs }
}

/** What the console shows of requests and calls. `counts`: counts requests when the traffic passes them on. */
export function createMonitors(
  { on, requests }: Pick<EdgeEvents, 'on' | 'requests'>,
  cluster: Pick<Cluster, 'status' | 'outageFor'>,
  counts: RequestCounts,
) {
  const traffic = createTraffic({ counts, requests })
  const records = new RequestRecords(requests)
  const tail = createLiveTail(records)
  const joins = createRecentJoins()
  const errors = createRecentErrors()
  const outage = createServedInOutage(() => cluster.outageFor() !== undefined)
  const queues = createQueueTrends(cluster.status)
  const unsubscribes = [on(traffic), on(records), on(joins), on(errors), on(outage)]
  const close = (): void => {
    for (const unsubscribe of unsubscribes) unsubscribe()
    tail.close()
    records.close()
    queues.stop()
  }
  return { traffic, tail, joins, errors, outage, records, queues, close }
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
