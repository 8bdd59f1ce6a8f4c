/** The calls per minute to one node, which all replicas count together. */
import { type BudgetShare, type CallCounts, CallWindow } from '../core/call-window.ts'
import { redisKeys } from './options.ts'
import type { RedisReplica } from './replica.ts'
import { NOW, script } from './scripts.ts'

/** Numbers of calls. */
type PermitCounts = Readonly<Record<BudgetShare, number>>

/**
 * Replaces the count if it is still the one that the replica knows. KEYS: count. ARGV: the count that the replica knows, the
 * new one (empty: none). Returns whether it was replaced, the time of Redis in milliseconds, and if not,
 * the count.
 */
const REPLACE = script(
  NOW,
  `
local text = redis.call('GET', KEYS[1]) or ''
if text ~= ARGV[1] then return {0, now, text} end
if ARGV[2] ~= '' then redis.call('SET', KEYS[1], ARGV[2], 'PX', 86400000) end
return {1, now, ''}`,
)

/** A count that is not used is read in this time, so that it is known when Redis becomes unreachable. */
const MAX_AGE_MS = 1_000
/** Own calls are remembered for longer than they count. */
const OWN_CALLS_SECONDS = 65

/** `cost`: how often each call counts. */
type Change<T> = (window: CallWindow, now: number, cost: number) => T

export interface PermitLeaseOptions {
  readonly replica: Pick<RedisReplica, 'commands' | 'heartbeat' | 'elapsed' | 'times'>
  /** Name of the node. */
  readonly name: string
  /** Returns the calls per minute of all replicas together; 0: no limit. */
  readonly limit: () => number
  readonly onClose: () => void
}

export class PermitLease {
  readonly #options: PermitLeaseOptions
  /** The count in Redis, as far as it is known. */
  #text = ''
  /** The count in Redis with the calls that Redis does not count yet. */
  #window: CallWindow
  /** Milliseconds of Redis at the time 0 of this process. An estimate before the first reply. */
  #offset: number
  /** Permitted calls of this replica: those of the last minute, and those that Redis does not count yet. */
  readonly #own: CallCounts = new Map()
  #uncounted: CallCounts = new Map()
  #readAt = Number.NEGATIVE_INFINITY
  /** Steps run one after the other, so that no reply overtakes another. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(options: PermitLeaseOptions) {
    this.#options = options
    this.#offset = Date.now() - options.replica.elapsed()
    this.#window = new CallWindow(this.#now())
  }

  get used(): number {
    return this.#window.used(this.#now())
  }

  get free(): number {
    return Math.floor(this.#window.free(this.#options.limit(), this.#now()) / this.#cost)
  }

  waitFor(share: BudgetShare, calls: number): number {
    return this.#window.waitFor(share, calls, this.#options.limit(), this.#now(), this.#cost)
  }

  /** Counts calls and returns how many of them may be sent now. */
  take(wanted: PermitCounts): Promise<PermitCounts> {
    const takeAll: Change<PermitCounts> = (window, now, cost) => ({
      reserved: this.#takeAll(window, 'reserved', wanted.reserved, now, cost),
      read: this.#takeAll(window, 'read', wanted.read, now, cost),
    })
    return this.#run(takeAll, ({ read, reserved }) => read + reserved > 0)
  }

  /** The node refused a call because its limit is reached. */
  recordRefusal(): void {
    this.#window.close(this.#now())
    void this.#run(
      (window, now) => window.close(now),
      () => true,
    )
  }

  /** The node answered a call that was sent `ago` milliseconds ago. */
  recordAnswer(ago: number): void {
    if (!this.#window.isClosed(this.#now())) return
    void this.#run(
      (window, now) => window.recordAnswer(now - ago),
      () => true,
    )
  }

  /** Runs with each heartbeat. */
  refresh(): void {
    const { replica, limit } = this.#options
    if (limit() === 0 || replica.elapsed() - this.#readAt < MAX_AGE_MS) return
    void this.#run(
      () => undefined,
      () => false,
    )
  }

  close(): void {
    this.#options.onClose()
  }

  #takeAll(window: CallWindow, share: BudgetShare, wanted: number, now: number, cost: number): number {
    let taken = 0
    while (taken < wanted && window.take(share, this.#options.limit(), now, cost)) taken += 1
    return taken
  }

  /** Milliseconds of Redis. */
  #now(): number {
    return Math.max(0, Math.floor(this.#options.replica.elapsed() + this.#offset))
  }

  /** Redis is reachable, and all replicas count there. */
  get #isShared(): boolean {
    const { heartbeat } = this.#options.replica
    return heartbeat.lostAt === undefined && heartbeat.hasLeases
  }

  /** While Redis is unreachable, each replica assumes that the others send as many calls. */
  get #cost(): number {
    return this.#isShared ? 1 : this.#options.replica.heartbeat.replicas
  }

  /** `isChange`: whether a result of `change` means that the count has changed. */
  #run<T>(change: Change<T>, isChange: (result: T) => boolean): Promise<T> {
    const result = this.#last.then(() => this.#step(change, isChange))
    this.#last = result.catch(() => undefined)
    return result
  }

  /** Applies a change to the count in Redis, or to the count of this replica while Redis is unreachable. */
  async #step<T>(change: Change<T>, isChange: (result: T) => boolean): Promise<T> {
    // Each further attempt means that another replica has made a step.
    while (this.#isShared) {
      const now = this.#now()
      const window = this.#known(now)
      const before = window.used(now)
      const result = change(window, now, 1)
      const text = isChange(result) || this.#uncounted.size > 0 ? window.format(now) : ''
      const reply = await this.#replace(text)
      if (reply === undefined) break
      if (reply === 'other') continue
      this.#window = window
      if (text !== '') {
        this.#text = text
        this.#uncounted = new Map()
      }
      remember(this.#own, now, window.used(now) - before)
      return result
    }
    return this.#applyAlone(change)
  }

  #applyAlone<T>(change: Change<T>): T {
    const now = this.#now()
    const cost = this.#options.replica.heartbeat.replicas
    const before = this.#window.used(now)
    const result = change(this.#window, now, cost)
    const calls = (this.#window.used(now) - before) / cost
    remember(this.#own, now, calls)
    remember(this.#uncounted, now, calls)
    return result
  }

  /** Sends the count. Returns whether Redis has it, or another one; undefined if Redis is unreachable. */
  async #replace(text: string): Promise<'same' | 'other' | undefined> {
    const { replica, name } = this.#options
    const { commands, heartbeat, elapsed, times } = replica
    const keys = [redisKeys.permits(name)]
    const args = [this.#text, text]
    const reply = await commands.runScript<[number, number, string]>(REPLACE, keys, args, times.commandTimeout)
    heartbeat.reportReply(reply)
    if (!reply.ok) return undefined
    const [isSame, now, current] = reply.value
    this.#readAt = elapsed()
    this.#offset = now - this.#readAt
    if (isSame === 1) return 'same'
    this.#adopt(current)
    return 'other'
  }

  #adopt(text: string): void {
    const now = this.#now()
    const born = CallWindow.parse(text, now)?.born
    // Redis lost the count: it gets the calls of this replica again.
    if (this.#text !== '' && born !== CallWindow.parse(this.#text, now)?.born) this.#uncounted = new Map(this.#own)
    this.#text = text
  }

  /** Returns the count in Redis with the calls that it lacks. */
  #known(now: number): CallWindow {
    const isNew = this.#own.size === 0
    const window = CallWindow.parse(this.#text, now) ?? new CallWindow(now, isNew ? Number.POSITIVE_INFINITY : 0)
    for (const [second, calls] of this.#uncounted) window.count(second, calls)
    return window
  }
}

function remember(counts: CallCounts, now: number, calls: number): void {
  const second = Math.floor(now / 1000)
  if (calls > 0) counts.set(second, (counts.get(second) ?? 0) + calls)
  for (const each of counts.keys()) if (each < second - OWN_CALLS_SECONDS) counts.delete(each)
}
