/** What the console records of requests, from the events of the edge. */
import type { ConsoleCosts } from './costs.ts'
import type { ConsoleHistory } from './history.ts'
import type { LiveTail } from './live-tail.ts'
import type { RequestRecords } from './request-records.ts'
import type { RecentJoins, Traffic } from './traffic.ts'

export interface Recorders {
  readonly traffic: Traffic
  readonly history: Pick<ConsoleHistory, 'read'>
  readonly costs: Pick<ConsoleCosts, 'read'>
  readonly tail: LiveTail
  readonly records: Pick<RequestRecords, 'find'>
  readonly joins: Pick<RecentJoins, 'last'>
}
