/**
 * Whether Redis is reachable, and since when its data may be used. Nothing that was stored or read before is served. And the
 * lease of the local tier, which follows from heartbeats that came back over the subscription of this replica.
 */
import { explainFailure } from './failures.ts'
import type { OnStoreEvent, RedisTimes } from './options.ts'

export interface TrustOptions {
  readonly times: RedisTimes
  readonly elapsed: () => number
  readonly onEvent: OnStoreEvent
}

/**
 * Why reads do not use Redis. `slow`: its replies come later than a read waits; writes wait longer. `lost`: there is no
 * connection, Redis refuses commands, or invalidations are pending.
 */
export type Outage = 'slow' | 'lost'

/** What the store does after an outage. */
export interface Recovery {
  /** Runs when Redis is reachable again, before it is trusted. False: not yet. */
  restore(): Promise<boolean>
  /** Redis lost its data. Everything that was read from it must be discarded. */
  onGenerationChange(): void
}

export class Trust {
  readonly #options: TrustOptions
  #isUp = false
  readonly #reported = new Set<string>()
  #lostAt: number | undefined
  #losses = 0
  #usableFrom = 0
  #lastOutageMs = 0
  #generation: string | undefined

  constructor(options: TrustOptions) {
    this.#options = options
  }

  /** Redis answers, and this replica has sent its pending invalidations. */
  get isUp(): boolean {
    return this.#isUp
  }

  /** When reads stopped using Redis; undefined if they use it. */
  get lostAt(): number | undefined {
    return this.#lostAt
  }

  /** Length of the last outage in milliseconds; 0 if there was none. */
  get lastOutageMs(): number {
    return this.#lastOutageMs
  }

  /** Has every replica that was cut off with this one had a lease of time to send its pending invalidations? */
  isUsable(now: number): boolean {
    return now >= this.#usableFrom
  }

  /**
   * Takes the generation of a reply and returns false if it is another one than before. Fences and registrations were
   * lost with the old one. For one lease, until every replica has set its own again, nothing is served or stored.
   */
  observeGeneration(generation: string): boolean {
    const { elapsed, times } = this.#options
    const hasChanged = this.#generation !== undefined && this.#generation !== generation
    this.#generation = generation
    if (hasChanged) this.#usableFrom = Math.max(this.#usableFrom, elapsed() + times.lease)
    return !hasChanged
  }

  /** Reports each cause once in an outage. Without `outage`: invalidations are pending. */
  lose(outage?: Outage, reason?: string): void {
    this.#losses += 1
    const cause = `${outage} ${explainFailure(reason ?? '').cause}`
    const isNew = outage === undefined ? this.#lostAt === undefined : !this.#reported.has(cause)
    if (isNew) this.#options.onEvent(outage === 'slow' ? 'slow' : 'unreachable', reason)
    this.#reported.add(cause)
    this.#isUp = false
    this.#lostAt ??= this.#options.elapsed()
  }

  /**
   * Redis is reachable again. Trusts it once `restore` has sent what this replica could not send. Other replicas may
   * have acknowledged writes that they could not record: they get one lease to do so. At the first connection, there
   * is nothing to wait for.
   */
  async regain(restore: () => Promise<boolean>): Promise<void> {
    const { elapsed, times, onEvent } = this.#options
    const losses = this.#losses
    // If Redis was lost meanwhile, new invalidations may be pending.
    if (!(await restore()) || this.#losses !== losses) return
    if (this.#lostAt !== undefined) {
      this.#lastOutageMs = elapsed() - this.#lostAt
      this.#usableFrom = elapsed() + times.lease
      onEvent('reachable')
    }
    this.#isUp = true
    this.#lostAt = undefined
    this.#reported.clear()
  }
}

/** Heartbeats whose return is awaited. One that returns later gives no lease worth having. */
const MAX_IN_FLIGHT = 16

export interface LocalLeaseOptions {
  readonly times: RedisTimes
  readonly elapsed: () => number
}

export class LocalLease {
  readonly #options: LocalLeaseOptions
  readonly #sent = new Map<string, number>()
  #until = Number.NEGATIVE_INFINITY
  #receivedAt: number

  constructor(options: LocalLeaseOptions) {
    this.#options = options
    this.#receivedAt = options.elapsed()
  }

  covers(now: number): boolean {
    return now < this.#until
  }

  /** No heartbeat has come back for a while. Writers would wait in vain for the acknowledgement of this replica. */
  get isSilent(): boolean {
    const { elapsed, times } = this.#options
    return elapsed() - this.#receivedAt > times.lease + times.heartbeatInterval
  }

  /** A heartbeat that registers this replica is sent. */
  request(nonce: string): void {
    this.#sent.set(nonce, this.#options.elapsed())
    for (const oldest of this.#sent.keys()) if (this.#sent.size > MAX_IN_FLIGHT) this.#sent.delete(oldest)
  }

  /** A heartbeat came back. If it may extend the lease, the lease runs from the time when it was sent. */
  receive(nonce: string, mayExtend: boolean): void {
    const { elapsed, times } = this.#options
    const sentAt = this.#sent.get(nonce)
    this.#receivedAt = elapsed()
    if (sentAt === undefined || !mayExtend) return
    this.#until = Math.max(this.#until, sentAt + times.lease)
    for (const [older, at] of this.#sent) if (at <= sentAt) this.#sent.delete(older)
  }

  end(): void {
    this.#until = Number.NEGATIVE_INFINITY
    this.#sent.clear()
  }
}
