/**
 * Requests of a window, counted for all replicas without a round trip for each: a replica counts by itself, and who
 * nears a share of the limit is reported in batches. Who stays under a quarter of it on each replica cannot exceed the
 * limit by more than that quarter, and costs Redis nothing.
 */
import { LRUCache } from 'lru-cache'
import type { Pulse } from './shared-pulse.ts'
import type { Digest, PrepareScript } from './shared-script.ts'

/** As `CountRequest` of the http room: count of all replicas, and milliseconds until the window ends. */
export type CountShared = (
  key: string,
  window: number,
  most: number,
) => { readonly count: number; readonly ends: number }

export interface SharedCountsOptions {
  readonly prepare: PrepareScript
  readonly digest: Digest
  readonly pulse: Pick<Pulse, 'replicas' | 'away'>
  /** Milliseconds of a monotonic clock. */
  elapsed(): number
}

interface Window {
  readonly key: string
  readonly length: number
  until: number
  /** Requests here in this window; of all replicas as Redis last told; those here that it does not know yet. */
  own: number
  shared: number
  untold: number
}

/** Milliseconds that reports wait for others. */
const GATHER = 40
const AT_ONCE = 64
const KEYS_HELD = 50_000
const REPORTED_FROM = 0.25

/** KEYS counters, ARGV for each: how many more, and the length of the window. Gives count and time left for each. */
const COUNT = `
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
`

export function sharedCounts({ prepare, digest, pulse, elapsed }: SharedCountsOptions): CountShared {
  const run = prepare(COUNT)
  // By their length first: a key need not be joined with it for each request.
  const windowsOf = new Map<number, LRUCache<string, Window>>()
  const due = new Set<Window>()
  let waiting = false

  async function report(): Promise<void> {
    for (const each of due) if (each.until <= elapsed()) due.delete(each)
    const now = [...due].slice(0, AT_ONCE)
    for (const each of now) due.delete(each)
    const told = now.map(({ untold }) => untold)
    const keys = now.map(({ key, length }) => `count:${length}:${digest(key)}`)
    try {
      const counts = (await run(
        keys,
        now.flatMap(({ untold, length }) => [untold, length]),
      )) as number[]
      now.forEach((each, at) => {
        each.untold -= told[at] ?? 0
        each.shared = counts[at * 2] ?? each.shared
        each.until = elapsed() + (counts[at * 2 + 1] ?? 0)
      })
    } catch {
      // Away: each replica holds to its share, and the next request reports again.
    }
    waiting = false
    if (due.size > 0) gather()
  }
  function gather(): void {
    if (waiting) return
    waiting = true
    setTimeout(() => void report(), GATHER).unref()
  }

  return (key, length, most) => {
    const now = elapsed()
    let windows = windowsOf.get(length)
    if (windows === undefined) {
      windows = new LRUCache({ max: KEYS_HELD })
      windowsOf.set(length, windows)
    }
    let window = windows.get(key)
    if (window === undefined || window.until <= now) {
      window = { key, length, until: now + length, own: 0, shared: 0, untold: 0 }
      windows.set(key, window)
    }
    window.own += 1
    window.untold += 1
    const replicas = pulse.replicas()
    if (replicas > 1 && window.own >= (most / replicas) * REPORTED_FROM) {
      due.add(window)
      gather()
    }
    const count = pulse.away() ? window.own * replicas : window.shared + window.untold
    return { count, ends: window.until - now }
  }
}
