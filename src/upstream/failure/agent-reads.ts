/**
 * Reads of the database of one agent. If the database is stuck, the node answers none of them, and all other calls. So when
 * one is late, the others in flight give their slots back, and further ones are not sent before these have ended: one after
 * another then, until one is answered.
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

/** A read is late after this many times its usual time: on a busy node, calls take several times as long, and end. */
const LATE_FACTOR = 5
/** Agents whose databases are stuck, or with reads in flight. */
const MAX_AGENTS = 1_000

/** `limits`: `inFlight` bounds the reads in flight without a slot, `queue` those that wait for a database that is stuck. */
interface AgentReadsOptions extends Pick<ClusterSettings, 'limits' | 'ejection' | 'clock'> {
  readonly silence: Pick<SilenceWatch, 'lastResponse'>
}

/** What is known of the database of an agent. */
class Database {
  isStuck = false
  answeredAt = Number.NEGATIVE_INFINITY
  readonly inFlight = new Set<AgentRead>()
  readonly places = new Semaphore(() => (this.isStuck ? 1 : Number.POSITIVE_INFINITY))
}

export class AgentReads {
  readonly options: AgentReadsOptions
  readonly #databases = growingLru<string, Database>(MAX_AGENTS)
  withoutSlot = 0
  waiting = 0

  constructor(options: AgentReadsOptions) {
    this.options = options
  }

  /** Returns the next read of the database of this agent. */
  open(agent: string): AgentRead {
    const database = this.#databases.get(agent) ?? new Database()
    this.#databases.set(agent, database)
    return new AgentRead(this, agent, database)
  }
}

/** One read: it enters, gets a slot of the node, begins and ends. */
export class AgentRead {
  readonly #reads: AgentReads
  readonly #agent: string
  readonly #database: Database
  #timer: NodeJS.Timeout | undefined
  #start = 0
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
      const ended = await takeSlot(places, { signal, ...(presence && { presence }) })
      reads.waiting -= 1
      if (ended === undefined) return undefined
      if (fault() === 'cancelled') return ABANDONED
    }
    return { ok: false, fault: 'overloaded', reason: 'agentStuck', about: this.#agent, retryAfter: 1 }
  }

  /** Whether the read entered before the database was found to be stuck, and must enter again. */
  get isHeld(): boolean {
    return this.#database.isStuck && this.#database.inFlight.size > 0
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
  }

  /** To be called when the read is sent. `usualTime`: milliseconds; 0: not known. */
  begin(usualTime: number, giveSlotBack: () => void): void {
    const { ejection, clock } = this.#reads.options
    this.#giveSlotBack = giveSlotBack
    this.#start = clock()
    this.#database.inFlight.add(this)
    this.#checkIn(Math.max(ejection.silence.minWait, LATE_FACTOR * usualTime))
  }

  end(hasResponse: boolean): void {
    clearTimeout(this.#timer)
    this.#database.inFlight.delete(this)
    if (!this.hasSlot) this.#reads.withoutSlot -= 1
    if (hasResponse) {
      this.#database.answeredAt = this.#reads.options.clock()
      this.#database.isStuck = false
    }
    this.leave()
  }

  #checkIn(ms: number): void {
    this.#timer = setTimeout(() => {
      // A read that is late alone decides nothing.
      if (this.#database.answeredAt >= this.#start) return
      // While the node answers nothing at all, its process is suspected, and not the database.
      if (this.#othersAreAnswered) this.#suspect()
      else this.#checkIn(this.#reads.options.ejection.silence.minWait)
    }, ms).unref()
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
