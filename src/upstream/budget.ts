/**
 * The budget of one node: the calls per minute that it answers (`cluster.limits.perMinute`), over all replicas and all
 * clients. The limiter starts a call only with a permit, and `meter` counts everything that is sent.
 */

import type { NodeCall } from '../core/node-call.ts'
import type { BudgetShare } from './call-window.ts'
import type { CallFailure } from './node-response.ts'
import { type NodePermits, PERMIT_LIFETIME_MS, type PermitCounts } from './permits.ts'

type Priority = NodeCall['priority']

/** The minute of a node. */
const UNKNOWN_WAIT_SECONDS = 60
/** Pause between two questions for permits, in milliseconds: another replica may have reopened the window meanwhile. */
const MIN_PAUSE_MS = 20
const MAX_PAUSE_MS = 1_000

const NONE: PermitCounts = { read: 0, reserved: 0 }

interface CallBudgetOptions {
  readonly permits: NodePermits
  /** Returns the calls per minute; 0: no limit. */
  readonly limit: () => number
  /** Monotonic milliseconds. */
  readonly clock: () => number
}

export class CallBudget {
  readonly #options: CallBudgetOptions
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
  #onChange: () => void = () => undefined

  constructor(options: CallBudgetOptions) {
    this.#options = options
  }

  /** The node has no limit. */
  get isOff(): boolean {
    return this.#options.limit() === 0
  }

  /** Calls that count now, of all replicas, and the limit. Undefined without a limit. */
  get state(): { readonly used: number; readonly limit: number } | undefined {
    const { permits, limit } = this.#options
    return this.isOff ? undefined : { used: permits.used, limit: limit() }
  }

  /** Reads that work may cause for which no client waits: it leaves half of what is free to clients. */
  get idle(): number {
    return this.isOff ? Number.POSITIVE_INFINITY : Math.floor(this.#options.permits.free / 2)
  }

  /** Calls `listener` when queued calls may start, or must wait much longer. */
  onChange(listener: () => void): void {
    this.#onChange = listener
  }

  /** Returns whether a call may start now. */
  allows(priority: Priority): boolean {
    return this.isOff || this.#find(priority) !== undefined
  }

  /** Uses a permit for a call that starts now. */
  take(priority: Priority): void {
    if (this.isOff) return
    this.#find(priority)?.shift()
    this.#started.push(this.#options.clock() + PERMIT_LIFETIME_MS)
  }

  /** Must be called after each change of the queue: how many queued calls would start with a permit. */
  want(wanted: PermitCounts): void {
    this.#wanted = wanted
    if (!this.isOff && !this.#isAsking) void this.#ask()
  }

  /** Returns the milliseconds until this number of calls, queued ones included, may be sent; Infinity: never. */
  waitFor(priority: Priority, calls: number): number {
    if (this.isOff) return 0
    const share = shareOf(priority)
    const further = calls - this.#permits[share].length - this.#asked[share]
    return further <= 0 ? 0 : this.#options.permits.waitFor(share, further)
  }

  /** Returns why the node gets no such call now, with the seconds until it may. */
  refusal(wait: number): { readonly detail: string; readonly retryAfter: number } {
    const retryAfter = Number.isFinite(wait) ? Math.max(1, Math.ceil(wait / 1000)) : UNKNOWN_WAIT_SECONDS
    return { detail: `limit of ${this.#options.limit()} calls per minute reached`, retryAfter }
  }

  /** Counts one attempt. Returns the failure of an attempt that must not be sent. */
  async pay(priority: Priority): Promise<CallFailure | undefined> {
    dropExpired(this.#started, this.#options.clock())
    if (this.#started.shift() !== undefined) return undefined
    const share = shareOf(priority)
    const granted = await this.#options.permits.take({ read: 0, reserved: 0, [share]: 1 })
    if (granted[share] > 0) return undefined
    return { fault: 'overloaded', ...this.refusal(this.waitFor(priority, 1)) }
  }

  /** The node refused a call, because its limit is reached. Returns the seconds until it answers again, at the latest. */
  recordRefusal(): number {
    const { permits } = this.#options
    if (this.isOff) return UNKNOWN_WAIT_SECONDS
    permits.recordRefusal()
    this.#permits.read.length = 0
    this.#permits.reserved.length = 0
    // Queued calls would be refused as well.
    setImmediate(() => this.#onChange())
    return this.refusal(this.waitFor('interactive', 2)).retryAfter
  }

  /** The node answered a call that was sent at `sentAt`, by `now`. */
  recordAnswer(sentAt: number): void {
    if (!this.isOff) this.#options.permits.recordAnswer(this.now() - sentAt)
  }

  now(): number {
    return this.#options.clock()
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#options.permits.close()
  }

  /** Returns the permits of which such a call may take one: writes and health checks may take those of reads. */
  #find(priority: Priority): number[] | undefined {
    const { read, reserved } = this.#permits
    const now = this.#options.clock()
    const usable = shareOf(priority) === 'read' ? [read] : [reserved, read]
    return usable.find((permits) => dropExpired(permits, now).length > 0)
  }

  async #ask(): Promise<void> {
    const { permits, clock } = this.#options
    const now = clock()
    const missing = (share: BudgetShare) => {
      if (this.#askAgainAt[share] > now) return 0
      return Math.max(0, this.#wanted[share] - dropExpired(this.#permits[share], now).length)
    }
    const wanted = { read: missing('read'), reserved: missing('reserved') }
    if (wanted.read + wanted.reserved === 0) return this.#askLater(now)
    this.#isAsking = true
    this.#asked = wanted
    const granted = await permits.take(wanted)
    this.#asked = NONE
    this.#isAsking = false
    const at = clock()
    for (const share of ['read', 'reserved'] as const) {
      for (let each = 0; each < granted[share]; each += 1) this.#permits[share].push(at + PERMIT_LIFETIME_MS)
      if (granted[share] < wanted[share]) this.#askAgainAt[share] = at + pauseOf(permits.waitFor(share, 1))
    }
    // The listener reports the queue again. Each call of it either starts calls or waits for the next time.
    if (granted.read + granted.reserved > 0) this.#onChange()
    else this.#askLater(at)
  }

  #askLater(now: number): void {
    clearTimeout(this.#timer)
    const due = (['read', 'reserved'] as const).filter((share) => this.#wanted[share] > 0)
    if (due.length === 0) return
    const next = Math.min(...due.map((share) => this.#askAgainAt[share]))
    if (next <= now) return
    this.#timer = setTimeout(() => this.#onChange(), next - now).unref()
  }
}

function shareOf(priority: Priority): BudgetShare {
  return priority === 'health' || priority === 'write' ? 'reserved' : 'read'
}

function pauseOf(wait: number): number {
  return Math.min(MAX_PAUSE_MS, Math.max(MIN_PAUSE_MS, wait)) * (1 + Math.random() / 4)
}

/** Removes the permits that have expired, which come first. */
function dropExpired(permits: number[], now: number): number[] {
  while ((permits[0] ?? Number.POSITIVE_INFINITY) <= now) permits.shift()
  return permits
}
