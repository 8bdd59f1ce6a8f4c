/** Entries of the local tier, their times and sizes, and what a lookup finds in one. */

import type { Tag } from '../../contracts/endpoint.ts'
import type { Hit, Lookup, StoredBytes, StoredRead, StoredTimes, TagEpochs } from '../../core/stored-response.ts'
import type { NewEntry, StoredResponseInfo } from './contract.ts'
import { compareEpochs } from './epochs.ts'

export interface LocalEntry {
  readonly stored: StoredBytes
  readonly generation: string
  readonly epochs: readonly string[]
  readonly tags: readonly Tag[]
  /** Absent: it is not listed. */
  readonly info?: StoredResponseInfo | undefined
  /** When its fetch (that of its oldest part) began, in milliseconds of this process' monotonic clock. */
  readonly fetchedAt: number
  /** Until when it may be served at all, by the same clock. */
  readonly expiresAt: number
  /** When it was noted last that it is in use. */
  usedAt?: number
  /** The version of the current epochs when they were last found equal to those of the entry. */
  comparedVersion?: number
  /** The memory store: the hits of this copy. */
  hits?: number
  /** In front of Redis: the hits of this copy that are not in the index yet. */
  newHits?: NewHits
}

/** Without the entry, which would stay in memory after its eviction. */
export interface NewHits {
  readonly key: string
  readonly group: string
  count: number
}

/** The stale times of a response, in milliseconds after its freshness lifetime. */
export type StaleTimes = Omit<StoredTimes, 'ttl'>

/**
 * Returns the milliseconds after the freshness lifetime for which a response may be served stale; 0: it never is, or only
 * while it is hot, in an outage, or while Redis is unreachable.
 */
export function staleBound({ staleWhileRevalidate, staleIfError }: StaleTimes): number {
  return Math.max(staleWhileRevalidate, staleIfError)
}

/** Returns the milliseconds after the fetch for which a response may be served at all, fresh or stale. */
export function storageLifetime(times: StoredTimes): number {
  return Math.max(usualLifetime(times), times.ttl + times.staleInOutage)
}

/** Returns the same while some node answers. */
export function usualLifetime(times: StoredTimes): number {
  return times.ttl + Math.max(staleBound(times) + times.staleWhileHot, times.staleWithoutRedis)
}

/** What is under the key of a read. Lookups of a `BytesKey` read only what all kinds have. */
function readIn({ stored }: LocalEntry): StoredRead {
  return stored as StoredRead
}

/** Returns what the index lists of an entry, in bytes and milliseconds. */
export function measuresOf(entry: LocalEntry) {
  const stored = readIn(entry)
  const size = stored.body.length + (stored.kind === 'snapshot' ? stored.rowBytes : 0)
  return { size, fetchTime: stored.fetchTime, lifetime: storageLifetime(stored) }
}

/** A fetch began when its epochs were read, by the clock of the store. `now`: by the same clock. */
export function toLocalEntry(entry: NewEntry<StoredBytes>, now: number): LocalEntry {
  const { generation, epochs, readAt = now } = entry.epochs
  const { tags, stored, info, initialAge = 0 } = entry
  const fetchedAt = readAt - initialAge
  const expiresAt = fetchedAt + storageLifetime(stored)
  return { stored, generation, epochs, tags, info, fetchedAt, expiresAt }
}

/** The memory behind a body may be this many times its length. */
const MAX_BUFFER_RATIO = 1.125

/** Whether the bytes are all of the memory that they keep, or nearly all. */
export function hasOwnBytes(body: Buffer): boolean {
  return body.buffer.byteLength <= body.length * MAX_BUFFER_RATIO
}

/** Returns the hit of an entry whose epochs are the current ones. */
export function localLookup(entry: LocalEntry, now: number): Hit {
  const { generation, epochs, fetchedAt } = entry
  return {
    kind: 'hit',
    epochs: { generation, epochs, fenced: false, readAt: now },
    response: entry.stored as StoredRead,
    age: Math.max(0, now - fetchedAt),
    isLocal: true,
  }
}

/**
 * Returns what a lookup finds. After a soft invalidation, the freshness lifetime ends before the age, and the response may be
 * served during a refresh until its stale bound, if it has one. `epochs`: the current ones.
 */
export function lookupAt(entry: LocalEntry | undefined, epochs: TagEpochs, now: number, isLocal: boolean): Lookup {
  const comparison = entry && compareEpochs(entry, epochs)
  if (entry === undefined || comparison === 'changed') return { kind: 'miss', epochs, changed: entry !== undefined }
  const response = readIn(entry)
  const age = Math.max(0, now - entry.fetchedAt)
  if (comparison === 'same') return { kind: 'hit', epochs, response, age, isLocal }
  const ttl = Math.min(response.ttl, age - 1)
  const staleWhileRevalidate = staleBound(response) > 0 ? response.ttl + staleBound(response) - ttl : 0
  return { kind: 'hit', epochs, response: { ...response, ttl, staleWhileRevalidate, staleWhileHot: 0 }, age, isLocal }
}

export function areEqual(some: readonly Tag[], others: readonly Tag[]): boolean {
  if (some === others) return true
  if (some.length !== others.length) return false
  for (let at = 0; at < some.length; at += 1) if (some[at] !== others[at]) return false
  return true
}
