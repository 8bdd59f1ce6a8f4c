/** Which program this is, the name of this process among the replicas, and what it needs of the other processes. */
import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import type { RequestDetails } from '../admin/console/request-types.ts'
import type { Readiness } from '../admin/readiness.ts'
import type { Config } from '../config/schema.ts'
import type { ProcessMetrics } from '../telemetry/metrics/sum.ts'

const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')

/** The version and description in package.json. */
export const { version, description } = JSON.parse(text) as { readonly version: string; readonly description: string }

/** The commit that `npm run build` compiled; empty if it was not built in a repository. */
export const commit = readCommit()

function readCommit(): string {
  try {
    return readFileSync(new URL('../../dist/commit', import.meta.url), 'utf8').trim()
  } catch {
    return ''
  }
}

/** Returns the setting `replica.name`, or host name and process id: replicas on one machine have different names. */
export function replicaNameOf({ replica }: Pick<Config, 'replica'>): string {
  return replica.name ?? `${hostname()}-${process.pid}`
}

/** What a process of an edge with several processes needs of the others (`listen.processes`). */
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
