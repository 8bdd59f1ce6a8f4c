/**
 * The rows of snapshots. The stored head of a snapshot is short: it names the rows by an id. This process has the
 * rows as text and as columns, within their own bound of memory, so that they never evict other responses. All replicas
 * find them in the shared store, in parts. Each part carries the id, so rows of two snapshots are never mixed.
 */
import { randomUUID } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { type QueriedRows, readParts } from '../../collections/queried-rows.ts'
import type { Source } from '../../collections/sources.ts'
import type { SnapshotState } from '../../core/cache.ts'
import { RecentlyUsed } from '../../core/recently-used.ts'
import type { CacheTarget } from '../key.ts'
import type { SharedParts } from '../stores/contract.ts'
import type { SnapshotHead } from './head.ts'

/** All rows of a collection as JSON lists of some rows each. */
export interface CollectionRows {
  readonly totalItems: number
  readonly parts: readonly Buffer[]
  /** The sum of the parts. */
  readonly bytes: number
}

interface Storing {
  readonly ms: number
  readonly replaced: SnapshotHead | undefined
  /** Whether other replicas may read the rows. Default: yes. */
  readonly isShared?: boolean
  /** Absent: a new one. */
  readonly id?: string
}

type StoredRows = Promise<QueriedRows | undefined>

type SnapshotPlace = Pick<CacheTarget, 'key' | 'info'>

interface HeldRows {
  readonly place: SnapshotPlace
  readonly head: SnapshotHead
  readonly rows: StoredRows
}

/**
 * About half of what a snapshot takes in memory besides its rows, 8 to 16 KB: columns, ranks, a timer. Rows count by their
 * text, which is half of what they take.
 */
const OVERHEAD_BYTES = 8 * 1024
/** Rows of which some are missing are read again after this time. */
const MISSING_MS = 1000
/** Collections whose counts are remembered, in each of two generations. */
const MAX_COUNTED = 1000

interface SnapshotRowsOptions {
  /** Absent: no other replica reads the rows. */
  readonly shared: SharedParts | undefined
  /** Returns the maximum of the bytes of all rows, as text. */
  readonly maxBytes: () => number
}

/**
 * Clients wait for the rows: a round trip for each part would take seconds over a slow link. Together these have 1 MiB, as one
 * part of a body.
 */
const PARTS_AT_ONCE = 16

/** Of rows that are not stored for other replicas. */
const OWN_SIDE = 2

type Counts = Pick<SnapshotState, 'queries' | 'calls' | 'needsAllRows'>

export class SnapshotRows {
  readonly #options: SnapshotRowsOptions
  /** By key and side: at most two snapshots of one collection. */
  readonly #rows = new LRUCache<string, HeldRows>({
    maxSize: Number.MAX_SAFE_INTEGER,
    sizeCalculation: ({ head }) => head.bytes + OVERHEAD_BYTES,
    // A timer for each snapshot: the memory is freed although no request comes.
    ttlAutopurge: true,
    ttl: 0,
  })

  readonly #counts = new RecentlyUsed<Counts>(MAX_COUNTED)

  constructor(options: SnapshotRowsOptions) {
    this.#options = options
  }

  /** The snapshots whose rows are in this process, each collection once. */
  states(): readonly SnapshotState[] {
    const states = new Map<string, SnapshotState>()
    // The most recently used come first: of a snapshot and the one that it replaced, the new one.
    for (const { place, head } of this.#rows.values()) {
      if (states.has(place.key)) continue
      const { url, group } = place.info
      states.set(place.key, { url, group, rows: head.totalItems, bytes: head.bytes, ...this.#countsOf(place.key) })
    }
    return [...states.values()]
  }

  count(key: string, { queries = 0, calls = 0, needsAllRows }: Partial<Counts>): void {
    const counts = this.#countsOf(key)
    this.#counts.set(key, {
      queries: counts.queries + queries,
      calls: counts.calls + calls,
      needsAllRows: needsAllRows ?? counts.needsAllRows,
    })
  }

  #countsOf(key: string): Counts {
    return this.#counts.get(key) ?? { queries: 0, calls: 0, needsAllRows: false }
  }

  /**
   * Stores the rows of a new snapshot for `ms` milliseconds, and returns its head. Returns undefined if other replicas
   * could not read them. `replaced`: the head of the snapshot that is stored now.
   */
  async add(
    place: SnapshotPlace,
    { totalItems, parts, bytes, others = {}, frame }: CollectionRows & Pick<SnapshotHead, 'others' | 'frame'>,
    source: Source,
    { ms, replaced, isShared = true, id = randomUUID() }: Storing,
  ): Promise<SnapshotHead | undefined> {
    const shared = isShared ? this.#options.shared : undefined
    // Rows of an incomplete response, which is not stored, must not take the place of those of a stored one.
    const side = !isShared ? OWN_SIDE : replaced?.side === 0 ? 1 : 0
    const named = { ...(Object.keys(others).length > 0 && { others }), ...(frame && { frame }) }
    const head = { id, side, parts: parts.length, bytes, ...named, totalItems } as const
    if (shared !== undefined && !(await shared.set(sideOf(place, head), head.id, parts, ms))) return undefined
    this.#put(place, head, readParts(parts, source), ms)
    return head
  }

  /** Returns the rows of a snapshot; undefined if some of them are missing. `ms`: how long they may be needed. */
  find(place: SnapshotPlace, head: SnapshotHead, source: Source, ms: number): StoredRows {
    const held = this.held(place, head)
    if (held !== undefined) return held
    const rows = this.#read(place, head, source)
    this.#put(place, head, rows, ms)
    // Each query would read the others again, and Redis may return those that are missing later.
    const pause = () => {
      if (this.#rows.peek(sideOf(place, head))?.rows === rows) this.#put(place, head, rows, Math.min(ms, MISSING_MS))
    }
    rows.then((found) => found ?? pause(), pause)
    return rows
  }

  /** As `find`, in the memory of this process alone. */
  held(place: SnapshotPlace, head: SnapshotHead): StoredRows | undefined {
    const known = this.#rows.get(sideOf(place, head))
    return known?.head.id === head.id ? known.rows : undefined
  }

  /** Returns the head of rows that only this process has. */
  ownHead({ key }: SnapshotPlace, id: string): SnapshotHead | undefined {
    const head = this.#rows.get(`${key}:${OWN_SIDE}`)?.head
    return head?.id === id ? head : undefined
  }

  #put(place: SnapshotPlace, head: SnapshotHead, rows: StoredRows, ms: number): void {
    const maxBytes = this.#options.maxBytes()
    if (head.bytes > maxBytes) return
    this.#rows.set(sideOf(place, head), { place, head, rows }, { ttl: Math.max(1, Math.ceil(ms)) })
    while (this.#rows.calculatedSize > maxBytes && this.#rows.size > 1) this.#rows.pop()
  }

  async #read(place: SnapshotPlace, head: SnapshotHead, source: Source): StoredRows {
    const { shared, maxBytes } = this.#options
    if (shared === undefined || head.bytes > maxBytes()) return undefined
    const parts = await shared.get(sideOf(place, head), head.id, head.parts, { atOnce: PARTS_AT_ONCE })
    if (parts === undefined) return undefined
    const rows = await readParts(parts, source)
    return [rows.table.length, rows.texts.length].every((length) => length === head.totalItems) ? rows : undefined
  }
}

function sideOf({ key }: SnapshotPlace, { side }: SnapshotHead): string {
  return `${key}:${side}`
}
