/** What the console records of requests, from the events of the edge. */
import type { EdgeView } from '../../../src/status/edge-view.ts'
import { CallerCounts } from './caller-counts.ts'
import { ConsoleCosts } from './costs.ts'
import { ConsoleHistory } from './history.ts'
import { createLiveTail, type LiveTail } from './live-tail.ts'
import { readReplicas } from './reported-replicas.ts'
import { RequestRecords } from './request-records.ts'
import { createRecentJoins, createTraffic, type RecentJoins, type Traffic } from './traffic.ts'

export interface Recorders {
  readonly traffic: Traffic
  readonly history: Pick<ConsoleHistory, 'read'>
  readonly costs: Pick<ConsoleCosts, 'read'>
  readonly tail: LiveTail
  readonly records: Pick<RequestRecords, 'find'>
  readonly joins: Pick<RecentJoins, 'last'>
  /** To be called when an operator uses the console: records the stages of the requests of the next minutes. */
  recordStages(): void
}

/** To record the stages of a miss costs as much CPU time as its checks, and only operators read them. */
const STAGES_MS = 10 * 60_000

/** Records from now on, and adds to the report of this replica, until `close`. */
export function createRecorders({ name, cluster, events, report }: EdgeView): Recorders & { close(): void } {
  const { requests, totals } = events
  const traffic = createTraffic({ totals, requests })
  const records = new RequestRecords(requests)
  const tail = createLiveTail(records)
  const joins = createRecentJoins()
  const history = new ConsoleHistory({ name, rates: traffic.rates, others: readReplicas(cluster) })
  const callers = new CallerCounts()
  const costs = new ConsoleCosts(requests, callers)
  const ends = [traffic, records, joins, history, callers].map((listeners) => events.on(listeners))
  let timer: NodeJS.Timeout | undefined
  const recordStages = (): void => {
    timer ??= setTimeout(() => events.recordStages(undefined), STAGES_MS).unref()
    timer.refresh()
    events.recordStages(records.recordStages)
  }
  report({ rates: traffic.rates, joined: joins.last, costs, events: history })
  const close = (): void => {
    for (const end of ends) end()
    clearTimeout(timer)
    events.recordStages(undefined)
    tail.close()
    records.close()
    traffic.stop()
    history.stop()
  }
  const read: Recorders['history']['read'] = (query) => {
    requests.drain()
    return history.read(query)
  }
  return { traffic, tail, records, joins, history: { read }, costs, recordStages, close }
}
