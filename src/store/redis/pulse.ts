/**
 * The life sign of this replica, and what it learns by it: is Redis there, may it be trusted, may near copies be. A
 * heartbeat is a script that writes, so that whatever keeps raises from being written keeps leases from being renewed.
 */
import { randomUUID } from 'node:crypto'
import type { Link, Reply } from './link.ts'
import { names, type StoreEvent, type Times } from './options.ts'
import { beat } from './scripts.ts'

/** A step that failed and a heartbeat that failed after it: Redis is away. A lost connection needs no second witness. */
const FAILURES = 2
/** Heartbeats on their way; those that came back late are worth nothing. */
const OUTSTANDING = 16

export interface PulseOptions {
  readonly link: Link
  readonly replica: string
  readonly times: Times
  readonly elapsed: () => number
  readonly onEvent: (event: StoreEvent) => void
  /** Runs when Redis is there again, before it is trusted; false: not yet. */
  readonly restore: () => Promise<boolean>
  /** The store lost its memory: so must this process, as far as it came from there. */
  readonly onLostMemory: () => void
  /** Heartbeats arrive, but none came back for a while. */
  readonly onSilence: () => void
}

export class Pulse {
  readonly #options: PulseOptions
  readonly #sent = new Map<string, number>()
  #timer: NodeJS.Timeout | undefined
  #up = false
  #closed = false
  #failures = 0
  #lostAt: number | undefined
  #trustedFrom = 0
  #generation: string | undefined
  #changedAt = Number.NEGATIVE_INFINITY
  #leasedUntil = Number.NEGATIVE_INFINITY
  /** When a heartbeat last came back, and when the silence since was last complained of. */
  #heardAt: number
  #silenceAt: number
  #beating: Promise<boolean> | undefined

  constructor(options: PulseOptions) {
    this.#options = options
    this.#heardAt = options.elapsed()
    this.#silenceAt = this.#heardAt
  }

  /** Redis answers, and every replica that was cut off with this one had time to say what it wrote. */
  get trusted(): boolean {
    return this.#up && this.#options.link.ready && this.#options.elapsed() >= this.#trustedFrom
  }

  /** Near copies may be served without asking. */
  leased(now = this.#options.elapsed()): boolean {
    return now < this.#leasedUntil && now >= this.#trustedFrom
  }

  /**
   * Any reply names the generation; false when it is another one than before. Fences and registrations went with the
   * old one: until every replica has set its own again, at its next heartbeat, nothing is served and nothing kept.
   */
  saw(generation: string): boolean {
    const { elapsed, times, onLostMemory } = this.#options
    const changed = this.#generation !== undefined && this.#generation !== generation
    this.#generation = generation
    if (!changed) return true
    this.#changedAt = elapsed()
    this.#trustedFrom = Math.max(this.#trustedFrom, this.#changedAt + times.lease)
    onLostMemory()
    return false
  }

  /** Milliseconds until near copies have run out whose registrations were lost with the last generation. */
  get unregistered(): number {
    return Math.max(0, this.#changedAt + this.#options.times.lease - this.#options.elapsed())
  }

  /** When Redis was found to be away; undefined: it is there. */
  get lostAt(): number | undefined {
    return this.#lostAt
  }

  /** The first heartbeats; resolves when Redis is there, or after `slow` milliseconds without it. */
  async start(): Promise<void> {
    const { elapsed, times } = this.#options
    const until = elapsed() + times.slow
    while (!this.#closed && !(await this.#once()) && elapsed() < until) {
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    if (!this.#up) this.#lose()
    this.#next()
  }

  /**
   * What a step came to. However many fail at once (a short stall fails all that are under way), they count as one:
   * a heartbeat sent at once is the second witness.
   */
  heard(reply: Reply<unknown>): void {
    if (reply.ok) this.#failures = 0
    else if (reply.fault === 'late') this.#options.onEvent('late')
    if (reply.ok || !this.#up) return
    if (!this.#options.link.ready) this.#lose()
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
    if (sent === undefined || this.#lostAt !== undefined) return
    this.#leasedUntil = Math.max(this.#leasedUntil, sent + this.#options.times.lease)
    for (const [older, at] of this.#sent) if (at <= sent) this.#sent.delete(older)
  }

  /** Something that must be written could not be: nothing is trusted until `restore` has written it. */
  distrust(): void {
    this.#lose()
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
    this.#timer = setTimeout(() => void this.#once().then(() => this.#next()), this.#up ? times.heartbeat : times.probe)
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
    const { times, link, elapsed, onSilence } = this.#options
    const reply = await this.#send(this.#silent ? 0 : times.lease)
    if (this.#closed) return false
    if (!reply.ok) {
      if (this.#up && (this.#failures >= FAILURES - 1 || !link.ready)) this.#lose()
      else if (this.#up) this.#doubt()
      return false
    }
    this.#failures = 0
    this.saw(reply.value[0])
    if (!this.#up) await this.#return()
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

  #lose(): void {
    if (this.#lostAt === undefined) this.#options.onEvent('lost')
    this.#up = false
    this.#lostAt ??= this.#options.elapsed()
  }

  /**
   * Others may have acknowledged writes that they could not write down: they get one lease to do so. Whoever never
   * missed Redis since its start has nothing to wait for.
   */
  async #return(): Promise<void> {
    const { elapsed, times, onEvent, restore } = this.#options
    if (!(await restore())) return
    if (this.#lostAt !== undefined) {
      this.#trustedFrom = elapsed() + times.lease
      onEvent('returned')
    }
    this.#up = true
    this.#failures = 0
    this.#lostAt = undefined
  }
}
