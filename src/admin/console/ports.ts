/** What the console needs to know of the edge, in its own words. `app` hands it in. */

import type { Caller } from '../../core/request.ts'
import type { CacheIndex } from '../../core/response.ts'
import type { Readiness } from '../probes.ts'
import type { CacheStanding, Explanation, NodeLine, PurgeCost, PurgeOrder, ReplicaLine } from './api-types.ts'
import type { Tail } from './live-tail.ts'
import type { Joins, Traffic } from './traffic.ts'

export interface ConsolePorts {
  readonly name: string
  readonly version: string
  /** Where clients reach the edge. */
  url(): string
  ready(): Readiness
  readonly traffic: Traffic
  readonly tail: Tail
  readonly joins: Pick<Joins, 'last'>
  readonly index: CacheIndex
  cache(): CacheStanding
  /** Drops what is named, or says what would go; told in the audit as any other purge. Rejects with an EdgeError. */
  purge(order: PurgeOrder, by: PurgedBy): Promise<PurgeCost>
  nodes(): readonly NodeState[]
  /** Absent: this replica shares nothing with others. */
  readonly replicas?: () => readonly ReplicaLine[] | undefined
  /** The permission that a read of the endpoint needs. */
  permissionOf(endpoint: string): string
  /** Would the next request hit, and why? Rejects with the EdgeError that the request would answer. */
  explain(url: string, caller: Caller): Promise<Explanation>
  /** The kept answer as this caller would get it. Rejects with an EdgeError where it may not. */
  read(
    entry: { readonly key: string; readonly url: string; readonly tags: readonly string[] },
    caller: Caller,
  ): Promise<ReadEntry>
  readonly divergence?: () => readonly { readonly group: string; readonly asked: number; readonly different: number }[]
}

/** What of a node is not counted from its calls. */
export type NodeState = Omit<NodeLine, 'p50' | 'p99' | 'calls' | 'errors'>

export type ReadEntry =
  | {
      readonly kind: 'kept'
      readonly etag: string
      readonly encodings: Readonly<Record<string, number>>
      readonly freshFor: number
      readonly fenced: boolean
      readonly near: boolean
      readonly bytes: Buffer
    }
  /** It is there, but was made for callers with other rights. */
  | { readonly kind: 'others' }
  | { readonly kind: 'gone' }

export interface PurgedBy {
  readonly caller: Caller
  readonly client: string
  readonly requestId: string
}
