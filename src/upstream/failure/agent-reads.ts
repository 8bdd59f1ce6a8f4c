/**
 * Reads of the database of one agent. If the database is stuck, the node answers none of them, and all other calls. So its reads
 * in flight are bounded, and further ones wait:
 *
 * | state | reads in flight | ends |
 * |---|---|---|
 * | answered, for `silence.minWait` | 2 without a later response | then: open |
 * | open | 1 without a later response | with a response: answered; when one is late, and the node answers other calls: stuck |
 * | stuck | 1; when it begins, all but one give their slots back | with a response: answered |
 *
 * In the first two states, a read that has waited for `silence.minWait` counts no longer. A read is late after
 * `max(silence.minWait, LATE_FACTOR × usual time)`.
 */

import type { NodeCall } from '../../core/node-call.ts'
import { growingLru } from '../../core/recently-used.ts'
import { Semaphore } from '../../core/semaphore.ts'
import type { Deadline } from '../../core/timing.ts'
import { ABANDONED } from '../abandoned-calls.ts'
import { takeSlot } from '../call.ts'
import type { Rejection } from '../node-response.ts'
import type { ClusterSettings } from '../options.ts'
import type { SilenceWatch } from './silence.ts'

/** On a busy node, calls take several times their usual time, and end. */
const LATE_FACTOR = 5
/** With one, a read that takes long alone would hold up the others of a database that answers. */
const MAX_UNANSWERED = 2
/** Agents without reads whose databases are remembered. */
const MAX_IDLE = 1_000

/** `limits`: `inFlight` bounds the reads in flight without a slot, `queue` those that wait for a database that is stuck. */
interface AgentReadsOptions extends Pick<ClusterSettings, 'limits' | 'ejection' | 'clock'> {
  readonly silence: Pick<SilenceWatch, 'lastResponse'>
}

/** What is known of the database of an agent. */
class Database {
  isStuck = false
  /** When it is no longer known to answer. */
  healthyUntil = Number.NEGATIVE_INFINITY
  readonly inFlight = new Set<AgentRead>()
  /** Those of them that were sent after the latest response. */
  readonly unanswered = new Set<AgentRead>()
  readonly places = new Semaphore(() => (this.isStuck ? 1 : this.isFull ? 0 : Number.POSITIVE_INFINITY))
  readonly #clock: () => number

  constructor(clock: () => number) {
    this.#clock = clock
  }

  /** Whether no further read may be sent now. */
  get isFull(): boolean {
    if (this.isStuck) return this.inFlight.size > 0
    const max = this.#clock() < this.healthyUntil ? MAX_UNANSWERED : 1
    return [...this.unanswered].filter(({ isRecent }) => isRecent).length >= max
  }
}

export class AgentReads {
  readonly options: AgentReadsOptions
  /** The databases with reads that have entered. */
  readonly #inUse = new Map<string, Database>()
  readonly #idle = growingLru<string, Database>(MAX_IDLE)
  withoutSlot = 0
  waiting = 0

  constructor(options: AgentReadsOptions) {
    this.options = options
  }

  /** Returns the next read of the database of this agent. */
  open(agent: string): AgentRead {
    const database = this.#inUse.get(agent) ?? this.#idle.get(agent) ?? new Database(this.options.clock)
    return new AgentRead(this, agent, database)
  }

  /** To be called when reads of the database have entered or left. */
  note(agent: string, database: Database): void {
    if (!database.places.isIdle) this.#inUse.set(agent, database)
    else if (this.#inUse.delete(agent)) this.#idle.set(agent, database)
  }
}

/** One read: it enters, takes a slot of the node, begins and ends. */
export class AgentRead {
  readonly #reads: AgentReads
  readonly #agent: string
  readonly #database: Database
  #timer: NodeJS.Timeout | undefined
  #start = 0
  #lateAt = 0
  isRecent = true
  #giveSlotBack: () => void = () => undefined
  hasSlot = true

  constructor(reads: AgentReads, agent: string, database: Database) {
    this.#reads = reads
    this.#agent = agent
    this.#database = database
  }

  /** Waits until the read may be sent. Returns why it may not. */
  async enter({ signal, fault }: Deadline, { presence }: Pick<NodeCall, 'presence'>): Promise<Rejection | undefined> {
    const { places } = this.#database
    const reads = this.#reads
    if (places.isFree || reads.waiting < reads.options.limits().queue) {
      reads.waiting += 1
      const place = takeSlot(places, { signal, ...(presence && { presence }) })
      reads.note(this.#agent, this.#database)
      const ended = await place
      reads.waiting -= 1
      if (ended === undefined) return undefined
      reads.note(this.#agent, this.#database)
      if (fault() === 'cancelled') return ABANDONED
    }
    return { ok: false, fault: 'overloaded', reason: 'agentStuck', about: this.#agent, retryAfter: 1 }
  }

  /** To be called when the read has a slot. Returns `false` if others were sent since it entered: then it must enter again. */
  take(): boolean {
    const { isFull, inFlight, unanswered } = this.#database
    if (isFull) return false
    inFlight.add(this)
    unanswered.add(this)
    return true
  }

  /** Whether the end of the read shows nothing about the node, unless it is a response: the node answers other calls. */
  get showsNothing(): boolean {
    return this.#database.isStuck && this.#othersAreAnswered
  }

  get #othersAreAnswered(): boolean {
    const { silence, clock } = this.#reads.options
    return silence.lastResponse >= (this.#start + clock()) / 2
  }

  leave(): void {
    this.#database.places.release()
    this.#reads.note(this.#agent, this.#database)
  }

  /** To be called when the read is sent. `usualTime`: milliseconds; 0: not known. */
  begin(usualTime: number, giveSlotBack: () => void): void {
    const { ejection, clock } = this.#reads.options
    this.#giveSlotBack = giveSlotBack
    this.#start = clock()
    this.#lateAt = this.#start + Math.max(ejection.silence.minWait, LATE_FACTOR * usualTime)
    this.#watch()
  }

  end(hasResponse: boolean): void {
    const { inFlight, unanswered } = this.#database
    clearTimeout(this.#timer)
    inFlight.delete(this)
    unanswered.delete(this)
    if (!this.hasSlot) this.#reads.withoutSlot -= 1
    if (hasResponse) {
      const { ejection, clock } = this.#reads.options
      unanswered.clear()
      this.#database.healthyUntil = clock() + ejection.silence.minWait
      this.#database.isStuck = false
    }
    this.leave()
  }

  #watch(): void {
    const { ejection, clock } = this.#reads.options
    const { minWait } = ejection.silence
    const left = this.#lateAt - clock()
    this.#timer = setTimeout(() => this.#check(), left > 0 ? Math.min(left, minWait) : minWait).unref()
  }

  #check(): void {
    const { unanswered, places } = this.#database
    // A read that is late alone decides nothing.
    if (!unanswered.has(this)) return
    // While the node answers nothing at all, its process is suspected, and not the database.
    if (this.#reads.options.clock() >= this.#lateAt && this.#othersAreAnswered) this.#suspect()
    else {
      this.isRecent = false
      places.admit()
      this.#watch()
    }
  }

  /** One read keeps its slot. */
  #suspect(): void {
    this.#database.isStuck = true
    for (const read of [...this.#database.inFlight].filter(({ hasSlot }) => hasSlot).slice(1)) {
      if (this.#reads.withoutSlot >= this.#reads.options.limits().inFlight) return
      this.#reads.withoutSlot += 1
      read.hasSlot = false
      read.#giveSlotBack()
    }
  }
}
