import { LRUCache } from 'lru-cache'
import type { Clock } from '../core/timing.ts'

/**
 * Attempts to log in, counted before they are verified: counted afterwards, parallel attempts all pass (CVE-2026-26206,
 * CVE-2026-93346). A name is slowed down for one address, an address for all names, and everybody a little when the
 * whole edge is under attack; no name is ever locked for all addresses, since anyone could lock out anyone.
 */

/** The port: in memory here; replicas may share theirs. Addresses are normalised, names are as the client wrote them. */
export interface Attempts {
  /** Milliseconds for which this address may not try this name; 0 when it may. Counts nothing. */
  blocked(address: string, name: string): number
  /** Counts one attempt, all counters in one step. */
  count(address: string, name: string): Promise<Counted>
  /** The attempt was right: its pair of address and name is forgiven, and known from now on. */
  right(address: string, name: string): Promise<void>
  /** The attempt was neither right nor wrong (no answer could be had). */
  undone(address: string, name: string): Promise<void>
}

export type Counted =
  /** Not to be verified; milliseconds until the next may come. */
  | { readonly allowed: false; readonly after: number }
  /** To be verified after `delay` milliseconds; `known`: the name has logged in from this address lately. */
  | { readonly allowed: true; readonly delay: number; readonly known: boolean }

const ALL = ''

/**
 * Milliseconds in which a failure fades, and how many are borne, in multiples of `failures`. The back-off doubles
 * from `first` to `longest`; the edge as a whole is never blocked, strangers are held back (`delay` for each failure over).
 */
export const attemptRules = {
  first: 1000,
  pair: { share: 1, fade: 30_000, longest: 60_000 },
  address: { share: 10, fade: 3000, longest: 60_000 },
  edge: { share: 20, fade: 100, longest: 0 },
  delay: 20,
  longestDelay: 1000,
  knownFor: 24 * 3600 * 1000,
} as const

export interface AttemptOptions {
  /** Failures of one name from one address before the back-off begins; ten times as many for an address. May change. */
  readonly failures: number
  readonly clock: Clock
}

/** Counters of this process. */
export function createAttempts(options: AttemptOptions): Attempts {
  const elapsed = () => options.clock.elapsed()
  const { first, delay, longestDelay, knownFor } = attemptRules
  const buckets = (rule: { share: number; fade: number; longest: number }, keys: number) =>
    new LeakyBuckets({ ...rule, first, keys, elapsed, limit: () => options.failures * rule.share })
  const pairs = buckets(attemptRules.pair, 20_000)
  const addresses = buckets(attemptRules.address, 10_000)
  const edge = buckets(attemptRules.edge, 1)
  const known = new LRUCache<string, number>({ max: 10_000 })

  return {
    blocked: (address, name) => pairs.blocked(pair(address, name)),
    async count(address, name) {
      const key = pair(address, name)
      const before = Math.max(pairs.blocked(key), addresses.blocked(address))
      // Counted for the pair even where the address is blocked: guesses that hit remembered credentials stay few.
      if (pairs.blocked(key) === 0) pairs.add(key)
      if (before > 0) return { allowed: false, after: before }
      addresses.add(address)
      const over = edge.add(ALL)
      return (known.get(key) ?? 0) > elapsed()
        ? { allowed: true, delay: 0, known: true }
        : { allowed: true, delay: Math.min(longestDelay, over * delay), known: false }
    },
    async right(address, name) {
      pairs.forget(pair(address, name))
      addresses.takeBack(address)
      edge.takeBack(ALL)
      known.set(pair(address, name), elapsed() + knownFor)
    },
    async undone(address, name) {
      pairs.takeBack(pair(address, name))
      addresses.takeBack(address)
      edge.takeBack(ALL)
    },
  }
}

/** Addresses hold no blank, so two pairs never share a key. */
function pair(address: string, name: string): string {
  return `${address} ${name}`
}

/**
 * Failures that fade: each key has a level that a failure raises by one and that time lowers. From `limit` on, each
 * further failure blocks the key twice as long, never longer than `longest`: a back-off, not a lock.
 */

export interface BucketOptions {
  /** Asked at each failure, since it may change. */
  limit(): number
  /** Milliseconds in which one failure fades. */
  readonly fade: number
  /** Milliseconds: the first block, and the longest. */
  readonly first: number
  readonly longest: number
  readonly keys: number
  elapsed(): number
}

interface Bucket {
  level: number
  at: number
  until: number
}

export class LeakyBuckets {
  readonly #options: BucketOptions
  readonly #buckets: LRUCache<string, Bucket>

  constructor(options: BucketOptions) {
    this.#options = options
    this.#buckets = new LRUCache({ max: options.keys })
  }

  /** Milliseconds for which the key is blocked; 0 when it is not. */
  blocked(key: string): number {
    const bucket = this.#buckets.get(key)
    return bucket === undefined ? 0 : Math.max(0, bucket.until - this.#options.elapsed())
  }

  /** Counts one, and gives by how many the key is over its limit (0: not). */
  add(key: string): number {
    const { limit, first, longest, elapsed } = this.#options
    const now = elapsed()
    const bucket = { level: this.#level(key, now) + 1, at: now, until: this.#buckets.get(key)?.until ?? 0 }
    // Rounded: what fades between two attempts of one burst must not buy a further one.
    const over = Math.round(bucket.level) - limit()
    if (over >= 0) bucket.until = now + Math.min(longest, first * 2 ** Math.min(over, 40))
    this.#buckets.set(key, bucket)
    return Math.max(0, over)
  }

  /** Takes one back; a key that is under its limit again is free at once. */
  takeBack(key: string): void {
    const bucket = this.#buckets.get(key)
    if (bucket === undefined) return
    const now = this.#options.elapsed()
    bucket.level = Math.max(0, this.#level(key, now) - 1)
    bucket.at = now
    if (Math.round(bucket.level) < this.#options.limit()) bucket.until = 0
  }

  forget(key: string): void {
    this.#buckets.delete(key)
  }

  #level(key: string, now: number): number {
    const bucket = this.#buckets.get(key)
    return bucket === undefined ? 0 : Math.max(0, bucket.level - (now - bucket.at) / this.#options.fade)
  }
}
