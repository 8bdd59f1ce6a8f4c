/**
 * Counts the calls to one node that answers a limited number of calls per minute. The minute of the node begins with a
 * call that the edge may not know, so the limit is kept in every window of 60 s, whenever it begins (sliding window).
 *
 * Reads are paced. An idle node answers a burst of a third of its limit at once. After that, reads get the highest steady
 * rate that never uses up the window: what is free now, and what becomes free later, is spread evenly. So calls wait for
 * fractions of a second instead of the rest of a minute. Writes, retries and calls of the edge itself (probes, logins) are not
 * paced, and the last tenth of the limit is reserved for them.
 *
 * Times are milliseconds of any one clock.
 */

/** `reserved`: calls that may use the reserve, which are writes, retries and calls of the edge itself. */
export type BudgetShare = 'read' | 'reserved'

/**
 * How long a call counts after the second in which it was permitted: the minute of the node, and the time between the
 * permit and the arrival at the node.
 */
const COUNTED_MS = 62_000
const SECOND_MS = 1_000
const BURST_SHARE = 1 / 3
const RESERVE_SHARE = 0.1
/** Of a limit below 30, the reserve is half. */
const MIN_RESERVE = 15
/** After the node has refused a call, its minute may last this long. */
const CLOSED_MS = 60_000
/** While the window is closed, one call is let through in this time, because the minute of the node may end earlier. */
const TRIAL_INTERVAL_MS = 10_000

export type CallCounts = Map<number, number>

export class CallWindow {
  /** When the count began. Two counts that began at different times are different ones. */
  readonly born: number
  readonly #counts: CallCounts = new Map()
  /** Reads that may start at once. */
  #credit: number
  #creditAt: number
  #closedAt = Number.NEGATIVE_INFINITY
  #trialAt = Number.NEGATIVE_INFINITY

  constructor(now: number, credit = Number.POSITIVE_INFINITY) {
    this.born = Math.floor(now)
    this.#credit = credit
    this.#creditAt = now
  }

  /** Returns the calls that count at this time. */
  used(now: number): number {
    let used = 0
    for (const [second, calls] of this.#counts) if (endOf(second) > now) used += calls
    return used
  }

  /** Returns whether a call may be sent now, and counts it `cost` times. */
  take(share: BudgetShare, limit: number, now: number, cost = 1): boolean {
    this.#refill(limit, now)
    if (this.#waitForOpening(now, 1) > 0) return false
    if (this.used(now) + cost > boundOf(share, limit)) return false
    const burst = burstOf(limit)
    if (share === 'read' && this.#credit < Math.min(cost, burst)) return false
    if (this.isClosed(now)) this.#trialAt = now + TRIAL_INTERVAL_MS
    this.#credit = Math.max(0, this.#credit - cost)
    this.count(Math.floor(now / SECOND_MS), cost)
    return true
  }

  /** Adds calls of a second since 1970 (of the clock) that were permitted elsewhere. */
  count(second: number, calls: number): void {
    this.#counts.set(second, (this.#counts.get(second) ?? 0) + calls)
  }

  /** Returns the milliseconds until this number of further calls is permitted; Infinity if it never is. */
  waitFor(share: BudgetShare, calls: number, limit: number, now: number, cost = 1): number {
    const opening = this.#waitForOpening(now, calls)
    const needed = calls * cost
    const bound = boundOf(share, limit)
    if (needed > bound) return Number.POSITIVE_INFINITY
    const wait = Math.max(opening, this.#waitForRoom(needed, bound, now))
    if (share === 'reserved') return wait
    this.#refill(limit, now)
    const missing = (calls === 1 ? Math.min(needed, burstOf(limit)) : needed) - this.#credit
    return missing <= 0 ? wait : Math.max(wait, missing / (this.#pace(limit, now) || bound / COUNTED_MS))
  }

  /** Returns the reads that may start at once. */
  free(limit: number, now: number): number {
    if (this.isClosed(now)) return 0
    this.#refill(limit, now)
    return Math.max(0, Math.floor(Math.min(this.#credit, boundOf('read', limit) - this.used(now))))
  }

  /** The node refused a call: others use it too, and its minute is used up. */
  close(now: number): void {
    this.#closedAt = now
    this.#trialAt = now + TRIAL_INTERVAL_MS
    this.#credit = 0
  }

  /** The node answered a call that was sent at `sentAt`. */
  recordAnswer(sentAt: number): void {
    if (sentAt > this.#closedAt) this.#closedAt = Number.NEGATIVE_INFINITY
  }

  isClosed(now: number): boolean {
    return now < this.#closedAt + CLOSED_MS
  }

  /** Returns the state as text. */
  format(now: number): string {
    const credit = Number.isFinite(this.#credit) ? this.#credit : -1
    const times = [this.#creditAt, this.#closedAt, this.#trialAt].map((time) => (Number.isFinite(time) ? time : 0))
    const head = [this.born, credit.toFixed(3), ...times.map((time) => time.toFixed(0))].join(' ')
    const counts = [...this.#counts].filter(([second]) => endOf(second) > now)
    return `${head};${counts.map(([second, calls]) => `${second}=${calls};`).join('')}`
  }

  /** Returns the window of a text, or `undefined` for a text that `format` has not made. */
  static parse(text: string, now: number): CallWindow | undefined {
    const [, ...head] = /^(\d+) (-?[\d.]+) (\d+) (\d+) (\d+);/.exec(text) ?? []
    if (head.length === 0) return undefined
    const [born = 0, credit = 0, creditAt = 0, closedAt = 0, trialAt = 0] = head.map(Number)
    const window = new CallWindow(born, credit < 0 ? Number.POSITIVE_INFINITY : credit)
    // After the clock went back, no time may lie in the future for long.
    window.#creditAt = Math.min(creditAt, now)
    if (closedAt > 0) window.#closedAt = Math.min(closedAt, now)
    if (trialAt > 0) window.#trialAt = Math.min(trialAt, now + TRIAL_INTERVAL_MS)
    const latest = Math.floor(now / SECOND_MS)
    for (const part of text.split(';')) {
      const [, second, calls] = /^(\d+)=(\d+)$/.exec(part) ?? []
      if (calls !== undefined) window.count(Math.min(Number(second), latest), Number(calls))
    }
    return window
  }

  #waitForOpening(now: number, calls: number): number {
    if (!this.isClosed(now) || (calls === 1 && now >= this.#trialAt)) return 0
    return this.#closedAt + CLOSED_MS - now
  }

  #waitForRoom(needed: number, bound: number, now: number): number {
    let used = this.used(now)
    if (used + needed <= bound) return 0
    for (const [end, calls] of this.#ends(now)) {
      used -= calls
      if (used + needed <= bound) return end - now
    }
    return COUNTED_MS
  }

  #refill(limit: number, now: number): void {
    for (const second of this.#counts.keys()) if (endOf(second) <= now) this.#counts.delete(second)
    const elapsed = Math.max(0, now - this.#creditAt)
    this.#credit = Math.min(burstOf(limit), this.#credit + elapsed * this.#pace(limit, now))
    this.#creditAt = Math.max(now, this.#creditAt)
  }

  /** Returns the reads per millisecond that the window permits from now on without a pause. */
  #pace(limit: number, now: number): number {
    const bound = boundOf('read', limit)
    let free = bound - this.used(now)
    let pace = bound / COUNTED_MS
    for (const [end, calls] of this.#ends(now)) {
      if (end - now > SECOND_MS) pace = Math.min(pace, Math.max(0, free) / (end - now))
      free += calls
    }
    return pace
  }

  /** Returns when calls stop counting, in order. */
  #ends(now: number): [end: number, calls: number][] {
    const ends = [...this.#counts].map(([second, calls]): [number, number] => [endOf(second), calls])
    return ends.filter(([end]) => end > now).sort(([a], [b]) => a - b)
  }
}

function endOf(second: number): number {
  return (second + 1) * SECOND_MS + COUNTED_MS
}

function burstOf(limit: number): number {
  return Math.max(1, limit * BURST_SHARE)
}

/** Returns how many calls may count at once for a call of this share to be sent. */
function boundOf(share: BudgetShare, limit: number): number {
  if (share === 'reserved') return limit
  return limit - Math.min(Math.floor(limit / 2), Math.max(MIN_RESERVE, Math.ceil(limit * RESERVE_SHARE)))
}
