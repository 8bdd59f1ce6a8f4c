/**
 * The budget of one node: the calls per minute that it answers (`cluster.limits.perMinute`), over all replicas and all
 * clients. The limiter starts a call only with a permit, and `attempt` counts everything that is sent.
 */
import type { NodeCall } from '../core/node-call.ts'
import type { BudgetShare } from './call-window.ts'
import type { Rejection } from './node-response.ts'
import { type PermitCounts, SHARES, SharedPermits, type SharedPermitsOptions } from './shared-permits.ts'

type Priority = NodeCall['priority']

/** The minute of a node. */
export const UNKNOWN_WAIT_SECONDS = 60
/** Pause between two questions for permits, in milliseconds: another replica may have reopened the window meanwhile. */
const MIN_PAUSE_MS = 20
const MAX_PAUSE_MS = 1_000
/** Between permit and sending, in milliseconds. */
const PERMIT_LIFETIME_MS = 500

const NONE: PermitCounts = { read: 0, reserved: 0 }

interface CallBudgetOptions extends SharedPermitsOptions {
  /** Monotonic milliseconds. */
  readonly clock: () => number
  /** Called when queued calls may start, or must wait much longer. */
  readonly onChange?: () => void
}

export class CallBudget {
  readonly #options: CallBudgetOptions
  readonly shared: SharedPermits
  /** When the permits of this process expire. */
  readonly #expiries: Record<BudgetShare, number[]> = { read: [], reserved: [] }
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
    this.#options = options
    this.shared = new SharedPermits(options)
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
    const further = calls - this.#expiries[share].length - this.#asked[share]
    return further <= 0 ? 0 : this.shared.waitFor(share, further)
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
    const granted = await this.shared.permit({ ...NONE, [share]: 1 })
    return granted[share] > 0 ? undefined : this.#rejectionFor(this.waitFor(priority, 1))
  }

  /** The node refused a call: others use it too. Returns the seconds until it answers again, at the latest. */
  recordRefusal(): number {
    this.shared.recordRefusal()
    for (const share of SHARES) this.#expiries[share].length = 0
    // Queued calls would be refused as well.
    setImmediate(() => this.#options.onChange?.())
    return this.#rejectionFor(this.waitFor('interactive', 2)).retryAfter
  }

  close(): void {
    clearTimeout(this.#timer)
    this.shared.close()
  }

  /** Returns the permits of which such a call may take one: writes and calls of the edge itself may take those of reads. */
  #find(priority: Priority): number[] | undefined {
    const { read, reserved } = this.#expiries
    const now = this.#options.clock()
    const usable = shareOf(priority) === 'read' ? [read] : [reserved, read]
    return usable.find((permits) => dropExpired(permits, now).length > 0)
  }

  async #ask(): Promise<void> {
    const { clock } = this.#options
    const now = clock()
    const missing = (share: BudgetShare) => {
      if (this.#askAgainAt[share] > now) return 0
      return Math.max(0, this.#wanted[share] - dropExpired(this.#expiries[share], now).length)
    }
    const wanted = { read: missing('read'), reserved: missing('reserved') }
    if (wanted.read + wanted.reserved === 0) return this.#askLater(now)
    this.#isAsking = true
    this.#asked = wanted
    const granted = await this.shared.permit(wanted)
    this.#asked = NONE
    this.#isAsking = false
    const at = clock()
    for (const share of SHARES) {
      for (let each = 0; each < granted[share]; each += 1) this.#expiries[share].push(at + PERMIT_LIFETIME_MS)
      if (granted[share] < wanted[share]) this.#askAgainAt[share] = at + pauseOf(this.shared.waitFor(share, 1))
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
