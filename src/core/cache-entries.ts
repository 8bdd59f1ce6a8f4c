/** Entries of the cache as `/cache` and the console show them, and what a purge removes. */
import type { Tag } from '../contracts/endpoint.ts'
import type { IndexEntry } from '../contracts/items/cache.ts'

export type { IndexEntry, PurgeCost } from '../contracts/items/cache.ts'

/** Returns an entry as it is shown `elapsed` milliseconds after it was read. Named one by one, since a store may add fields. */
export function shownEntry(entry: IndexEntry, elapsed = 0) {
  const { key, url, group, endpoint, scope, tags, size, hits } = entry
  const [age, timeLeft] = [Math.round(entry.age + elapsed), Math.round(entry.timeLeft - elapsed)]
  return { key, url, group, endpoint, scope, tags, size, age, timeLeft, hits, fetchTime: Math.round(entry.fetchTime) }
}

/** A part of the index. Without a group, the groups follow each other by name. */
export interface IndexWindow {
  readonly group?: string
  readonly offset: number
  readonly limit: number
}

/** `total`: the rows that `count` counts. */
export interface IndexPage {
  readonly rows: readonly IndexEntry[]
  readonly total: number
}

/** What a purge removes: everything, or what one of the fields names. */
export interface PurgeScope {
  readonly group?: string
  /** The route template of an endpoint. */
  readonly endpoint?: string
  readonly tag?: Tag
  /** Removes these stored responses only. Every other scope includes responses that are being fetched. */
  readonly keys?: readonly string[]
  /** Marks as stale instead of removing. */
  readonly soft?: boolean
}

/**
 * `pending`: Redis is unreachable. This replica sends the invalidation before it uses Redis again; other replicas that
 * reach Redis may serve the responses until then.
 */
export type PurgeOutcome = 'done' | 'pending'
