/** Decides when a snapshot is built: after two different queries of one collection, or for a page behind the first one. */
import { RecentlyUsed } from '../../core/recently-used.ts'

interface KnownCollection {
  /** The first query, and when its demand ends; the clock in milliseconds. */
  query: string
  expiresAt: number
  isWanted: boolean
  total: number | undefined
  refusedUntil: number
}

/** Collections that are remembered, in each of two generations. */
const MAX_COLLECTIONS = 2500
/** A collection that cannot be read completely is not tried again before. */
const REFUSAL_MS = 30_000

export class SnapshotDemands {
  readonly #clock: () => number
  readonly #collections = new RecentlyUsed<KnownCollection>(MAX_COLLECTIONS)

  constructor(clock: () => number) {
    this.#clock = clock
  }

  /** Notes a query that no snapshot could answer. Returns whether to build one. `ms`: how long the demand counts. */
  note(key: string, query: string, isLaterPage: boolean, ms: number): boolean {
    const now = this.#clock()
    const known = this.#collectionOf(key)
    if (now >= known.expiresAt) Object.assign(known, { query, expiresAt: now + ms, isWanted: false })
    if (isLaterPage || query !== known.query) known.isWanted = true
    return known.isWanted && now >= known.refusedUntil
  }

  /** The number of rows, if a response has shown it. */
  totalOf(key: string): number | undefined {
    return this.#collections.get(key)?.total
  }

  noteTotal(key: string, total: number): void {
    this.#collectionOf(key).total = total
  }

  noteRefusal(key: string): void {
    this.#collectionOf(key).refusedUntil = this.#clock() + REFUSAL_MS
  }

  #collectionOf(key: string): KnownCollection {
    const known = this.#collections.get(key)
    if (known !== undefined) return known
    const created = { query: '', expiresAt: 0, isWanted: false, total: undefined, refusedUntil: 0 }
    this.#collections.set(key, created)
    return created
  }
}
