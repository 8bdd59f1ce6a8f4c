/**
 * Limits on failed logins. Attempts are counted before the password is checked: if they were counted afterwards,
 * parallel attempts would all pass (CVE-2026-26206, CVE-2026-93346). Three counters slow an attacker down: one per
 * pair of address and name, one per address, and one for the whole edge. No name is ever locked for all addresses,
 * because then anyone could lock out any user.
 */
import type { LRUCache } from 'lru-cache'
import { growingLru } from '../core/growing-lru.ts'
import type { Clock } from '../core/timing.ts'

/** Counters of login attempts, in memory or shared by replicas. Addresses are normalised, names are as sent. */
export interface LoginAttempts {
  /** Returns the milliseconds for which this address may not try this name; 0 if it may. Counts nothing. */
  blockedForMs(address: string, name: string): number
  /** Counts one attempt in all counters in one step. */
  count(address: string, name: string): Promise<AttemptDecision>
  /** Records a right password: clears the counter of this pair and remembers the pair as known. */
  succeed(address: string, name: string): Promise<void>
  /** Takes one counted attempt back, because the password could not be checked. */
  cancel(address: string, name: string): Promise<void>
}

export type AttemptDecision =
  /** The password is not checked. */
  | { readonly allowed: false; readonly retryAfterMs: number }
  /** The password is checked after `delayMs`. `isKnown`: this name logged in from this address in the last day. */
  | { readonly allowed: true; readonly delayMs: number; readonly isKnown: boolean }

/** The only key of the counter for the whole edge. */
const WHOLE_EDGE = ''

/**
 * Each failure fades within `fadeMs`. From `failedLogins` times `factor` failures on, a key is blocked: first for
 * `firstBlockMs`, then twice as long after each further failure, at most `maxBlockMs`. The edge as a whole is never
 * blocked. Instead, unknown pairs wait `delayPerFailureMs` for each failure above the limit.
 */
export const ATTEMPT_LIMITS = {
  firstBlockMs: 1000,
  pair: { factor: 1, fadeMs: 30_000, maxBlockMs: 60_000 },
  address: { factor: 10, fadeMs: 3000, maxBlockMs: 60_000 },
  edge: { factor: 20, fadeMs: 100, maxBlockMs: 0 },
  delayPerFailureMs: 20,
  maxDelayMs: 1000,
  rememberMs: 24 * 3600 * 1000,
} as const

export interface LoginAttemptOptions {
  /** Failures of one name from one address before the first block. */
  readonly failedLogins: () => number
  readonly clock: Clock
}

/** Creates counters for this process only. */
export function createLoginAttempts(options: LoginAttemptOptions): LoginAttempts {
  const elapsed = () => options.clock.elapsed()
  const { firstBlockMs, delayPerFailureMs, maxDelayMs, rememberMs } = ATTEMPT_LIMITS
  const buckets = (limits: { factor: number; fadeMs: number; maxBlockMs: number }, maxKeys: number) =>
    new LeakyBuckets({
      ...limits,
      firstBlockMs,
      maxKeys,
      elapsed,
      limit: () => options.failedLogins() * limits.factor,
    })
  const pairs = buckets(ATTEMPT_LIMITS.pair, 20_000)
  const addresses = buckets(ATTEMPT_LIMITS.address, 10_000)
  const edge = buckets(ATTEMPT_LIMITS.edge, 1)
  /** Pair → time until which the pair is known. */
  const knownUntil = growingLru<string, number>(10_000)

  return {
    blockedForMs: (address, name) => pairs.blockedForMs(pairKey(address, name)),
    async count(address, name) {
      const key = pairKey(address, name)
      const retryAfterMs = Math.max(pairs.blockedForMs(key), addresses.blockedForMs(address))
      // The pair is counted even while its address is blocked, so that guesses against remembered credentials stay few.
      if (pairs.blockedForMs(key) === 0) pairs.add(key)
      if (retryAfterMs > 0) return { allowed: false, retryAfterMs }
      addresses.add(address)
      const excess = edge.add(WHOLE_EDGE)
      return (knownUntil.get(key) ?? 0) > elapsed()
        ? { allowed: true, delayMs: 0, isKnown: true }
        : { allowed: true, delayMs: Math.min(maxDelayMs, excess * delayPerFailureMs), isKnown: false }
    },
    async succeed(address, name) {
      pairs.delete(pairKey(address, name))
      addresses.subtract(address)
      edge.subtract(WHOLE_EDGE)
      knownUntil.set(pairKey(address, name), elapsed() + rememberMs)
    },
    async cancel(address, name) {
      pairs.subtract(pairKey(address, name))
      addresses.subtract(address)
      edge.subtract(WHOLE_EDGE)
    },
  }
}

/** Addresses contain no space, so two pairs never share a key. */
function pairKey(address: string, name: string): string {
  return `${address} ${name}`
}

interface LeakyBucketOptions {
  /** Level at which a key is blocked. */
  limit(): number
  /** Milliseconds in which the level falls by one. */
  readonly fadeMs: number
  readonly firstBlockMs: number
  readonly maxBlockMs: number
  /** Keys in memory at most; the least recently used key is dropped. */
  readonly maxKeys: number
  elapsed(): number
}

interface Bucket {
  level: number
  updatedAt: number
  blockedUntil: number
}

/** Leaky buckets with exponential back-off: a failure raises the level of its key by one, time lowers it. */
class LeakyBuckets {
  readonly #options: LeakyBucketOptions
  readonly #buckets: LRUCache<string, Bucket>

  constructor(options: LeakyBucketOptions) {
    this.#options = options
    this.#buckets = growingLru(options.maxKeys)
  }

  /** Returns the milliseconds for which the key is blocked; 0 if it is not. */
  blockedForMs(key: string): number {
    const bucket = this.#buckets.get(key)
    return bucket === undefined ? 0 : Math.max(0, bucket.blockedUntil - this.#options.elapsed())
  }

  /** Counts one failure. Returns by how many failures the key exceeds its limit; 0 if it does not. */
  add(key: string): number {
    const { limit, firstBlockMs, maxBlockMs, elapsed } = this.#options
    const now = elapsed()
    const blockedUntil = this.#buckets.get(key)?.blockedUntil ?? 0
    const bucket = { level: this.#level(key, now) + 1, updatedAt: now, blockedUntil }
    // Rounded, so that the fading between two attempts of one burst does not allow one attempt more.
    const excess = Math.round(bucket.level) - limit()
    if (excess >= 0) bucket.blockedUntil = now + Math.min(maxBlockMs, firstBlockMs * 2 ** Math.min(excess, 40))
    this.#buckets.set(key, bucket)
    return Math.max(0, excess)
  }

  /** Takes one failure back. The block ends as soon as the key is below its limit. */
  subtract(key: string): void {
    const bucket = this.#buckets.get(key)
    if (bucket === undefined) return
    const now = this.#options.elapsed()
    bucket.level = Math.max(0, this.#level(key, now) - 1)
    bucket.updatedAt = now
    if (Math.round(bucket.level) < this.#options.limit()) bucket.blockedUntil = 0
  }

  delete(key: string): void {
    this.#buckets.delete(key)
  }

  #level(key: string, now: number): number {
    const bucket = this.#buckets.get(key)
    return bucket === undefined ? 0 : Math.max(0, bucket.level - (now - bucket.updatedAt) / this.#options.fadeMs)
  }
}
