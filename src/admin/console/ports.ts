/** What the console reads from the rest of the edge. The composition root provides it. */

import type { IndexEntry, SnapshotState } from '../../core/cache.ts'
import type { Caller } from '../../core/request.ts'
import type { CacheIndex, EntryContents } from '../../core/response.ts'
import type { CertificateState } from '../../core/settings.ts'
import type { Readiness } from '../readiness.ts'
import type { CacheState, ClientPort, GrowingQueue, Problem } from './api-types.ts'
import type { Explanation, PurgeCost, PurgeRequest, PurgeResult } from './cache-types.ts'
import type { CapacityState } from './capacity.ts'
import type { ConsoleCosts } from './costs.ts'
import type { ConsoleHistory } from './history.ts'
import type { LiveTail } from './live-tail.ts'
import type { DrainResult, NodeSummary, Nodes, ReplicaSummary } from './node-types.ts'
import type { RecentErrors } from './recent-errors.ts'
import type { SettingDifference } from './replicas.ts'
import type { RequestRecords } from './request-records.ts'
import type { ServedInOutage } from './served-in-outage.ts'
import type { RecentJoins, Traffic } from './traffic.ts'

export interface ConsolePorts {
  readonly name: string
  readonly version: string
  /** Returns the addresses at which clients reach the edge, first that of `listen.port`. */
  clientPorts(): readonly ClientPort[]
  ready(): Readiness
  /** Returns the names of the nodes that refuse the credentials of the edge, and whether its password is easily guessed. */
  credentials(): { readonly refusedBy: readonly string[]; readonly isWeak: boolean }
  /** `fault`: why the latest reload failed. `pendingRestart`: changed settings that take effect after a restart only. */
  configuration(): { readonly fault?: string; readonly pendingRestart: readonly string[] }
  problems(): readonly Problem[]
  readonly traffic: Traffic
  readonly history: Pick<ConsoleHistory, 'read'>
  readonly costs: Pick<ConsoleCosts, 'read'>
  readonly tail: LiveTail
  readonly records: Pick<RequestRecords, 'find'>
  readonly joins: Pick<RecentJoins, 'last'>
  readonly index: CacheIndex
  cache(): CacheState
  /** `isFailing`: the latest audit record could not be written. `refuses`: writes are rejected then. */
  audit(): { readonly isFailing: boolean; readonly refuses: boolean }
  readonly recentErrors: RecentErrors['all']
  /** Absent: no response is served in an outage. */
  readonly servedInOutage?: ServedInOutage['oldest']
  capacity(): CapacityState
  /** Returns the snapshots of collections whose rows this replica has. */
  snapshots(): readonly SnapshotState[]
  /** Purges the named entries, or previews the purge. Writes the same audit record as `DELETE /cache`. Rejects with an EdgeError. */
  purge(request: PurgeRequest, by: PurgeCaller): Promise<PurgeResult>
  /** Returns what a purge of these entries by their keys would remove, with the snapshots of their collections. */
  costOf(rows: readonly IndexEntry[], caller: Caller): Promise<PurgeCost>
  nodes(): readonly NodeState[]
  /** Returns how many calls to one node may be queued. */
  queueLimit(): number
  growingQueues(): readonly GrowingQueue[]
  /** Returns the limit of open files if the process has reached it. */
  readonly exhaustedFiles?: () => string | undefined
  /**
   * Returns after how many milliseconds tokens of the manager's users are checked again, now and by the settings. Absent:
   * there are none.
   */
  readonly tokenRecheck?: () => { readonly interval: number; readonly configured: number }
  /** Returns the certificates that the edge presents, and the authorities that it trusts. */
  certificates(): readonly CertificateState[]
  readonly drains: NodeDrains
  /** Returns the nodes by the layout of their API if they have different ones. */
  layoutMixture(): Nodes['mixture']
  /** Returns undefined while Redis is unreachable. Absent if this replica shares nothing with others. */
  readonly replicas?: () => readonly ReplicaSummary[] | undefined
  /** What other replicas were given otherwise than this one. Absent: replicas share nothing. */
  readonly settingDifferences?: () => readonly SettingDifference[]
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

/** The part of a node's summary that is not counted from its calls. */
export type NodeState = Omit<NodeSummary, 'p50' | 'p99' | 'calls' | 'failed' | 'errorResponses'>

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
