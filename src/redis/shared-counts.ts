/**
 * Requests per window, counted for all replicas without a round trip for each request. A replica counts on its own and
 * reports a key in batches once it has a quarter of its share of the limit. Below that, a key costs Redis nothing, and
 * can exceed the limit by a quarter at most.
 */
import type { LRUCache } from 'lru-cache'
import { growingLru } from '../core/growing-lru.ts'
import type { RedisConnection } from './connection.ts'
import { redisKeys } from './options.ts'
import { script } from './scripts.ts'

/** Counts a request. Returns the count of all replicas, and the milliseconds until the window ends. */
export type CountShared = (
  key: string,
  windowMs: number,
  limit: number,
) => { readonly count: number; readonly ends: number }

export interface SharedCountsOptions {
  readonly connection: RedisConnection
  /** Time limit of a report in milliseconds. */
  readonly timeout: number
  readonly digest: (...parts: readonly string[]) => string
  replicas(): number
  isUnreachable(): boolean
  /** Returns the milliseconds of a monotonic clock. */
  elapsed(): number
}

interface Window {
  readonly key: string
  readonly length: number
  endsAt: number
  /** Requests in this window: at this replica, at all when Redis last answered, and those not reported yet. */
  own: number
  shared: number
  unreported: number
}

/** Milliseconds that a report waits for others. */
const BATCH_DELAY_MS = 40
const MAX_BATCH = 64
const MAX_KEYS = 50_000
const REPORTED_SHARE = 0.25

/** KEYS: counters. ARGV for each: increment, length of the window. Returns count and time left for each. */
const COUNT = script(`
local counts = {}
for at = 1, #KEYS do
  local count = redis.call('INCRBY', KEYS[at], ARGV[at * 2 - 1])
  local left = redis.call('PTTL', KEYS[at])
  if left < 0 then
    left = tonumber(ARGV[at * 2])
    redis.call('PEXPIRE', KEYS[at], left)
  end
  counts[#counts + 1] = count
  counts[#counts + 1] = left
end
return counts
`)

export function createSharedCounts(options: SharedCountsOptions): CountShared {
  const { connection, timeout, digest, replicas, isUnreachable, elapsed } = options
  // By length first, so that no key must be built from both for each request.
  const windowsByLength = new Map<number, LRUCache<string, Window>>()
  const due = new Set<Window>()
  let isScheduled = false

  async function report(): Promise<void> {
    for (const window of due) if (window.endsAt <= elapsed()) due.delete(window)
    const batch = [...due].slice(0, MAX_BATCH)
    for (const window of batch) due.delete(window)
    const reported = batch.map(({ unreported }) => unreported)
    const keys = batch.map(({ key, length }) => redisKeys.access(`count:${length}:${digest(key)}`))
    const args = batch.flatMap(({ unreported, length }) => [unreported, length])
    const reply = await connection.runScript<number[]>(COUNT, keys, args, timeout)
    // If Redis is unreachable, the next request of a key reports it again.
    if (reply.ok) {
      for (const [at, window] of batch.entries()) {
        window.unreported -= reported[at] ?? 0
        window.shared = reply.value[at * 2] ?? window.shared
        window.endsAt = elapsed() + (reply.value[at * 2 + 1] ?? 0)
      }
    }
    isScheduled = false
    if (due.size > 0) schedule()
  }
  function schedule(): void {
    if (isScheduled) return
    isScheduled = true
    setTimeout(() => void report(), BATCH_DELAY_MS).unref()
  }

  return (key, length, limit) => {
    const now = elapsed()
    let windows = windowsByLength.get(length)
    if (windows === undefined) {
      windows = growingLru(MAX_KEYS)
      windowsByLength.set(length, windows)
    }
    let window = windows.get(key)
    if (window === undefined || window.endsAt <= now) {
      window = { key, length, endsAt: now + length, own: 0, shared: 0, unreported: 0 }
      windows.set(key, window)
    }
    window.own += 1
    window.unreported += 1
    const sharing = replicas()
    if (sharing > 1 && window.own >= (limit / sharing) * REPORTED_SHARE) {
      due.add(window)
      schedule()
    }
    // While Redis is unreachable, each replica assumes that the others receive as many requests.
    const count = isUnreachable() ? window.own * sharing : window.shared + window.unreported
    return { count, ends: window.endsAt - now }
  }
}
