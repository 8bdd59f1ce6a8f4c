/**
 * Attempts to log in, counted before they are verified: counted afterwards, parallel attempts all pass (CVE-2026-26206,
 * CVE-2026-93346). A name is slowed down for one address, an address for all names, and everybody a little when the
 * whole edge is under attack; no name is ever locked for all addresses, since anyone could lock out anyone.
 */
import { LRUCache } from 'lru-cache'
import type { Clock } from './clock.ts'
import { LeakyBuckets } from './leaky-buckets.ts'

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
const ADDRESSES_SHARE = 10
const EDGES_SHARE = 20
const LONGEST_DELAY = 1000
const KNOWN_FOR = 24 * 3600 * 1000

export interface AttemptOptions {
  /** Failures of one name from one address before the back-off begins; ten times as many for an address. */
  readonly failures: number
  readonly clock: Clock
}

/** Counters of this process. */
export function createAttempts({ failures, clock }: AttemptOptions): Attempts {
  const elapsed = () => clock.elapsed()
  const common = { first: 1000, longest: 60_000, elapsed }
  const pairs = new LeakyBuckets({ ...common, limit: failures, fade: 30_000, keys: 20_000 })
  const addresses = new LeakyBuckets({ ...common, limit: failures * ADDRESSES_SHARE, fade: 3000, keys: 10_000 })
  const edge = new LeakyBuckets({ ...common, limit: failures * EDGES_SHARE, fade: 100, longest: 0, keys: 1 })
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
        : { allowed: true, delay: Math.min(LONGEST_DELAY, over * 20), known: false }
    },
    async right(address, name) {
      pairs.forget(pair(address, name))
      addresses.takeBack(address)
      edge.takeBack(ALL)
      known.set(pair(address, name), elapsed() + KNOWN_FOR)
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
