/** Until when the local tier may be served, by the heartbeats that came back. */
import type { RedisTimes } from './options.ts'

/** Heartbeats whose return is awaited. One that returns later gives no lease worth having. */
const MAX_IN_FLIGHT = 16

interface LocalLeaseOptions {
  readonly times: Pick<RedisTimes, 'lease' | 'heartbeatInterval'>
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
