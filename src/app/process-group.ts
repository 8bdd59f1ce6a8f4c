/** What a process of an edge with several processes needs of the others (`listen.processes`). */
import type { RequestDetails } from '../admin/console/request-types.ts'
import type { Readiness } from '../admin/readiness.ts'
import type { ProcessMetrics } from '../telemetry/metrics/sum.ts'

export interface ProcessGroup {
  /** Returns the metrics of all processes as text. Rejects if the supervisor does not answer. */
  metrics(): Promise<string>
  /** Returns whether balancers should send requests to the processes together, given the readiness of this one. */
  readiness(own: Readiness): Readiness
  /** Returns the details of a request that another process served; `undefined`: none of them has a record. */
  findRequest(id: string): Promise<RequestDetails | undefined>
  /** Receives the last metrics of this process, when no request can change them any more. */
  onClose(metrics: ProcessMetrics): Promise<void>
}
