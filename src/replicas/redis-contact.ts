/**
 * Whether this replica may use Redis: one state machine, which the replies of Redis move. `heartbeat.ts` sends commands while
 * nothing else does.
 *
 * | state | reads may use Redis | ends |
 * |---|---|---|
 * | starting | no | answered: up; not within `bulkTimeout`: lost |
 * | up | yes | a command fails: doubted, and a heartbeat is sent at once; there is no connection: lost |
 * | doubted | yes | a command succeeds: up; a heartbeat fails, or there is no connection: lost |
 * | lost | no | answered: up |
 *
 * Answered: Redis has answered a heartbeat, and then taken what this replica could not send (`Recovery.restore`). In each state,
 * an invalidation that cannot be sent leads to lost. After an outage, and after a loss of data, one `lease` passes before Redis
 * is trusted: until then, other replicas may not have sent their pending invalidations, or set their fences again.
 */
import { type RedisConnection, type RedisReply, TIMED_OUT } from './connection.ts'
import type { OnStoreEvent, RedisTimes } from './options.ts'
import { explainFailure, type HeartbeatFailure } from './store-status.ts'

/** What the store does after an outage. */
interface Recovery {
  /** Runs when Redis is reachable again, before it is trusted. False: not yet. */
  restore(): Promise<boolean>
  /** Redis lost its data. Everything that was read from it must be discarded. */
  onGenerationChange(): void
}

interface ContactOptions {
  readonly connection: Pick<RedisConnection, 'isReady'>
  readonly times: Pick<RedisTimes, 'lease'>
  readonly elapsed: () => number
  readonly onEvent: OnStoreEvent
  /** Sends a heartbeat soon, because a command has failed. */
  readonly confirm: () => void
}

/** Each change replaces the state as a whole. `failure`: of heartbeats since the last that was answered. */
type State = { readonly failure?: HeartbeatFailure | undefined } & (
  | { readonly kind: 'starting' }
  /** `outageMs`: how long Redis did not answer before; 0: it always did. */
  | { readonly kind: 'up' | 'doubted'; readonly outageMs: number }
  /** `reported`: the causes of this outage. */
  | { readonly kind: 'lost'; readonly since: number; readonly reported: ReadonlySet<string> }
)

export class RedisContact {
  readonly #options: ContactOptions
  #recovery: Recovery = { restore: async () => true, onGenerationChange: () => {} }
  #state: State = { kind: 'starting' }
  /** When the lease after the last outage or loss of data is over. */
  #usableFrom = 0
  #generation: string | undefined

  constructor(options: ContactOptions) {
    this.#options = options
  }

  recoverWith(recovery: Recovery): void {
    this.#recovery = recovery
  }

  get isUp(): boolean {
    return this.#state.kind === 'up' || this.#state.kind === 'doubted'
  }

  /** Redis answers, and every replica that was cut off with this one had time to send its pending invalidations. */
  get isTrusted(): boolean {
    const { connection, elapsed } = this.#options
    return this.isUp && connection.isReady && this.isUsable(elapsed())
  }

  /** Redis answers, and the last outage was shorter than a lease: what replicas leased there has not expired. */
  get hasLeases(): boolean {
    const { connection, times } = this.#options
    const wasShort = 'outageMs' in this.#state && this.#state.outageMs < times.lease
    return this.isTrusted || (connection.isReady && wasShort)
  }

  /** Whether what was read before this time counts: no outage and no loss of data was shortly before. */
  isUsable(now: number): boolean {
    return now >= this.#usableFrom
  }

  /** When Redis was lost; undefined if it is not lost. */
  get lostAt(): number | undefined {
    return this.#state.kind === 'lost' ? this.#state.since : undefined
  }

  /** The latest failure while reads do not use Redis. Absent also while they wait for pending invalidations only. */
  get failure(): HeartbeatFailure | undefined {
    return this.#state.kind === 'lost' ? this.#state.failure : undefined
  }

  /** Since when there is no connection, or Redis refuses commands; undefined also if its replies are only late. */
  get refusedSince(): number | undefined {
    return this.#state.failure?.refusedSince
  }

  /**
   * Takes the generation of a reply and returns false if it is another one than before. Fences and registrations were
   * lost with the old one. For one lease, until every replica has set its own again, nothing is served or stored.
   */
  observeGeneration(generation: string): boolean {
    const { elapsed, times } = this.#options
    const isSame = this.#generation === undefined || this.#generation === generation
    this.#generation = generation
    if (isSame) return true
    this.#usableFrom = Math.max(this.#usableFrom, elapsed() + times.lease)
    this.#recovery.onGenerationChange()
    return false
  }

  /**
   * Takes the outcome of a command that is no heartbeat. All commands that fail at the same time (a short stall fails all that
   * are in flight) count as one failure.
   */
  reportReply(reply: RedisReply<unknown>): void {
    const { connection, onEvent } = this.#options
    if (reply === TIMED_OUT) onEvent('timeout')
    if (!this.isUp) return
    if (reply.ok) this.#endDoubt()
    else if (connection.isReady) this.#doubt()
    else this.reportFailure(reply)
  }

  /** An invalidation could not be sent. Nothing is trusted until `restore` has sent it. */
  distrust(): void {
    this.#lose()
  }

  /** Takes the failure of a heartbeat, or that there is no connection. */
  reportFailure(reply: RedisReply<unknown> & { readonly ok: false }): void {
    const { connection, elapsed } = this.#options
    const { error } = reply
    const isLate = reply === TIMED_OUT && connection.isReady
    const refusedSince = this.refusedSince ?? elapsed()
    const failure = isLate ? { error } : { error, refusedSince }
    this.#state = { ...this.#state, failure }
    if (this.#state.kind === 'up' && connection.isReady) this.#doubt()
    else if (this.#state.kind !== 'starting') this.#lose(failure)
  }

  /** The first heartbeats have had their time. */
  endStart(): void {
    if (!this.isUp) this.#lose(this.#state.failure)
  }

  /** Takes that a heartbeat was answered, with this generation. */
  reportAnswer(generation: string): void {
    this.#state = { ...this.#state, failure: undefined }
    this.#endDoubt()
    this.observeGeneration(generation)
  }

  /**
   * To be called when Redis is reachable again. Trusts it once `restore` has sent what this replica could not send. Other
   * replicas may have acknowledged writes that they could not record: they get one lease to do so. At the first connection,
   * there is nothing to wait for. Resolves to whether Redis is up again.
   */
  async regain(): Promise<boolean> {
    const { elapsed, times, onEvent } = this.#options
    const before = this.#state
    // If Redis was lost meanwhile, new invalidations may be pending.
    if (!(await this.#recovery.restore()) || this.#state !== before) return false
    const now = elapsed()
    if (before.kind === 'lost') {
      this.#usableFrom = now + times.lease
      onEvent('reachable')
    }
    this.#state = { kind: 'up', outageMs: before.kind === 'lost' ? now - before.since : 0 }
    return true
  }

  #doubt(): void {
    if (this.#state.kind !== 'up') return
    this.#state = { ...this.#state, kind: 'doubted' }
    this.#options.confirm()
  }

  #endDoubt(): void {
    if (this.#state.kind === 'doubted') this.#state = { ...this.#state, kind: 'up' }
  }

  /** Reports each cause once in an outage. Without a failure: invalidations are pending. */
  #lose(failure?: HeartbeatFailure): void {
    const { elapsed, onEvent } = this.#options
    const before = this.#state
    const { since, reported } = before.kind === 'lost' ? before : { since: elapsed(), reported: new Set<string>() }
    const event = failure !== undefined && failure.refusedSince === undefined ? 'slow' : 'unreachable'
    const cause = failure && `${event} ${explainFailure(failure.error).cause}`
    const isNew = cause === undefined ? before.kind !== 'lost' : !reported.has(cause)
    if (isNew) onEvent(event, failure?.error)
    const known = cause === undefined ? reported : new Set([...reported, cause])
    this.#state = { kind: 'lost', since, reported: known, failure: failure ?? before.failure }
  }
}
