/**
 * The budget of one node: the calls per minute that it answers (`cluster.limits.perMinute`), over all replicas and all
 * clients (`call-window.ts` has the rules). The limiter starts a call only with a permit, and `countCall` counts
 * everything that is sent. If Redis is unreachable, a replica goes on with the count that it knows, and counts each call of
 * its own as often as there are replicas: each has its share of what is left.
 */

import type { Counters } from '../core/counters.ts'
import type { NodeCall } from '../core/node-call.ts'
import { type BudgetShare, type CallCounts, CallWindow } from './call-window.ts'
import type { Rejection } from './node-response.ts'

type Priority = NodeCall['priority']
/** Numbers of calls. */
export type PermitCounts = Readonly<Record<BudgetShare, number>>

/** The minute of a node. */
export const UNKNOWN_WAIT_SECONDS = 60
/** Pause between two questions for permits, in milliseconds: another replica may have reopened the window meanwhile. */
const MIN_PAUSE_MS = 20
const MAX_PAUSE_MS = 1_000
/** Between permit and sending, in milliseconds. */
const PERMIT_LIFETIME_MS = 500
/** Own calls are remembered for longer than they count. */
const OWN_CALLS_SECONDS = 65
const STORED_MS = 24 * 3600 * 1000

/** In the order in which they get permits. */
const SHARES = ['reserved', 'read'] as const satisfies readonly BudgetShare[]
const NONE: PermitCounts = { read: 0, reserved: 0 }

/** Changes the count. Returns whether it has changed. `weight`: how often each call counts. */
type Change = (window: CallWindow, now: number, weight: number) => boolean

interface CallBudgetOptions {
  readonly counters: Counters
  readonly node: string
  /** Returns the calls per minute of all replicas together; 0: no limit, and the budget is not used. */
  readonly limit: () => number
  /** Monotonic milliseconds. */
  readonly clock: () => number
  /** Called when queued calls may start, or must wait much longer. */
  readonly onChange?: () => void
}

export class CallBudget {
  readonly #options: CallBudgetOptions
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
  readonly #endBeats: () => void
  /** When the permits of this process expire. */
  readonly #permits: Record<BudgetShare, number[]> = { read: [], reserved: [] }
  /** The same of calls that were started and not sent yet. */
  readonly #started: number[] = []
  /** Queued calls that would start with a permit. */
  #wanted: PermitCounts = NONE
  readonly #askAgainAt: Record<BudgetShare, number> = { read: 0, reserved: 0 }
  /** Permits that are being asked for: they may be counted already. */
  #asked: PermitCounts = NONE
  #isAsking = false
  #timer: NodeJS.Timeout | undefined

  constructor(options: CallBudgetOptions) {
    const { counters, node } = options
    this.#options = options
    this.#name = `permits:${node}`
    this.#window = new CallWindow(counters.now())
    // A count that is not used is read as well, so that it is known when Redis becomes unreachable.
    this.#endBeats = counters.onBeat(() => {
      if (options.limit() > 0) void this.#change(() => false)
    })
  }

  /** Calls that count now, of all replicas, and the limit. */
  get state(): { readonly used: number; readonly limit: number } {
    const { counters, limit } = this.#options
    return { used: this.#window.used(counters.now()), limit: limit() }
  }

  /** Reads that work may cause for which no client waits: it leaves half of what is free to clients. */
  get idle(): number {
    const { counters, limit } = this.#options
    return Math.floor(Math.floor(this.#window.free(limit(), counters.now()) / counters.weight) / 2)
  }

  /** Returns whether a call may start now. */
  allows(priority: Priority): boolean {
    return this.#find(priority) !== undefined
  }

  /** Uses a permit for a call that starts now. */
  take(priority: Priority): void {
    this.#find(priority)?.shift()
    this.#started.push(this.#options.clock() + PERMIT_LIFETIME_MS)
  }

  /** Must be called after each change of the queue: how many queued calls would start with a permit. */
  want(wanted: PermitCounts): void {
    this.#wanted = wanted
    if (!this.#isAsking) void this.#ask()
  }

  /** Returns the milliseconds until this number of calls, queued ones included, may be sent; Infinity: never. */
  waitFor(priority: Priority, calls: number): number {
    const share = shareOf(priority)
    const further = calls - this.#permits[share].length - this.#asked[share]
    return further <= 0 ? 0 : this.#waitForPermits(share, further)
  }

  /** Returns why this number of calls, queued ones included, is not sent within `time` milliseconds; `undefined`: it is. */
  rejection(priority: Priority, calls = 1, time = 0): Rejection | undefined {
    const wait = this.waitFor(priority, calls)
    return wait > time ? this.#rejectionFor(wait) : undefined
  }

  #rejectionFor(wait: number): Rejection {
    const retryAfter = Number.isFinite(wait) ? Math.max(1, Math.ceil(wait / 1000)) : UNKNOWN_WAIT_SECONDS
    return { ok: false, fault: 'overloaded', reason: 'callLimit', about: this.#options.limit(), retryAfter }
  }

  /** Counts one attempt. Returns the rejection of an attempt that must not be sent. */
  async pay(priority: Priority): Promise<Rejection | undefined> {
    dropExpired(this.#started, this.#options.clock())
    if (this.#started.shift() !== undefined) return undefined
    const share = shareOf(priority)
    const granted = await this.permit({ ...NONE, [share]: 1 })
    return granted[share] > 0 ? undefined : this.#rejectionFor(this.waitFor(priority, 1))
  }

  /** Counts calls and returns how many of them may be sent now, each within `PERMIT_LIFETIME_MS`. */
  async permit(wanted: PermitCounts): Promise<PermitCounts> {
    const taken = { read: 0, reserved: 0 }
    await this.#change((window, now, weight) => {
      const limit = this.#options.limit()
      for (const share of SHARES) {
        taken[share] = 0
        while (taken[share] < wanted[share] && window.take(share, limit, now, weight)) taken[share] += 1
      }
      return taken.read + taken.reserved > 0
    })
    return taken
  }

  /** The node refused a call: others use it too. Returns the seconds until it answers again, at the latest. */
  recordRefusal(): number {
    this.#window.close(this.#options.counters.now())
    void this.#change((window, now) => {
      window.close(now)
      return true
    })
    for (const share of SHARES) this.#permits[share].length = 0
    // Queued calls would be refused as well.
    setImmediate(() => this.#options.onChange?.())
    return this.#rejectionFor(this.waitFor('interactive', 2)).retryAfter
  }

  /** The node answered a call that was sent `ago` milliseconds before. */
  recordAnswer(ago: number): void {
    if (!this.#window.isClosed(this.#options.counters.now())) return
    void this.#change((window, now) => {
      window.recordAnswer(now - ago)
      return true
    })
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#endBeats()
  }

  /** Returns the permits of which such a call may take one: writes and calls of the edge itself may take those of reads. */
  #find(priority: Priority): number[] | undefined {
    const { read, reserved } = this.#permits
    const now = this.#options.clock()
    const usable = shareOf(priority) === 'read' ? [read] : [reserved, read]
    return usable.find((permits) => dropExpired(permits, now).length > 0)
  }

  #waitForPermits(share: BudgetShare, calls: number): number {
    const { counters, limit } = this.#options
    return this.#window.waitFor(share, calls, limit(), counters.now(), counters.weight)
  }

  async #ask(): Promise<void> {
    const { clock } = this.#options
    const now = clock()
    const missing = (share: BudgetShare) => {
      if (this.#askAgainAt[share] > now) return 0
      return Math.max(0, this.#wanted[share] - dropExpired(this.#permits[share], now).length)
    }
    const wanted = { read: missing('read'), reserved: missing('reserved') }
    if (wanted.read + wanted.reserved === 0) return this.#askLater(now)
    this.#isAsking = true
    this.#asked = wanted
    const granted = await this.permit(wanted)
    this.#asked = NONE
    this.#isAsking = false
    const at = clock()
    for (const share of SHARES) {
      for (let each = 0; each < granted[share]; each += 1) this.#permits[share].push(at + PERMIT_LIFETIME_MS)
      if (granted[share] < wanted[share]) this.#askAgainAt[share] = at + pauseOf(this.#waitForPermits(share, 1))
    }
    // The listener reports the queue again. Each call of it either starts calls or waits for the next time.
    if (granted.read + granted.reserved > 0) this.#options.onChange?.()
    else this.#askLater(at)
  }

  #askLater(now: number): void {
    clearTimeout(this.#timer)
    const due = SHARES.filter((share) => this.#wanted[share] > 0)
    const next = Math.min(...due.map((share) => this.#askAgainAt[share]))
    if (due.length === 0 || next <= now) return
    this.#timer = setTimeout(() => this.#options.onChange?.(), next - now).unref()
  }

  #change(change: Change): Promise<void> {
    const step = this.#last.then(() => this.#step(change))
    this.#last = step.catch(() => undefined)
    return step
  }

  async #step(change: Change): Promise<void> {
    const { counters } = this.#options
    const { window, calls, now, isShared, born } = await counters.update([this.#name], (texts, step) => {
      const { now, weight, isShared } = step
      const { window, missing } = this.#open(texts.get(this.#name), now, isShared)
      const before = window.used(now)
      const isChanged = change(window, now, weight)
      if (isChanged || missing > 0) texts.set(this.#name, window.format(now), STORED_MS)
      const born = texts.get(this.#name) === '' ? undefined : window.born
      return { window, calls: (window.used(now) - before) / weight, now, isShared, born }
    })
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

function shareOf(priority: Priority): BudgetShare {
  return priority === 'own' || priority === 'write' ? 'reserved' : 'read'
}

function pauseOf(wait: number): number {
  return Math.min(MAX_PAUSE_MS, Math.max(MIN_PAUSE_MS, wait)) * (1 + Math.random() / 4)
}

/** Removes the permits that have expired, which come first. */
function dropExpired(permits: number[], now: number): number[] {
  while ((permits[0] ?? Number.POSITIVE_INFINITY) <= now) permits.shift()
  return permits
}

function remember(counts: CallCounts, now: number, calls: number): void {
  const second = Math.floor(now / 1000)
  if (calls > 0) counts.set(second, (counts.get(second) ?? 0) + calls)
  for (const each of counts.keys()) if (each < second - OWN_CALLS_SECONDS) counts.delete(each)
}
