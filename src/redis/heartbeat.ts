/**
 * The life sign of this replica, and what it learns by it: is Redis there, and may near copies be trusted. A heartbeat
 * is a script that writes, so that whatever keeps raises from being written keeps leases from being renewed.
 */
import { randomUUID } from 'node:crypto'
import type { Link, Reply } from './connection.ts'
import { names } from './options.ts'
import { beat } from './scripts.ts'
import { Trust, type TrustOptions } from './trust.ts'

/** A step that failed and a heartbeat that failed after it: Redis is away. A lost connection needs no second witness. */
const FAILURES = 2
/** Heartbeats on their way; those that came back late are worth nothing. */
const OUTSTANDING = 16

export interface PulseOptions extends TrustOptions {
  readonly link: Link
  readonly replica: string
  /** Runs when Redis is there again, before it is trusted; false: not yet. */
  readonly restore: () => Promise<boolean>
  /** Heartbeats arrive, but none came back for a while. */
  readonly onSilence: () => void
}

export class Pulse {
  readonly #options: PulseOptions
  readonly #sent = new Map<string, number>()
  readonly #trust: Trust
  #timer: NodeJS.Timeout | undefined
  #closed = false
  #failures = 0
  #fault: string | undefined
  #leasedUntil = Number.NEGATIVE_INFINITY
  /** When a heartbeat last came back, and when the silence since was last complained of. */
  #heardAt: number
  #silenceAt: number
  #beating: Promise<boolean> | undefined

  constructor(options: PulseOptions) {
    this.#options = options
    this.#trust = new Trust(options)
    this.#heardAt = options.elapsed()
    this.#silenceAt = this.#heardAt
  }

  /** Redis answers, and every replica that was cut off with this one had time to say what it wrote. */
  get trusted(): boolean {
    return this.#trust.up && this.#options.link.ready && this.#trust.settled(this.#options.elapsed())
  }

  /** Near copies may be served without asking. */
  leased(now = this.#options.elapsed()): boolean {
    return now < this.#leasedUntil && this.#trust.settled(now)
  }

  /** Any reply names the generation; false when it is another one than before. */
  saw(generation: string): boolean {
    return this.#trust.saw(generation)
  }

  /** When Redis was found to be away; undefined: it is there. */
  get lostAt(): number | undefined {
    return this.#trust.lostAt
  }

  /** The first heartbeats; resolves when Redis is there, or after `slow` milliseconds without it. */
  async start(): Promise<void> {
    const { elapsed, times } = this.#options
    const until = elapsed() + times.slow
    while (!this.#closed && !(await this.#once()) && elapsed() < until) {
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    if (!this.#trust.up) this.#trust.lose(this.#fault)
    this.#next()
  }

  /**
   * What a step came to. However many fail at once (a short stall fails all that are under way), they count as one:
   * a heartbeat sent at once is the second witness.
   */
  heard(reply: Reply<unknown>): void {
    if (reply.ok) this.#failures = 0
    else if (reply.fault === 'late') this.#options.onEvent('late')
    if (reply.ok || !this.#trust.up) return
    if (!this.#options.link.ready) this.#trust.lose(this.#options.link.fault)
    else if (this.#failures === 0) this.#doubt()
  }

  /** A heartbeat out of turn: the subscriber is there, and near copies need not wait for the next one. */
  beat(): void {
    void (this.#beating ?? Promise.resolve()).then(() => this.#once())
  }

  /** A heartbeat came back over the subscriber: the lease runs from the moment it was sent. */
  returned(nonce: string): void {
    const sent = this.#sent.get(nonce)
    const silent = this.#silent
    this.#heardAt = this.#options.elapsed()
    if (silent) this.beat()
    // Sent into an outage: what others wrote meanwhile may not be written down yet, so it gives no lease.
    if (sent === undefined || this.lostAt !== undefined) return
    this.#leasedUntil = Math.max(this.#leasedUntil, sent + this.#options.times.lease)
    for (const [older, at] of this.#sent) if (at <= sent) this.#sent.delete(older)
  }

  /** Something that must be written could not be: nothing is trusted until `restore` has written it. */
  distrust(): void {
    this.#trust.lose()
  }

  /** Signs off, so that no writer waits for this replica. */
  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    this.#leasedUntil = Number.NEGATIVE_INFINITY
    this.#sent.clear()
    await this.#send(0)
  }

  #next(): void {
    if (this.#closed) return
    const { times } = this.#options
    const pause = this.#trust.up ? times.heartbeat : times.probe
    this.#timer = setTimeout(() => void this.#once().then(() => this.#next()), pause)
    this.#timer.unref()
  }

  /** One heartbeat at a time. */
  #once(): Promise<boolean> {
    this.#beating ??= this.#beat().finally(() => {
      this.#beating = undefined
    })
    return this.#beating
  }

  async #beat(): Promise<boolean> {
    const { times, link, elapsed, onSilence, restore } = this.#options
    const reply = await this.#send(this.#silent ? 0 : times.lease)
    if (this.#closed) return false
    if (!reply.ok) {
      this.#fault = reply.fault
      if (!this.#trust.up) return false
      if (this.#failures >= FAILURES - 1 || !link.ready) this.#trust.lose(reply.fault)
      else this.#doubt()
      return false
    }
    this.#failures = 0
    this.saw(reply.value[0])
    if (!this.#trust.up) await this.#trust.regain(restore)
    else if (this.#silent && elapsed() - this.#silenceAt > times.stuck) {
      this.#silenceAt = elapsed()
      onSilence()
    }
    return true
  }

  /** Whoever hears nothing is not registered: every write would wait in vain for its acknowledgement. */
  get #silent(): boolean {
    const { elapsed, times } = this.#options
    return elapsed() - this.#heardAt > times.lease + times.heartbeat
  }

  #doubt(): void {
    this.#failures += 1
    // Not joined to a heartbeat that is about to end.
    setImmediate(() => void this.#once())
  }

  #send(lease: number): Promise<Reply<[string, string]>> {
    const { link, replica, elapsed, times } = this.#options
    const nonce = randomUUID()
    if (lease > 0) this.#sent.set(nonce, elapsed())
    for (const oldest of this.#sent.keys()) if (this.#sent.size > OUTSTANDING) this.#sent.delete(oldest)
    return link.run(beat, [names.coherence], [randomUUID(), names.to(replica), replica, lease, nonce], times.command)
  }
}
