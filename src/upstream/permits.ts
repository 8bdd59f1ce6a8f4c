/**
 * The permits of one node that answers a limited number of calls per minute: all replicas together send at most as many
 * (`call-window.ts` has the rules). If Redis is unreachable, a replica goes on with the count that it knows, and counts
 * each call of its own as often as there are replicas: each has its share of what is left.
 */

import type { Counters } from '../core/counters.ts'
import { type BudgetShare, type CallCounts, CallWindow } from './call-window.ts'

/** Numbers of calls. */
export type PermitCounts = Readonly<Record<BudgetShare, number>>

/** Between permit and sending, in milliseconds. */
export const PERMIT_LIFETIME_MS = 500
/** Own calls are remembered for longer than they count. */
const OWN_CALLS_SECONDS = 65
const STORED_MS = 24 * 3600 * 1000

/** `weight`: how often each call counts. */
type Change<T> = (window: CallWindow, now: number, weight: number) => T

export interface PermitOptions {
  readonly counters: Counters
  /** Name of the node. */
  readonly node: string
  /** Returns the calls per minute of all replicas together; 0: no limit. */
  readonly limit: () => number
}

export class NodePermits {
  readonly #options: PermitOptions
  readonly #name: string
  /** The count as this process knows it, with the calls that are not counted for all replicas yet. */
  #window: CallWindow
  /** When the shared count began. */
  #born: number | undefined
  /** Permitted calls of this replica: those of the last minute, and those that the shared count lacks. */
  readonly #own: CallCounts = new Map()
  #uncounted: CallCounts = new Map()
  /** Steps run one after the other, so that no calls are counted twice. */
  #last: Promise<unknown> = Promise.resolve()
  readonly close: () => void

  constructor(options: PermitOptions) {
    const { counters, node, limit } = options
    this.#options = options
    this.#name = `permits:${node}`
    this.#window = new CallWindow(counters.now())
    // A count that is not used is read as well, so that it is known when Redis becomes unreachable.
    this.close = counters.onBeat(() => {
      if (limit() === 0) return
      void this.#run(
        () => undefined,
        () => false,
      )
    })
  }

  /** Calls that count now, of all replicas. */
  get used(): number {
    return this.#window.used(this.#options.counters.now())
  }

  /** Reads that would be permitted at once. */
  get free(): number {
    const { counters, limit } = this.#options
    return Math.floor(this.#window.free(limit(), counters.now()) / counters.weight)
  }

  /** Returns the milliseconds until this number of calls is permitted, as far as it is known; Infinity if it never is. */
  waitFor(share: BudgetShare, calls: number): number {
    const { counters, limit } = this.#options
    return this.#window.waitFor(share, calls, limit(), counters.now(), counters.weight)
  }

  /** Counts calls and returns how many of them may be sent now. A call must be sent within `PERMIT_LIFETIME_MS`. */
  take(wanted: PermitCounts): Promise<PermitCounts> {
    const takeAll = (share: BudgetShare, window: CallWindow, now: number, weight: number): number => {
      let taken = 0
      while (taken < wanted[share] && window.take(share, this.#options.limit(), now, weight)) taken += 1
      return taken
    }
    return this.#run(
      (...at) => ({ reserved: takeAll('reserved', ...at), read: takeAll('read', ...at) }),
      ({ read, reserved }) => read + reserved > 0,
    )
  }

  /** The node refused a call because its limit is reached: others use it too. */
  recordRefusal(): void {
    this.#window.close(this.#options.counters.now())
    void this.#run(
      (window, now) => window.close(now),
      () => true,
    )
  }

  /** The node answered a call that was sent `ago` milliseconds ago. */
  recordAnswer(ago: number): void {
    if (!this.#window.isClosed(this.#options.counters.now())) return
    void this.#run(
      (window, now) => window.recordAnswer(now - ago),
      () => true,
    )
  }

  /** `isChange`: whether a result of `change` means that the count has changed. */
  #run<T>(change: Change<T>, isChange: (result: T) => boolean): Promise<T> {
    const result = this.#last.then(() => this.#step(change, isChange))
    this.#last = result.catch(() => undefined)
    return result
  }

  async #step<T>(change: Change<T>, isChange: (result: T) => boolean): Promise<T> {
    const { counters } = this.#options
    const { window, result, calls, now, isShared, born } = await counters.update([this.#name], (texts, step) => {
      const { now, weight, isShared } = step
      const { window, missing } = this.#open(texts.get(this.#name), now, isShared)
      const before = window.used(now)
      const result = change(window, now, weight)
      if (isChange(result) || missing > 0) texts.set(this.#name, window.format(now), STORED_MS)
      const born = texts.get(this.#name) === '' ? undefined : window.born
      return { window, result, calls: (window.used(now) - before) / weight, now, isShared, born }
    })
    this.#window = window
    remember(this.#own, now, calls)
    if (isShared) {
      this.#born = born
      this.#uncounted = new Map()
    } else remember(this.#uncounted, now, calls)
    return result
  }

  /** Returns the count of a text, and if it is the shared one, with the calls that it lacks. */
  #open(text: string, now: number, isShared: boolean): { readonly window: CallWindow; readonly missing: number } {
    const window =
      CallWindow.parse(text, now) ?? new CallWindow(now, this.#own.size === 0 ? Number.POSITIVE_INFINITY : 0)
    if (!isShared) return { window, missing: 0 }
    // If Redis lost the count, it gets all calls of this replica again.
    const isLost = this.#born !== undefined && window.born !== this.#born
    const missing = isLost ? this.#own : this.#uncounted
    for (const [second, calls] of missing) window.count(second, calls)
    return { window, missing: missing.size }
  }
}

function remember(counts: CallCounts, now: number, calls: number): void {
  const second = Math.floor(now / 1000)
  if (calls > 0) counts.set(second, (counts.get(second) ?? 0) + calls)
  for (const each of counts.keys()) if (each < second - OWN_CALLS_SECONDS) counts.delete(each)
}
