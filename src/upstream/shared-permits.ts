/**
 * The calls to one node that count, of all replicas, and permits for further ones (`call-window.ts` has the rules). If Redis is
 * unreachable, a replica goes on with the count that it knows, and counts each of its calls as often as there are replicas:
 * each has its share of what is left.
 */
import type { Counters } from '../core/counters.ts'
import { type BudgetShare, type CallCounts, CallWindow } from './call-window.ts'

/** Numbers of calls. */
export type PermitCounts = Readonly<Record<BudgetShare, number>>

/** In the order in which they get permits. */
export const SHARES = ['reserved', 'read'] as const satisfies readonly BudgetShare[]

/** Own calls are remembered for longer than they count. */
const OWN_CALLS_SECONDS = 65
const STORED_MS = 24 * 3600 * 1000

/** Changes the count. Returns whether it has changed. `weight`: how often each call counts. */
type Change = (window: CallWindow, now: number, weight: number) => boolean

export interface SharedPermitsOptions {
  readonly counters: Counters
  readonly node: string
  /** Returns the calls per minute of all replicas together; 0: no limit, and no permits are asked for. */
  readonly limit: () => number
}

export class SharedPermits {
  readonly #counters: Counters
  readonly #limit: () => number
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

  constructor({ counters, node, limit }: SharedPermitsOptions) {
    this.#counters = counters
    this.#limit = limit
    this.#name = `permits:${node}`
    this.#window = new CallWindow(counters.now())
    // A count that is not used is read as well, so that it is known when Redis becomes unreachable.
    this.close = counters.onBeat(() => {
      if (limit() > 0) void this.#change(() => false)
    })
  }

  /** Calls that count now, of all replicas, and the limit. */
  get state(): { readonly used: number; readonly limit: number } {
    return { used: this.#window.used(this.#counters.now()), limit: this.#limit() }
  }

  /** Reads that work may cause for which no client waits: it leaves half of what is free to clients. */
  get idle(): number {
    const { weight } = this.#counters
    return Math.floor(Math.floor(this.#window.free(this.#limit(), this.#counters.now()) / weight) / 2)
  }

  /** Returns the milliseconds until this number of further calls is permitted; Infinity: it never is. */
  waitFor(share: BudgetShare, calls: number): number {
    return this.#window.waitFor(share, calls, this.#limit(), this.#counters.now(), this.#counters.weight)
  }

  /** Counts calls, and returns how many of them may be sent now. */
  async permit(wanted: PermitCounts): Promise<PermitCounts> {
    const taken = { read: 0, reserved: 0 }
    await this.#change((window, now, weight) => {
      for (const share of SHARES) {
        taken[share] = 0
        while (taken[share] < wanted[share] && window.take(share, this.#limit(), now, weight)) taken[share] += 1
      }
      return taken.read + taken.reserved > 0
    })
    return taken
  }

  /** The node refused a call: others use it too. */
  recordRefusal(): void {
    this.#window.close(this.#counters.now())
    void this.#change((window, now) => {
      window.close(now)
      return true
    })
  }

  /** The node answered a call that was sent `ago` milliseconds before. */
  recordAnswer(ago: number): void {
    if (!this.#window.isClosed(this.#counters.now())) return
    void this.#change((window, now) => {
      window.recordAnswer(now - ago)
      return true
    })
  }

  #change(change: Change): Promise<void> {
    const step = this.#last.then(() => this.#step(change))
    this.#last = step.catch(() => undefined)
    return step
  }

  async #step(change: Change): Promise<void> {
    const result = await this.#counters.update([this.#name], (texts, { now, weight, isShared }) => {
      const { window, missing } = this.#open(texts.get(this.#name), now, isShared)
      const before = window.used(now)
      const isChanged = change(window, now, weight)
      if (isChanged || missing > 0) texts.set(this.#name, window.format(now), STORED_MS)
      const born = texts.get(this.#name) === '' ? undefined : window.born
      return { window, calls: (window.used(now) - before) / weight, now, isShared, born }
    })
    const { window, calls, now, isShared, born } = result
    this.#window = window
    remember(this.#own, now, calls)
    if (isShared) {
      this.#born = born
      this.#uncounted = new Map()
    } else remember(this.#uncounted, now, calls)
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
