/** What the console reads from the rest of the edge. The composition root provides it. */

import type { IndexEntry, SnapshotState } from '../../core/cache.ts'
import type { Caller } from '../../core/request.ts'
import type { CacheIndex, EntryContents } from '../../core/response.ts'
import type { DrainResult } from '../../status/node-types.ts'
import type { Problem } from '../../status/problem-types.ts'
import type { ProblemSources } from '../../status/problems.ts'
import type { ClientPort } from './api-types.ts'
import type { Explanation, PurgeCost, PurgeRequest, PurgeResult } from './cache-types.ts'
import type { ConsoleCosts } from './costs.ts'
import type { ConsoleHistory } from './history.ts'
import type { LiveTail } from './live-tail.ts'
import type { RequestRecords } from './request-records.ts'
import type { RecentJoins, Traffic } from './traffic.ts'

/** Beside what the problems are derived from. */
export interface ConsolePorts extends ProblemSources {
  readonly name: string
  readonly version: string
  /** Returns the addresses at which clients reach the edge, first that of `listen.port`. */
  clientPorts(): readonly ClientPort[]
  problems(): readonly Problem[]
  readonly traffic: Traffic
  readonly history: Pick<ConsoleHistory, 'read'>
  readonly costs: Pick<ConsoleCosts, 'read'>
  readonly tail: LiveTail
  readonly records: Pick<RequestRecords, 'find'>
  readonly joins: Pick<RecentJoins, 'last'>
  readonly index: CacheIndex
  /** Returns the snapshots of collections whose rows this replica has. */
  snapshots(): readonly SnapshotState[]
  /** Purges the named entries, or previews the purge. Writes the same audit record as `DELETE /cache`. Rejects with an EdgeError. */
  purge(request: PurgeRequest, by: PurgeCaller): Promise<PurgeResult>
  /** Returns what a purge of these entries by their keys would remove, with the snapshots of their collections. */
  costOf(rows: readonly IndexEntry[], caller: Caller): Promise<PurgeCost>
  readonly drains: NodeDrains
  /** Returns the permission that a read of the endpoint needs. */
  permissionOf(endpoint: string): string
  /** Returns what the cache would do with the next request for the URL. Rejects with the EdgeError of that request. */
  explain(url: string, caller: Caller): Promise<Explanation>
  /** Returns the stored response as this caller would receive it. Rejects with an EdgeError if the caller may not read it. */
  read(
    entry: { readonly key: string; readonly url: string; readonly tags: readonly string[] },
    caller: Caller,
  ): Promise<EntryContents>
}

/** The query of a drain. `for`: a duration such as `30m`. */
export interface DrainOptions {
  readonly confirm?: string | undefined
  readonly for?: string | undefined
  readonly reason?: string | undefined
}

/** Takes nodes out for maintenance and puts them back. Both write audit records, and reject with an EdgeError. */
export interface NodeDrains {
  readonly areShared: boolean
  drain(node: string, how: DrainOptions, by: PurgeCaller): Promise<DrainResult>
  putBack(node: string, by: PurgeCaller): Promise<DrainResult>
}

export interface PurgeCaller {
  readonly caller: Caller
  readonly client: string
  readonly requestId: string
}
