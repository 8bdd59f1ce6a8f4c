/**
 * Refresh ahead of expiry: what is asked for again and again is fetched anew shortly before its time is over, so that
 * nobody has to wait for it. Only with capacity that nobody else asks for, and few at once.
 */
import type { StoredResponse } from '../core/response.ts'

export interface HotOptions {
  /** Refreshes at once. */
  readonly most: number
  /** Hits in the second half of an entry's time that make it hot. */
  readonly hits: number
}

export interface HotKeys {
  /** An entry was hit. `spare` and `refresh` are called only when it is hot and its time nearly over. */
  hit(key: string, answer: StoredResponse, spare: () => boolean, refresh: () => Promise<void>): void
}

const COUNTED_FROM = 0.5
const REFRESHED_FROM = 0.8
/** Beyond that the counts begin again: hot keys are counted soon enough. */
const COUNTED = 10_000

export function hotKeys({ most, hits }: HotOptions): HotKeys {
  const counts = new Map<string, number>()
  const running = new Set<string>()
  return {
    hit(key, { age, ttl }, spare, refresh) {
      if (age < ttl * COUNTED_FROM) return
      const count = (counts.get(key) ?? 0) + 1
      if (counts.size >= COUNTED) counts.clear()
      counts.set(key, count)
      if (count < hits || age < ttl * REFRESHED_FROM) return
      if (running.has(key) || running.size >= most || !spare()) return
      running.add(key)
      counts.delete(key)
      void refresh().finally(() => running.delete(key))
    },
  }
}
