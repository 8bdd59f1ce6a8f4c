/**
 * Decides when a snapshot is built: after two different queries of one collection, or for a page behind the first one. A
 * snapshot may take at most as many calls as queries come in its lifetime, or as pages are left of a walk through the
 * collection. Builds pause if the latest snapshots have answered fewer queries than they took calls.
 */

import type { PageWindow } from '../../collections/request.ts'
import { RecentlyUsed } from '../../core/recently-used.ts'
import type { NodeReads } from './derivation.ts'

function callsFor(total: number, { rowsPerCall }: NodeReads): number {
  return Math.max(1, Math.ceil(total / rowsPerCall))
}

/** What is known of a collection: four states, each replaced as a whole. */
interface KnownCollection {
  window: DemandWindow
  rows: KnownRows
  build: LatestBuild
  /** Why it could not be read, and until when it is not tried again. */
  refusal?: { readonly error: unknown; readonly until: number }
}

/** The queries that a snapshot has answered or could have answered, in a window of the lifetime of a snapshot. */
interface DemandWindow {
  /** The first query. */
  readonly query: string
  /** By the clock, in milliseconds. */
  readonly end: number
  readonly isWanted: boolean
  readonly queries: number
  /** Those of the window before. */
  readonly queriesBefore: number
  /** The most pages that were left of a walk. */
  readonly pagesLeft: number
}

/** `cut`: the latest response has covered some agents only. */
type KnownRows =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'whole'; readonly total: number }
  | { readonly kind: 'cut'; readonly total?: number }

/** The calls that the latest build took, and the queries that were answered from it. `unpaid`: fewer, `builds` times in a row. */
type LatestBuild =
  | { readonly kind: 'none' }
  | { readonly kind: 'paid'; readonly calls: number; readonly answered: number }
  | {
      readonly kind: 'unpaid'
      readonly calls: number
      readonly answered: number
      readonly builds: number
      readonly pausedUntil: number
    }

const NO_BUILD: LatestBuild = { kind: 'none' }
const NO_WINDOW: DemandWindow = { query: '', end: 0, isWanted: false, queries: 0, queriesBefore: 0, pagesLeft: 0 }

/** Collections that are remembered, in each of two generations. */
const MAX_COLLECTIONS = 2500
/** A collection that cannot be read completely is not tried again before. */
const REFUSAL_MS = 30_000
/** A snapshot of several calls that has answered fewer queries than it took calls so often is not built again for a while. */
const MAX_UNPAID_BUILDS = 2
const UNPAID_MS = 600_000

export class SnapshotDemands {
  readonly #clock: () => number
  readonly #nodeReads: () => NodeReads
  readonly #collections = new RecentlyUsed<KnownCollection>(MAX_COLLECTIONS)

  constructor(clock: () => number, nodeReads: () => NodeReads) {
    this.#clock = clock
    this.#nodeReads = nodeReads
  }

  /** Counts a query that a snapshot can answer. `query`: its own key. `window`: milliseconds that a snapshot is fresh. */
  note(key: string, query: string, { offset, limit }: PageWindow, window: number): void {
    const now = this.#clock()
    const known = this.#collectionOf(key)
    const before = known.window
    const queriesBefore = now < before.end + window ? before.queries : 0
    const current = now < before.end ? before : { ...NO_WINDOW, query, end: now + window, queriesBefore }
    const pagesLeft = offset > 0 ? Math.ceil(((totalOf(known.rows) ?? 0) - offset) / limit) : 0
    known.window = {
      ...current,
      queries: current.queries + 1,
      isWanted: current.isWanted || offset > 0 || query !== current.query,
      pagesLeft: Math.max(current.pagesLeft, pagesLeft),
    }
  }

  /** Whether the queries that were counted want a snapshot. */
  isWanted(key: string): boolean {
    return this.#collections.get(key)?.window.isWanted === true && !this.isRefused(key) && this.paysFor(key)
  }

  /** Whether the collection could not be read completely a short time ago. */
  isRefused(key: string): boolean {
    return this.#clock() < (this.#collections.get(key)?.refusal?.until ?? 0)
  }

  /**
   * Whether as many queries come in the lifetime of a snapshot as it takes calls, or pages are left of a walk, and the latest ones
   * have paid.
   */
  paysFor(key: string): boolean {
    const { window = NO_WINDOW, rows, build = NO_BUILD } = this.#collections.get(key) ?? {}
    const calls = this.callsOf(key)
    // Without a snapshot, no response is complete.
    if (rows?.kind === 'cut' || calls === 1) return true
    const isEnough = this.savesWalk(key) || calls <= Math.max(window.queries, window.queriesBefore)
    return isEnough && (build.kind !== 'unpaid' || this.#clock() >= build.pausedUntil)
  }

  /** Whether the pages that are left of a walk take more calls than the snapshot. */
  savesWalk(key: string): boolean {
    return (this.#collections.get(key)?.window.pagesLeft ?? 0) > this.callsOf(key)
  }

  /** The calls that a snapshot takes: those that its rows need, or more if the latest one took more. */
  callsOf(key: string): number {
    const { build = NO_BUILD } = this.#collections.get(key) ?? {}
    return Math.max(callsFor(this.totalOf(key) ?? 0, this.#nodeReads()), build.kind === 'none' ? 0 : build.calls)
  }

  /** Whether all rows take no more calls than one page. Those of some agents only take the price of a read, and are of no use. */
  isOnePage(key: string): boolean {
    return this.#collections.get(key)?.rows.kind === 'whole' && this.callsOf(key) === 1
  }

  /** Counts a query that was answered from the stored snapshot. */
  noteAnswered(key: string): void {
    const known = this.#collectionOf(key)
    const { build } = known
    if (build.kind === 'none') return
    const answered = build.answered + 1
    known.build = answered < build.calls ? { ...build, answered } : { kind: 'paid', calls: build.calls, answered }
  }

  /** Compares what the snapshot before this one took with what it answered. */
  noteBuild(key: string, calls: number): void {
    const known = this.#collectionOf(key)
    const { build } = known
    if (build.kind === 'none' || build.calls <= 1 || build.answered >= build.calls) {
      known.build = { kind: 'paid', calls, answered: 0 }
      return
    }
    const { builds, pausedUntil } = build.kind === 'unpaid' ? build : { builds: 0, pausedUntil: 0 }
    const isPaused = builds + 1 >= MAX_UNPAID_BUILDS
    known.build = {
      ...{ kind: 'unpaid', calls, answered: 0, builds: builds + 1 },
      pausedUntil: isPaused ? this.#clock() + UNPAID_MS : pausedUntil,
    }
  }

  /** The number of rows, if a response has shown it. */
  totalOf(key: string): number | undefined {
    const known = this.#collections.get(key)
    return known && totalOf(known.rows)
  }

  noteTotal(key: string, total: number): void {
    const known = this.#collectionOf(key)
    known.rows = { kind: known.rows.kind === 'cut' ? 'cut' : 'whole', total }
  }

  /** Notes a response that covers some agents only. Returns whether one was noted before, so that a complete one is wanted. */
  isRepeatedlyCut(key: string): boolean {
    const known = this.#collectionOf(key)
    const { rows } = known
    known.rows = { ...rows, kind: 'cut' }
    return rows.kind === 'cut' && !this.isRefused(key)
  }

  /** Notes a response of the nodes that covers all agents. */
  noteWhole(key: string, total: number): void {
    this.#collectionOf(key).rows = { kind: 'whole', total }
  }

  noteRefusal(key: string, error: unknown): void {
    this.#collectionOf(key).refusal = { error, until: this.#clock() + REFUSAL_MS }
  }

  /** Throws the error of the last attempt if the collection could not be read completely a short time ago. */
  throwIfRefused(key: string): void {
    if (this.isRefused(key)) throw this.#collections.get(key)?.refusal?.error
  }

  #collectionOf(key: string): KnownCollection {
    const known = this.#collections.get(key)
    if (known !== undefined) return known
    const created: KnownCollection = { window: NO_WINDOW, rows: { kind: 'unknown' }, build: NO_BUILD }
    this.#collections.set(key, created)
    return created
  }
}

function totalOf(rows: KnownRows): number | undefined {
  return rows.kind === 'unknown' ? undefined : rows.total
}
