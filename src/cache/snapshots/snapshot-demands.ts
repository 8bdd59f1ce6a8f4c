/**
 * Decides when a snapshot is built: after two different queries of one collection, or for a page behind the first one. A
 * snapshot may take at most as many calls as queries come in its lifetime, or as pages are left of a walk through the
 * collection. Builds pause if the latest snapshots have answered fewer queries than they took calls.
 */

import type { PageWindow } from '../../collections/request.ts'
import { isNodeFailure, isOutageFailure } from '../../core/error-meanings.ts'
import type { NodeReads } from '../../core/node-call.ts'
import { RecentlyUsed } from '../../core/recently-used.ts'

interface KnownCollection {
  window: DemandWindow
  /** The number of rows; `undefined`: no response has shown it. */
  total: number | undefined
  /** Whether the latest response has covered some agents only. */
  isCut: boolean
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
  readonly queriesBefore: number
  /** The most pages that were left of a walk. */
  readonly pagesLeft: number
}

/** The calls that the latest build took, and the queries that were answered from it. */
interface LatestBuild {
  /** 0: there was none. */
  readonly calls: number
  readonly answered: number
  /** How many builds in a row have answered fewer queries than they took calls. */
  readonly unpaid: number
  readonly pausedUntil: number
}

const PAID = { unpaid: 0, pausedUntil: 0 } as const
const NO_BUILD: LatestBuild = { calls: 0, answered: 0, ...PAID }
const NO_WINDOW: DemandWindow = { query: '', end: 0, isWanted: false, queries: 0, queriesBefore: 0, pagesLeft: 0 }

/** Collections that are remembered, in each of two generations. */
const MAX_COLLECTIONS = 2500
/** A collection that cannot be read completely is not tried again before. */
const REFUSAL_MS = 30_000
/** The same if no node could be called: its attempts cost the nodes nothing, and the outage may be over. */
const OUTAGE_REFUSAL_MS = 1000
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
    const pagesLeft = offset > 0 ? Math.ceil(((known.total ?? 0) - offset) / limit) : 0
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
    const { window = NO_WINDOW, isCut, build = NO_BUILD } = this.#collections.get(key) ?? {}
    const calls = this.callsOf(key)
    // Without a snapshot, no response is complete.
    if (isCut || calls === 1) return true
    const isEnough = this.savesWalk(key) || calls <= Math.max(window.queries, window.queriesBefore)
    return isEnough && this.#clock() >= build.pausedUntil
  }

  /** Whether the pages that are left of a walk take more calls than the snapshot. */
  savesWalk(key: string): boolean {
    return (this.#collections.get(key)?.window.pagesLeft ?? 0) > this.callsOf(key)
  }

  /** The calls that a snapshot takes: those that its rows need, or more if the latest one took more. */
  callsOf(key: string): number {
    const { total = 0, build = NO_BUILD } = this.#collections.get(key) ?? {}
    return Math.max(1, Math.ceil(total / this.#nodeReads().rowsPerCall), build.calls)
  }

  /** Whether all rows take no more calls than one page. Those of some agents only take the price of a read, and are of no use. */
  isOnePage(key: string): boolean {
    const { total, isCut } = this.#collections.get(key) ?? {}
    return total !== undefined && !isCut && this.callsOf(key) === 1
  }

  /** Counts a query that was answered from the stored snapshot. */
  noteAnswered(key: string): void {
    const known = this.#collectionOf(key)
    const { calls, answered, ...rest } = known.build
    const hasPaid = answered + 1 >= calls
    known.build = { calls, answered: answered + 1, ...(hasPaid ? PAID : rest) }
  }

  /** Compares what the snapshot before this one took with what it answered. */
  noteBuild(key: string, calls: number): void {
    const known = this.#collectionOf(key)
    const { build } = known
    const hasPaid = build.calls <= 1 || build.answered >= build.calls
    const unpaid = build.unpaid + 1
    const pausedUntil = unpaid >= MAX_UNPAID_BUILDS ? this.#clock() + UNPAID_MS : build.pausedUntil
    known.build = { calls, answered: 0, ...(hasPaid ? PAID : { unpaid, pausedUntil }) }
  }

  /** The number of rows, if a response has shown it. */
  totalOf(key: string): number | undefined {
    return this.#collections.get(key)?.total
  }

  noteTotal(key: string, total: number): void {
    this.#collectionOf(key).total = total
  }

  /** Notes a response that covers some agents only. Returns whether one was noted before, so that a complete one is wanted. */
  isRepeatedlyCut(key: string): boolean {
    const known = this.#collectionOf(key)
    const wasCut = known.isCut
    known.isCut = true
    return wasCut && !this.isRefused(key)
  }

  /** Notes a response of the nodes that covers all agents. */
  noteWhole(key: string, total: number): void {
    Object.assign(this.#collectionOf(key), { total, isCut: false })
  }

  noteRefusal(key: string, error: unknown): void {
    const ms = isNodeFailure(error) && isOutageFailure(error.code) ? OUTAGE_REFUSAL_MS : REFUSAL_MS
    this.#collectionOf(key).refusal = { error, until: this.#clock() + ms }
  }

  /** Throws the error of the last attempt if the collection could not be read completely a short time ago. */
  throwIfRefused(key: string): void {
    if (this.isRefused(key)) throw this.#collections.get(key)?.refusal?.error
  }

  #collectionOf(key: string): KnownCollection {
    const known = this.#collections.get(key)
    if (known !== undefined) return known
    const created: KnownCollection = { window: NO_WINDOW, total: undefined, isCut: false, build: NO_BUILD }
    this.#collections.set(key, created)
    return created
  }
}
