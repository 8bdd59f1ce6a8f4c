import { randomUUID } from 'node:crypto'
import type { Tag } from '../../catalogue/endpoint.ts'
import type { Link, Reply } from '../../redis/connection.ts'
import type { Pulse } from '../../redis/heartbeat.ts'
import { names, type StoreEvent, type Times } from '../../redis/options.ts'
import type { WriteFence } from './contract.ts'
import { Acknowledgements } from './invalidation-subscriber.ts'
import type { Knowledge } from './local-tier.ts'
import { raise } from './scripts.ts'

/**
 * Writes as the store sees them: raises of epochs and fences, told to every replica before anyone goes on
 * (the protocol's steps 3 and 5 in docs). What cannot be written is owed, and written before Redis is trusted again.
 */

/** Clocks of two machines may differ by so much in the length of a lease. */
const DRIFT = 1.05

export interface RaisesOptions {
  readonly link: Link
  readonly replica: string
  readonly knowledge: Knowledge
  readonly times: Times
  readonly refuse: boolean
  readonly elapsed: () => number
  readonly onEvent: (event: StoreEvent) => void
}

interface Wanted {
  readonly raise: readonly Tag[]
  readonly fence?: readonly Tag[]
  readonly lift?: readonly Tag[]
  readonly id?: string
  readonly lease?: number
  readonly soft?: boolean
}

interface Standing {
  readonly tags: readonly Tag[]
  /** Infinity while the write is under way. */
  until: number
}

export class Raises {
  readonly acknowledgements = new Acknowledgements()
  readonly #options: RaisesOptions
  readonly #pulse: () => Pulse
  readonly #debts = new Debts()
  readonly #fences = new Map<string, Standing>()
  readonly #renewal: NodeJS.Timeout

  /** `pulse`: the two need each other; it is asked for only when something is raised. */
  constructor(options: RaisesOptions, pulse: () => Pulse) {
    this.#options = options
    this.#pulse = pulse
    this.#renewal = setInterval(() => void this.#renew(), options.times.fenceLease / 3)
    this.#renewal.unref()
  }

  async fence(tags: readonly Tag[]): Promise<WriteFence> {
    const { times, refuse, elapsed, onEvent } = this.#options
    const id = randomUUID()
    this.#fences.set(id, { tags, until: Number.POSITIVE_INFINITY })
    const wanted = { raise: tags, fence: tags, id, lease: times.fenceLease }
    // Nothing to tell until the answer names something.
    const told =
      tags.length === 0 || (await this.#tell(wanted, refuse ? elapsed() + 4 * times.command : this.#leasesOver()))
    if (!told && refuse) {
      // It may have arrived although no reply did.
      this.#fences.delete(id)
      this.#owe([], [[id, tags]])
      return { state: 'refused', lift: async () => {}, keepUntilLeaseEnds: () => this.#leaveUntold(id, tags) }
    }
    if (!told) onEvent('alone')
    return {
      state: told ? 'active' : 'localOnly',
      lift: (more) => this.#lift(id, tags, more),
      keepUntilLeaseEnds: () => this.#leave(id),
    }
  }

  /** Raises once, for a purge; resolves as `lift` does. */
  async drop(tag: Tag, soft: boolean): Promise<void> {
    if (!(await this.#tell({ raise: [tag], soft }, this.#leasesOver()))) this.#owe([tag])
  }

  /** Writes what is owed, and the fences that stand; false when Redis did not take it all. */
  async restore(): Promise<boolean> {
    const { elapsed, onEvent, times } = this.#options
    const debt = this.#debts.take()
    const wanted: Wanted[] = debt.raise.length > 0 ? [{ raise: debt.raise }] : []
    for (const [id, tags] of debt.lifts) wanted.push({ raise: [], lift: tags, id })
    for (const [id, { tags, until }] of this.#fences) {
      wanted.push({ raise: tags, fence: tags, id, lease: Math.min(times.fenceLease, until - elapsed()) })
    }
    const replies = await Promise.all(wanted.map((each) => this.#write(each, times.slow)))
    const written = replies.every((reply) => reply.ok)
    if (!written) this.#debts.add(debt.raise, debt.lifts)
    else if (wanted.length > 0) onEvent('replayed')
    return written
  }

  close(): void {
    clearInterval(this.#renewal)
  }

  async #lift(id: string, tags: readonly Tag[], more: readonly Tag[]): Promise<void> {
    if (!this.#fences.delete(id)) return
    const raise = [...new Set([...tags, ...more])]
    if (!(await this.#tell({ raise, lift: tags, id }, this.#leasesOver()))) this.#owe(raise, [[id, tags]])
  }

  #leave(id: string): void {
    const { elapsed, times } = this.#options
    const standing = this.#fences.get(id)
    if (standing === undefined) return
    standing.until = elapsed() + times.fenceLease
    void this.#write({ raise: [], fence: standing.tags, id, lease: times.fenceLease }, times.slow)
  }

  /** What was sent nevertheless, with an outcome that nobody knows, is fenced when Redis is back. */
  #leaveUntold(id: string, tags: readonly Tag[]): void {
    const { elapsed, times } = this.#options
    this.#fences.set(id, { tags, until: elapsed() + times.fenceLease })
    this.#pulse().distrust()
  }

  #owe(raise: readonly Tag[], lifts: readonly (readonly [string, readonly Tag[]])[] = []): void {
    this.#debts.add(raise, lifts)
    this.#pulse().distrust()
  }

  /** When the last near copy anywhere has run out, if Redis is away for all. */
  #leasesOver(): number {
    const { elapsed, times } = this.#options
    return (this.#pulse().lostAt ?? elapsed()) + times.lease * DRIFT
  }

  /** Writes, and waits until every replica has heard of it; tries until `deadline`, once at least. */
  async #tell(wanted: Wanted, deadline: number): Promise<boolean> {
    const { elapsed, times, onEvent, replica } = this.#options
    for (;;) {
      const reply = await this.#write(wanted, Math.max(times.command, Math.min(times.slow, deadline - elapsed())))
      if (reply.ok) {
        if (wanted.raise.length === 0) return true
        const [generation, sequence, remembered, ...left] = reply.value
        // Registrations are lost with the memory of Redis, but not at once the near copies of those who had them.
        const unregistered = elapsed() + (times.lease - Number(remembered)) * DRIFT
        const others = new Map<string, number>()
        for (let at = 0; at < left.length; at += 2) others.set(String(left[at]), Number(left[at + 1]) * DRIFT)
        others.delete(replica)
        const heard = await this.acknowledgements.wait(
          { generation: String(generation), sequence: Number(sequence) },
          others,
        )
        if (!heard) onEvent('unheard')
        const wait = unregistered - elapsed()
        if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait))
        return true
      }
      const left = deadline - elapsed()
      if (left <= 0) return false
      await new Promise((resolve) => setTimeout(resolve, Math.min(left, times.probe / 2)))
    }
  }

  async #write(wanted: Wanted, time: number): Promise<Reply<(string | number)[]>> {
    const { link, knowledge, replica } = this.#options
    knowledge.raised(wanted.raise)
    const whole = { fence: [], lift: [], id: '', lease: 0, soft: false, ...wanted }
    // Half a character, which a node may name, is no text to Redis: it would refuse the raise for ever.
    const args = [randomUUID(), names.raised, replica, JSON.stringify(whole, wellFormed)]
    const reply = await link.run<(string | number)[]>(raise, [names.coherence], args, time)
    // Looks that Redis answered before the raise may have taught what was before it.
    knowledge.raised(wanted.raise)
    if (reply.ok) this.#pulse().saw(String(reply.value[0]))
    else this.#pulse().heard(reply)
    return reply
  }

  async #renew(): Promise<void> {
    const { elapsed, times } = this.#options
    for (const [id, { tags, until }] of [...this.#fences]) {
      if (until <= elapsed()) this.#fences.delete(id)
      else if (until === Number.POSITIVE_INFINITY) {
        await this.#write({ raise: [], fence: tags, id, lease: times.fenceLease }, times.slow)
      }
    }
  }
}

function wellFormed(_: string, value: unknown): unknown {
  return typeof value === 'string' ? Buffer.from(value).toString() : value
}

/** What must be written to Redis and could not be: raises, and fences to be lifted. Bounded: too many become one. */

/** Beyond so many tags, everything is raised instead. */
const MOST = 10_000

export interface Debt {
  readonly raise: readonly Tag[]
  /** Fences by id, and the tags that they stand on. */
  readonly lifts: ReadonlyMap<string, readonly Tag[]>
}

export class Debts {
  #raise = new Set<Tag>()
  #lifts = new Map<string, readonly Tag[]>()

  add(raise: Iterable<Tag>, lifts: Iterable<readonly [string, readonly Tag[]]> = []): void {
    for (const tag of raise) this.#raise.add(tag)
    if (this.#raise.size > MOST) this.#raise = new Set(['cache'])
    for (const [id, tags] of lifts) this.#lifts.set(id, tags)
    // The oldest fences are left to their own leases.
    for (const id of this.#lifts.keys()) if (this.#lifts.size > MOST) this.#lifts.delete(id)
  }

  /** All of it; whoever cannot write it adds it again. */
  take(): Debt {
    const debt = { raise: [...this.#raise], lifts: this.#lifts }
    this.#raise = new Set()
    this.#lifts = new Map()
    return debt
  }
}
