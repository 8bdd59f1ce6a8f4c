/**
 * The heartbeat of this replica. It shows whether Redis is reachable (`redis-contact.ts`), and while it comes back over the
 * subscription, it gives the lease within which the local tier may be served. A heartbeat is a script that writes: if
 * invalidations cannot be written, leases cannot be renewed either. Nothing that was stored or read before an outage is
 * served after it.
 */
import { randomUUID } from 'node:crypto'
import type { RedisConnection, RedisReply } from './connection.ts'
import { LocalLease } from './local-lease.ts'
import { type RedisTimes, redisChannels, redisKeys } from './options.ts'
import type { RedisContact } from './redis-contact.ts'
import { HEARTBEAT } from './scripts.ts'

/**
 * Values of HEARTBEAT in place of a lease. Only a replica that ends is removed: on a connection that was replaced, the
 * command may arrive late, after the replica was registered again.
 */
const KEEP_REGISTRATION = 0
const UNREGISTER = -1

interface HeartbeatOptions {
  readonly connection: RedisConnection
  readonly contact: RedisContact
  readonly replica: string
  readonly times: RedisTimes
  readonly elapsed: () => number
  /** Heartbeats are sent, but none has come back for a while. */
  readonly onSilence: () => void
}

export class Heartbeat {
  readonly #options: HeartbeatOptions
  readonly #lease: LocalLease
  readonly #onBeat = new Set<() => void>()
  #otherReplicas = 0
  #timer: NodeJS.Timeout | undefined
  #isClosed = false
  #silenceReportedAt = Number.NEGATIVE_INFINITY
  #running: Promise<boolean> | undefined

  constructor(options: HeartbeatOptions) {
    this.#options = options
    this.#lease = new LocalLease(options)
  }

  /** Returns whether the local tier may be served without asking Redis. */
  hasLease(now = this.#options.elapsed()): boolean {
    return this.#lease.covers(now) && this.#options.contact.isUsable(now)
  }

  /**
   * The replicas with a live lease when Redis last answered, this one included. For one lease after an outage, at least
   * as many as before it.
   */
  get replicas(): number {
    return this.#otherReplicas + 1
  }

  /** Calls `listener` with each heartbeat, until the returned function is called. */
  onBeat(listener: () => void): () => void {
    this.#onBeat.add(listener)
    return () => void this.#onBeat.delete(listener)
  }

  /** Sends the first heartbeats. Resolves when this replica is registered, at the latest after `bulkTimeout`. */
  async start(): Promise<void> {
    const { contact, elapsed, times } = this.#options
    const until = elapsed() + times.bulkTimeout
    while (!this.#isClosed && !(await this.#beatOnce()) && elapsed() < until) {
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    contact.endStart()
    // The first one that was answered has not registered it. While others do not see it, they take no shared fetch locks.
    if (contact.isUp) await this.#beatOnce()
    this.#schedule()
  }

  /** Sends a heartbeat now: the subscription has started, so the local tier need not wait for the next one. */
  sendNow(): void {
    void (this.#running ?? Promise.resolve()).then(() => this.#beatOnce())
  }

  /** Sends a heartbeat soon, because a command has failed. Later, so that it does not join one that is about to end. */
  confirm(): void {
    setImmediate(() => void this.#beatOnce())
  }

  /** A heartbeat came back over the subscription. */
  receive(nonce: string): void {
    if (this.#lease.isSilent) this.sendNow()
    // During an outage it gives no lease: other replicas may not have recorded their invalidations yet.
    this.#lease.receive(nonce, this.#options.contact.lostAt === undefined)
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
    const { contact, times } = this.#options
    const pause = contact.isUp ? times.heartbeatInterval : times.retryInterval
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
    // A command that fails while this replica ends must not register it again.
    if (this.#isClosed) return false
    const { contact, times } = this.#options
    for (const listener of this.#onBeat) listener()
    // A replica that cannot use its local tier is not registered: writes need not wait for its acknowledgement.
    const mayServe = !this.#lease.isSilent && contact.isUp
    const reply = await this.#send(mayServe ? times.lease : KEEP_REGISTRATION)
    if (this.#isClosed) return false
    if (!reply.ok) {
      contact.reportFailure(reply)
      return false
    }
    const [generation, , otherReplicas] = reply.value
    contact.reportAnswer(generation)
    // After an outage or a loss of data, the others have a lease to register again.
    this.#otherReplicas = contact.isTrusted ? otherReplicas : Math.max(otherReplicas, this.#otherReplicas)
    if (contact.isUp) this.#reportSilence()
    // Registers this replica, which gives it its next lease.
    else if (await contact.regain()) this.sendNow()
    return true
  }

  #reportSilence(): void {
    const { elapsed, times, onSilence } = this.#options
    if (!this.#lease.isSilent || elapsed() - this.#silenceReportedAt <= 2 * times.socketTimeout) return
    this.#silenceReportedAt = elapsed()
    onSilence()
  }

  #send(lease: number): Promise<RedisReply<[generation: string, sequence: string, otherReplicas: number]>> {
    const { connection, replica, times } = this.#options
    const nonce = randomUUID()
    if (lease > 0) this.#lease.request(nonce)
    const args = [randomUUID(), redisChannels.replica(replica), replica, lease, nonce]
    return connection.runScript(HEARTBEAT, [redisKeys.epochs], args, times.commandTimeout)
  }
}
