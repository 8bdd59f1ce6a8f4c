/**
 * Limits on failed logins, over all replicas. Attempts are counted before the password is checked: if they were counted
 * afterwards, parallel attempts would all pass (CVE-2026-26206, CVE-2026-93346). Three counters slow an attacker down: one
 * per pair of address and name, one per address, and one for the whole edge. No name is ever locked for all addresses,
 * because then anyone could lock out any user.
 */
import type { Counters, CounterTexts } from '../core/counters.ts'
import { growingLru } from '../core/recently-used.ts'
import { type BucketLimits, FailureBucket } from './failure-bucket.ts'

type AttemptDecision =
  /** The password is not checked. */
  | { readonly allowed: false; readonly retryAfterMs: number }
  /** The password is checked after `delayMs`, in the order of `rank`. */
  | { readonly allowed: true; readonly delayMs: number; readonly rank: LoginRank }

/**
 * 0: this name logged in from this address in the last day. 1: it logged in from another address, or this address has no
 * failures. 2: all others. Addresses with failures wait while the edge is under attack.
 */
export type LoginRank = 0 | 1 | 2
export const LOGIN_RANKS = 3

/**
 * Each failure fades within `fadeMs`. From `failedLogins` times `factor` failures on, a key is blocked: first for
 * `FIRST_BLOCK_MS`, then twice as long after each further failure, at most `maxBlockMs`. The edge as a whole is never
 * blocked. Instead, unknown pairs wait `DELAY_PER_FAILURE_MS` for each failure above the limit.
 */
const PAIR: BucketLimits = { factor: 1, fadeMs: 30_000, maxBlockMs: 60_000 }
const ADDRESS: BucketLimits = { factor: 10, fadeMs: 3000, maxBlockMs: 60_000 }
const EDGE: BucketLimits = { factor: 20, fadeMs: 100, maxBlockMs: 0 }
const DELAY_PER_FAILURE_MS = 20
const MAX_DELAY_MS = 1000
const REMEMBER_MS = 24 * 3600 * 1000

const MAX_BLOCKED_PAIRS = 20_000
/** Blocked pairs that replicas announce to each other. Those beyond are blocked at their first attempt. */
const MAX_ANNOUNCED_PAIRS = 500
const ANNOUNCEMENTS = 'blocks'
/** Answer to too many parallel attempts: about a round trip. */
const BURST_RETRY_MS = 100

interface LoginAttemptOptions {
  /** Failures of one name from one address before the first block. */
  readonly failedLogins: () => number
  readonly counters: Counters
}

/** Counters of login attempts. Addresses are normalised, names are as sent. */
export class LoginAttempts {
  readonly #failedLogins: () => number
  readonly #counters: Counters
  /** By the digest of a pair: until when it is blocked. */
  readonly #blockedUntil = growingLru<string, number>(MAX_BLOCKED_PAIRS)
  /** The pairs that were announced when this process last read them. */
  #announced: ReadonlyMap<string, number> = new Map()
  /** Attempts that are not counted yet, by pair. */
  readonly #inFlight = new Map<string, number>()

  constructor({ failedLogins, counters }: LoginAttemptOptions) {
    this.#failedLogins = failedLogins
    this.#counters = counters
    counters.onBeat(() => void this.#readAnnouncements())
  }

  /** Returns the milliseconds for which this address may not try this name; 0 if it may. Counts nothing. */
  blockedForMs(address: string, name: string): number {
    // Without this, all attempts of a burst would pass before the first is counted.
    if (this.#inFlight.size > 0 && (this.#inFlight.get(pairOf(address, name)) ?? 0) >= this.#failedLogins())
      return BURST_RETRY_MS
    if (this.#blockedUntil.size === 0) return 0
    const counters = this.#counters
    return Math.max(0, (this.#blockedUntil.get(counters.digest(address, name)) ?? 0) - counters.now())
  }

  /** Counts one attempt in all counters in one step. */
  async count(address: string, name: string): Promise<AttemptDecision> {
    const key = pairOf(address, name)
    this.#inFlight.set(key, (this.#inFlight.get(key) ?? 0) + 1)
    const decision = await this.#update(address, name, countAttempt)
    const left = (this.#inFlight.get(key) ?? 1) - 1
    if (left > 0) this.#inFlight.set(key, left)
    else this.#inFlight.delete(key)
    return decision
  }

  /** Records a right password: clears the counter of this pair and remembers the pair as known. */
  succeed(address: string, name: string): Promise<void> {
    return this.#update(address, name, ({ pair, address: from, edge, texts, known, knownName }) => {
      pair.clear()
      from.subtract()
      edge.subtract()
      texts.set(known, '1', REMEMBER_MS)
      texts.set(knownName, '1', REMEMBER_MS)
    })
  }

  /** Takes one counted attempt back, because the password could not be checked. */
  cancel(address: string, name: string): Promise<void> {
    return this.#update(address, name, ({ pair, address: from, edge }) => {
      for (const bucket of [pair, from, edge]) bucket.subtract()
    })
  }

  /** Changes the counters of one attempt in one step. */
  async #update<Result>(address: string, name: string, rule: (attempt: Attempt) => Result): Promise<Result> {
    const counters = this.#counters
    const digest = counters.digest(address, name)
    const names = [
      `pair:${digest}`,
      `address:${counters.digest(address)}`,
      'edge',
      `known:${digest}`,
      `known:${counters.digest(name)}`,
    ] as const
    const { result, ends } = await counters.update(names, (texts, step) => {
      const bucket = (key: string, limits: BucketLimits) =>
        new FailureBucket(texts, step, { ...limits, key, limit: this.#failedLogins() * limits.factor })
      const [pair, from, edge] = [bucket(names[0], PAIR), bucket(names[1], ADDRESS), bucket(names[2], EDGE)]
      const attempt = { pair, address: from, edge, texts, known: names[3], knownName: names[4] }
      return { result: rule(attempt), ends: pair.isBlocked ? pair.blockedUntil : 0 }
    })
    if (ends !== (this.#blockedUntil.get(digest) ?? 0)) this.#setBlocked(digest, ends)
    return result
  }

  #setBlocked(digest: string, ends: number): void {
    if (ends > 0) this.#blockedUntil.set(digest, ends)
    else this.#blockedUntil.delete(digest)
    void this.#counters.update([ANNOUNCEMENTS], (texts, { now }) => {
      const others = parseBlocked(texts.get(ANNOUNCEMENTS)).filter(([pair, until]) => pair !== digest && until > now)
      const all = ends > 0 && others.length < MAX_ANNOUNCED_PAIRS ? [...others, [digest, ends] as const] : others
      texts.set(ANNOUNCEMENTS, all.map(([pair, until]) => `${pair} ${until};`).join(''), PAIR.maxBlockMs)
    })
  }

  async #readAnnouncements(): Promise<void> {
    const text = await this.#counters.update([ANNOUNCEMENTS], (texts) => texts.get(ANNOUNCEMENTS))
    const next = new Map(parseBlocked(text))
    // Another replica has taken a failure of these pairs back.
    for (const pair of this.#announced.keys()) if (!next.has(pair)) this.#blockedUntil.delete(pair)
    for (const [pair, until] of next) this.#blockedUntil.set(pair, until)
    this.#announced = next
  }
}

/** Addresses contain no space, so two pairs never share a key. */
function pairOf(address: string, name: string): string {
  return `${address} ${name}`
}

function parseBlocked(text: string): readonly (readonly [pair: string, until: number])[] {
  const entries = text.split(';').map((entry) => entry.split(' '))
  return entries.map(([pair = '', until]) => [pair, Number(until)] as const).filter(([, until]) => until > 0)
}

interface Attempt {
  readonly pair: FailureBucket
  readonly address: FailureBucket
  readonly edge: FailureBucket
  readonly texts: CounterTexts
  /** Names of the texts that exist if the pair, or the name, is known. */
  readonly known: string
  readonly knownName: string
}

function countAttempt({ pair, address, edge, texts, known, knownName }: Attempt): AttemptDecision {
  const retryAfterMs = Math.max(pair.blockedForMs, address.blockedForMs)
  // The pair is counted even while its address is blocked, so that guesses against remembered credentials stay few.
  if (!pair.isBlocked) pair.add()
  if (retryAfterMs > 0) return { allowed: false, retryAfterMs }
  const isClean = address.isEmpty
  address.add()
  const excess = edge.add()
  if (texts.get(known) !== '') return { allowed: true, delayMs: 0, rank: 0 }
  const delayMs = isClean ? 0 : Math.min(MAX_DELAY_MS, excess * DELAY_PER_FAILURE_MS)
  return { allowed: true, delayMs, rank: isClean || texts.get(knownName) !== '' ? 1 : 2 }
}
