/**
 * The heartbeat of this replica. It shows whether Redis is reachable, and while it comes back over the subscription, it
 * gives the lease within which the local tier may be served. A heartbeat is a script that writes: if invalidations
 * cannot be written, leases cannot be renewed either. Nothing that was stored or read before an outage is served after it.
 */
import { randomUUID } from 'node:crypto'
import { type RedisConnection, type RedisReply, TIMED_OUT } from './connection.ts'
import { LocalLease } from './local-lease.ts'
import { type OnStoreEvent, type RedisTimes, redisChannels, redisKeys } from './options.ts'
import { HEARTBEAT } from './scripts.ts'
import { explainFailure, type HeartbeatFailure } from './store-status.ts'

/**
 * Values of HEARTBEAT in place of a lease. Only a replica that ends is removed: on a connection that was replaced, the
 * command may arrive late, after the replica was registered again.
 */
const KEEP_REGISTRATION = 0
const UNREGISTER = -1

/** What the store does after an outage. */
interface Recovery {
  /** Runs when Redis is reachable again, before it is trusted. False: not yet. */
  restore(): Promise<boolean>
  /** Redis lost its data. Everything that was read from it must be discarded. */
  onGenerationChange(): void
}

interface HeartbeatOptions {
  readonly connection: RedisConnection
  readonly replica: string
  readonly times: RedisTimes
  readonly elapsed: () => number
  readonly onEvent: OnStoreEvent
  /** Heartbeats are sent, but none has come back for a while. */
  readonly onSilence: () => void
}

/** Whether this replica may use Redis. Each change replaces it as a whole. */
type Contact =
  /** Redis has not answered yet. */
  | { readonly kind: 'starting' }
  /**
   * Redis answers, and this replica has sent its pending invalidations. `outageMs`: how long it did not before; 0: it always did.
   * `isDoubted`: a command failed. If the heartbeat after it fails too, or there is no connection, reads do not use Redis.
   */
  | { readonly kind: 'up'; readonly outageMs: number; readonly isDoubted: boolean }
  /** Reads stopped using Redis at `since`. `reported`: the causes of this outage. */
  | { readonly kind: 'lost'; readonly since: number; readonly reported: ReadonlySet<string> }

export class Heartbeat {
  readonly #options: HeartbeatOptions
  readonly #lease: LocalLease
  readonly #onBeat = new Set<() => void>()
  #recovery: Recovery = { restore: async () => true, onGenerationChange: () => {} }
  #otherReplicas = 0
  #timer: NodeJS.Timeout | undefined
  #isClosed = false
  #contact: Contact = { kind: 'starting' }
  /** Of the last heartbeat. `refusedSince`: since when there is no connection, or Redis refuses commands; absent: it is late. */
  #failure: (HeartbeatFailure & { readonly refusedSince?: number | undefined }) | undefined
  #silenceReportedAt = Number.NEGATIVE_INFINITY
  #running: Promise<boolean> | undefined
  /** Before this time, replicas that were cut off with this one may not have sent their pending invalidations. */
  #usableFrom = 0
  #generation: string | undefined

  constructor(options: HeartbeatOptions) {
    this.#options = options
    this.#lease = new LocalLease(options)
  }

  /** Redis answers, and every replica that was cut off with this one had time to send its pending invalidations. */
  get isTrusted(): boolean {
    const { connection, elapsed } = this.#options
    return this.#contact.kind === 'up' && connection.isReady && elapsed() >= this.#usableFrom
  }

  /** Redis answers, and the last outage was shorter than a lease: what replicas leased there has not expired. */
  get hasLeases(): boolean {
    const { connection, times } = this.#options
    const contact = this.#contact
    return this.isTrusted || (contact.kind === 'up' && connection.isReady && contact.outageMs < times.lease)
  }

  /** Returns whether the local tier may be served without asking Redis. */
  hasLease(now = this.#options.elapsed()): boolean {
    return this.#lease.covers(now) && now >= this.#usableFrom
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
   * The replicas with a live lease when Redis last answered, this one included. For one lease after an outage, at least
   * as many as before it.
   */
  get replicas(): number {
    return this.#otherReplicas + 1
  }

  recoverWith(recovery: Recovery): void {
    this.#recovery = recovery
  }

  /** Calls `listener` with each heartbeat, until the returned function is called. */
  onBeat(listener: () => void): () => void {
    this.#onBeat.add(listener)
    return () => void this.#onBeat.delete(listener)
  }

  /** When reads stopped using Redis; undefined if they use it. */
  get lostAt(): number | undefined {
    return this.#contact.kind === 'lost' ? this.#contact.since : undefined
  }

  /** The latest failure while reads do not use Redis. Absent also while they wait for pending invalidations only. */
  get failure(): HeartbeatFailure | undefined {
    return this.#contact.kind === 'lost' ? this.#failure : undefined
  }

  /** Since when there is no connection, or Redis refuses commands; undefined also if its replies are only late. */
  get refusedSince(): number | undefined {
    return this.#failure?.refusedSince
  }

  /** Sends the first heartbeats. Resolves when Redis is reachable, at the latest after `bulkTimeout`. */
  async start(): Promise<void> {
    const { elapsed, times } = this.#options
    const until = elapsed() + times.bulkTimeout
    while (!this.#isClosed && !(await this.#beatOnce()) && elapsed() < until) {
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    if (this.#contact.kind !== 'up') this.#lose(this.#failure)
    this.#schedule()
  }

  /**
   * Takes the outcome of another command. All commands that fail at the same time (a short stall fails all that are in
   * flight) count as one failure. A heartbeat is sent at once to confirm it.
   */
  reportReply(reply: RedisReply<unknown>): void {
    const { connection, onEvent } = this.#options
    const contact = this.#contact
    if (reply === TIMED_OUT) onEvent('timeout')
    if (contact.kind !== 'up') return
    if (reply.ok) {
      if (contact.isDoubted) this.#doubt(contact, false)
    } else if (!connection.isReady) this.#noteFailure(reply)
    else if (!contact.isDoubted) this.#confirmFailure(contact)
  }

  /** Sends a heartbeat now: the subscription has started, so the local tier need not wait for the next one. */
  sendNow(): void {
    void (this.#running ?? Promise.resolve()).then(() => this.#beatOnce())
  }

  /** A heartbeat came back over the subscription. */
  receive(nonce: string): void {
    if (this.#lease.isSilent) this.sendNow()
    // During an outage it gives no lease: other replicas may not have recorded their invalidations yet.
    this.#lease.receive(nonce, this.#contact.kind !== 'lost')
  }

  /** An invalidation could not be sent. Nothing is trusted until `restore` has sent it. */
  distrust(): void {
    this.#lose()
  }

  /** Removes this replica from the registry, so that writers do not wait for it. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#lease.end()
    await this.#send(UNREGISTER)
  }

  #schedule(): void {
    if (this.#isClosed) return
    const { times } = this.#options
    const pause = this.#contact.kind === 'up' ? times.heartbeatInterval : times.retryInterval
    this.#timer = setTimeout(() => void this.#beatOnce().then(() => this.#schedule()), pause)
    this.#timer.unref()
  }

  /** Joins a heartbeat that is in flight. */
  #beatOnce(): Promise<boolean> {
    this.#running ??= this.#beat().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  async #beat(): Promise<boolean> {
    const { times, elapsed, onSilence } = this.#options
    for (const listener of this.#onBeat) listener()
    // A replica that cannot use its local tier is not registered: writes need not wait for its acknowledgement.
    const mayServe = !this.#lease.isSilent && this.#contact.kind === 'up'
    const reply = await this.#send(mayServe ? times.lease : KEEP_REGISTRATION)
    if (this.#isClosed) return false
    if (!reply.ok) {
      this.#noteFailure(reply)
      return false
    }
    this.#failure = undefined
    const [generation, , otherReplicas] = reply.value
    this.observeGeneration(generation)
    // After an outage or a loss of data, the others have a lease to register again.
    this.#otherReplicas = this.isTrusted ? otherReplicas : Math.max(otherReplicas, this.#otherReplicas)
    const contact = this.#contact
    if (contact.kind !== 'up') {
      await this.#regain(contact)
      return true
    }
    this.#doubt(contact, false)
    if (this.#lease.isSilent && elapsed() - this.#silenceReportedAt > 2 * times.socketTimeout) {
      this.#silenceReportedAt = elapsed()
      onSilence()
    }
    return true
  }

  /**
   * Redis is reachable again. Trusts it once `restore` has sent what this replica could not send. Other replicas may
   * have acknowledged writes that they could not record: they get one lease to do so. At the first connection, there
   * is nothing to wait for.
   */
  async #regain(before: Contact): Promise<void> {
    const { elapsed, times, onEvent } = this.#options
    // If Redis was lost meanwhile, new invalidations may be pending.
    if (!(await this.#recovery.restore()) || this.#contact !== before) return
    const now = elapsed()
    if (before.kind === 'lost') {
      this.#usableFrom = now + times.lease
      onEvent('reachable')
    }
    this.#contact = { kind: 'up', outageMs: before.kind === 'lost' ? now - before.since : 0, isDoubted: false }
    // Registers this replica, which gives it its next lease.
    this.sendNow()
  }

  /** Reports each cause once in an outage. Without a failure: invalidations are pending. */
  #lose(failure?: HeartbeatFailure): void {
    const { elapsed, onEvent } = this.#options
    const before = this.#contact
    const { since, reported } = before.kind === 'lost' ? before : { since: elapsed(), reported: new Set<string>() }
    const cause = `${failure?.outage} ${explainFailure(failure?.error ?? '').cause}`
    const isNew = failure === undefined ? before.kind !== 'lost' : !reported.has(cause)
    if (isNew) onEvent(failure?.outage === 'slow' ? 'slow' : 'unreachable', failure?.error)
    this.#contact = { kind: 'lost', since, reported: new Set([...reported, cause]) }
  }

  /** Takes the failure of a heartbeat, or that there is no connection. */
  #noteFailure(reply: RedisReply<unknown> & { readonly ok: false }): void {
    const { connection, elapsed } = this.#options
    const contact = this.#contact
    const isLate = reply === TIMED_OUT && connection.isReady
    const { error } = reply
    this.#failure = isLate
      ? { outage: 'slow', error }
      : { outage: 'lost', error, refusedSince: this.#failure?.refusedSince ?? elapsed() }
    if (contact.kind === 'up' && connection.isReady && !contact.isDoubted) this.#confirmFailure(contact)
    else if (contact.kind !== 'starting') this.#lose(this.#failure)
  }

  #confirmFailure(contact: Extract<Contact, { kind: 'up' }>): void {
    this.#doubt(contact, true)
    // Later, so that it does not join the heartbeat that is about to end.
    setImmediate(() => void this.#beatOnce())
  }

  #doubt(contact: Extract<Contact, { kind: 'up' }>, isDoubted: boolean): void {
    if (contact.isDoubted !== isDoubted) this.#contact = { ...contact, isDoubted }
  }

  #send(lease: number): Promise<RedisReply<[generation: string, sequence: string, otherReplicas: number]>> {
    const { connection, replica, times } = this.#options
    const nonce = randomUUID()
    if (lease > 0) this.#lease.request(nonce)
    const args = [randomUUID(), redisChannels.replica(replica), replica, lease, nonce]
    return connection.runScript(HEARTBEAT, [redisKeys.epochs], args, times.commandTimeout)
  }
}
