/** JSON bodies of the console API of the cache. Times are milliseconds unless named otherwise, sizes are bytes. */

import type { LocalState, SnapshotState } from '../../../src/core/cache.ts'
import type { IndexEntry, PurgeCost } from '../../../src/core/cache-entries.ts'
import type { RedisCapacity } from '../../../src/status/problem-types.ts'

export type { PurgeCost } from '../../../src/core/cache-entries.ts'
export type EntrySummary = IndexEntry
/** A snapshot of a collection in the memory of this replica. Counts since it was first used here. */
export type SnapshotSummary = SnapshotState

/** `GET /api/groups`. */
export interface Groups {
  /** The index is still being read; the counts cover the entries that were read so far. */
  readonly partial: boolean
  readonly groups: readonly GroupSummary[]
  /** Endpoints that have an entry. */
  readonly endpoints: readonly string[]
  readonly snapshots: readonly SnapshotSummary[]
}

export interface GroupSummary {
  readonly group: string
  readonly entries: number
  readonly bytes: number
  /** Hits and misses since this replica started. */
  readonly hits: number
  readonly misses: number
  /** Age of the oldest entry. */
  readonly oldest?: number
  /** Node time that fetching all entries again would take. */
  readonly refillCost: number
  /** Number of hits that were compared with the response of a node, and how many differed. */
  readonly divergence?: { readonly compared: number; readonly different: number }
}

/** `GET /api/entries`. */
export interface EntryPage {
  /** Time since the cache index was read. */
  readonly age: number
  /** The index is still being read; the page covers the entries that were read so far. */
  readonly partial: boolean
  /** Number of entries that match the query. */
  readonly total: number
  /** Number of entries in the cache. */
  readonly all: number
  /** Size of the entries that match the query. */
  readonly bytes: number
  readonly items: readonly EntrySummary[]
}

/** `GET /api/entries/:key`. */
export interface EntryDetails extends EntrySummary {
  /** The permission that a read of the endpoint needs. */
  readonly permission: string
  readonly etag?: string
  /** Size per content coding, for the codings that were made so far. */
  readonly encodings: Readonly<Record<string, number>>
  /** Time until the entry is stale, negative if it is. Absent if the response cannot be read by this caller. */
  readonly freshFor?: number
  /** A write to the data is in progress, or its outcome is unknown. */
  readonly fenced: boolean
  /** Whether the local tier of this replica holds a copy. */
  readonly local: boolean
  readonly body: EntryBody
}

export type EntryBody =
  | { readonly shown: true; readonly text: string; readonly truncated: boolean }
  | { readonly shown: false; readonly reason: string }

/** `GET /api/selection`: the entries that match a search, to be purged by key. Takes the filters of `GET /api/entries`. */
export interface Selection {
  /** Number of entries that match. */
  readonly total: number
  /** Number of entries that one selection may have. */
  readonly limit: number
  /** Number of keys that one request may purge. */
  readonly maxKeys: number
  /** Absent if more than `limit` entries match. The cost includes the snapshots that are purged with them. */
  readonly chosen?: { readonly keys: readonly string[]; readonly cost: PurgeCost }
}

/** `GET /api/capacity`: how full the cache is. */
export interface Capacity {
  /** The local tier of each replica that reports one, this replica first. */
  readonly replicas: readonly { readonly name: string; readonly local: LocalState }[]
  /** Absent: there is no Redis. */
  readonly redis?: RedisCapacity
}
