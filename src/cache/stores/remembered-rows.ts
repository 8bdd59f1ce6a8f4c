/**
 * The decoded rows of the last listing. The next listing reads from Redis only the keys, their expiry and their hits,
 * and decodes the rows that were added or replaced since. A replaced row has another expiry, unless
 * both responses were fetched within the same millisecond.
 */
import type { EntryCodec } from './entry-codec.ts'
import { type IndexRow, RowDecoder } from './index-rows.ts'

export interface RememberedRow {
  /** Milliseconds since 1970 by the clock of Redis, as Redis returns them. */
  readonly expiry: string
  /** Undefined for a row that is damaged or that a write has invalidated: it is not listed while its expiry is the same. */
  row: IndexRow | undefined
  /** Generation and sequence of invalidations up to which the row is valid. */
  comparedAt: string
  /** The last listing that found the row, and its place there. */
  listing: number
  place: number
}

const IDLE_MS = 60_000

export class RememberedRows {
  readonly #codec: EntryCodec
  readonly #idleTime: number
  readonly #rows = new Map<string, Map<string, RememberedRow>>()
  #decoder: RowDecoder
  #listings = 0
  #idleTimer: NodeJS.Timeout | undefined

  /** `idleTime`: milliseconds without a listing after which the rows are discarded. */
  constructor(codec: EntryCodec, idleTime = IDLE_MS) {
    this.#codec = codec
    this.#idleTime = idleTime
    this.#decoder = new RowDecoder(codec)
  }

  get decoder(): RowDecoder {
    return this.#decoder
  }

  /** Returns the number of a new listing. */
  beginListing(): number {
    this.#startIdleTime()
    this.#listings += 1
    return this.#listings
  }

  /** The rows of a group, by key. */
  of(group: string): Map<string, RememberedRow> {
    const known = this.#rows.get(group)
    if (known !== undefined) return known
    const rows = new Map<string, RememberedRow>()
    this.#rows.set(group, rows)
    return rows
  }

  /** Discards the rows of a group that the listing did not find. Called at the end of each group. */
  forgetOthers(group: string, listing: number): void {
    // A listing may take longer than the idle time: without this, its last rows would never be discarded.
    this.#startIdleTime()
    const rows = this.of(group)
    for (const [key, each] of rows) if (each.listing !== listing) rows.delete(key)
    if (rows.size === 0) this.#rows.delete(group)
  }

  discard(): void {
    clearTimeout(this.#idleTimer)
    this.#rows.clear()
    this.#decoder = new RowDecoder(this.#codec)
  }

  #startIdleTime(): void {
    clearTimeout(this.#idleTimer)
    this.#idleTimer = setTimeout(() => this.discard(), this.#idleTime)
    this.#idleTimer.unref()
  }
}
