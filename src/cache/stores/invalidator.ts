/**
 * Invalidations and write fences. A writer continues when every replica has acknowledged the invalidation or its lease
 * has expired. Invalidations that could not be sent are pending, and are sent before Redis is trusted again.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Tag } from '../../catalogue/endpoint.ts'
import type { PurgeOutcome } from '../../core/response.ts'
import type { RedisReply } from '../../redis/connection.ts'
import { redisChannels, redisKeys, type StoreEvent } from '../../redis/options.ts'
import type { RedisReplica } from '../../redis/replica.ts'
import type { WriteFence } from './contract.ts'
import { Acknowledgements } from './invalidation-subscriber.ts'
import type { KnownEpochs } from './local-tier.ts'
import { PendingInvalidations } from './pending-invalidations.ts'
import { BUMP_EPOCHS } from './scripts.ts'

/** A lease may last this many times longer by the clock of another machine. */
const CLOCK_DRIFT = 1.05
/** Attempts of `onUnreachableStore: refuse`, in command timeouts, before a write is refused. */
const REFUSE_AFTER_TIMEOUTS = 4
/** Tags of one command of a purge, which blocks Redis for less than a millisecond. */
const TAGS_PER_COMMAND = 256

export interface InvalidatorOptions {
  readonly replica: RedisReplica
  readonly known: KnownEpochs
  /** Returns whether writes are refused while Redis is unreachable, instead of delayed; the setting may change. */
  readonly refuse: () => boolean
  readonly onEvent: (event: StoreEvent) => void
}

/** One atomic change: tags to invalidate, and tags to fence or to free from the fence `id`. */
interface EpochChange {
  readonly bump: readonly Tag[]
  readonly fence?: readonly Tag[]
  readonly lift?: readonly Tag[]
  readonly id?: string
  readonly lease?: number
  readonly soft?: boolean
}

interface OwnFence {
  readonly tags: readonly Tag[]
  /** Infinity while the write is in progress. */
  expiresAt: number
}

export class Invalidator {
  readonly acknowledgements = new Acknowledgements()
  readonly #options: InvalidatorOptions
  readonly #pending = new PendingInvalidations()
  readonly #fences = new Map<string, OwnFence>()
  readonly #renewal: NodeJS.Timeout

  constructor(options: InvalidatorOptions) {
    this.#options = options
    this.#renewal = setInterval(() => void this.#renewFences(), options.replica.times.fenceLease / 3)
    this.#renewal.unref()
  }

  async fence(tags: readonly Tag[]): Promise<WriteFence> {
    const { replica, onEvent } = this.#options
    const refuse = this.#options.refuse()
    const { times, elapsed } = replica
    const id = randomUUID()
    this.#fences.set(id, { tags, expiresAt: Number.POSITIVE_INFINITY })
    const change = { bump: tags, fence: tags, id, lease: times.fenceLease }
    const deadline = refuse ? elapsed() + REFUSE_AFTER_TIMEOUTS * times.commandTimeout : this.#lastLeaseEnd()
    // Without tags there is nothing to invalidate until the response names some.
    const sent = tags.length === 0 || (await this.#announce(change, deadline))
    if (!sent && refuse) {
      // Redis may have processed the script although its reply did not arrive.
      this.#fences.delete(id)
      this.#postpone([], [[id, tags]])
      return { state: 'refused', lift: async () => {}, keepUntilLeaseEnds: () => this.#fenceLater(id, tags) }
    }
    if (!sent) onEvent('unfencedWrite')
    return {
      state: sent ? 'active' : 'localOnly',
      lift: (more) => this.#lift(id, tags, more),
      keepUntilLeaseEnds: () => this.#keepUntilLeaseEnds(id),
    }
  }

  /** Invalidates tags for a purge. Resolves as `WriteFence.lift` does, with `pending` if Redis is unreachable. */
  async invalidate(tags: readonly Tag[], soft: boolean): Promise<PurgeOutcome> {
    for (let at = 0; at < tags.length; at += TAGS_PER_COMMAND) {
      const bump = tags.slice(at, at + TAGS_PER_COMMAND)
      if (await this.#announce({ bump, soft }, this.#lastLeaseEnd())) continue
      this.#postpone(tags.slice(at))
      return 'pending'
    }
    return 'done'
  }

  /** Sends what is pending, and the fences of writes in progress. Returns whether Redis accepted all of it. */
  async sendPending(): Promise<boolean> {
    const { replica, onEvent } = this.#options
    const { times, elapsed } = replica
    const { bump, lifts } = this.#pending.take()
    const changes: EpochChange[] = bump.length > 0 ? [{ bump }] : []
    for (const [id, tags] of lifts) changes.push({ bump: [], lift: tags, id })
    for (const [id, { tags, expiresAt }] of this.#fences) {
      changes.push({ bump: tags, fence: tags, id, lease: Math.min(times.fenceLease, expiresAt - elapsed()) })
    }
    const replies = await Promise.all(changes.map((change) => this.#send(change, times.bulkTimeout)))
    const allSent = replies.every((reply) => reply.ok)
    if (!allSent) this.#pending.add(bump, lifts)
    else if (changes.length > 0) onEvent('replayed')
    return allSent
  }

  close(): void {
    clearInterval(this.#renewal)
  }

  async #lift(id: string, tags: readonly Tag[], more: readonly Tag[]): Promise<void> {
    if (!this.#fences.delete(id)) return
    const bump = [...new Set([...tags, ...more])]
    if (!(await this.#announce({ bump, lift: tags, id }, this.#lastLeaseEnd()))) this.#postpone(bump, [[id, tags]])
  }

  #keepUntilLeaseEnds(id: string): void {
    const { elapsed, times } = this.#options.replica
    const fence = this.#fences.get(id)
    if (fence === undefined) return
    fence.expiresAt = elapsed() + times.fenceLease
    void this.#send({ bump: [], fence: fence.tags, id, lease: times.fenceLease }, times.bulkTimeout)
  }

  /** A refused write was sent after all, with an unknown outcome: fences its tags when Redis is reachable again. */
  #fenceLater(id: string, tags: readonly Tag[]): void {
    const { elapsed, times } = this.#options.replica
    this.#fences.set(id, { tags, expiresAt: elapsed() + times.fenceLease })
    this.#options.replica.heartbeat.distrust()
  }

  #postpone(bump: readonly Tag[], lifts: readonly (readonly [string, readonly Tag[]])[] = []): void {
    this.#pending.add(bump, lifts)
    this.#options.replica.heartbeat.distrust()
  }

  /** Returns when the lease of every local tier has expired, if Redis is unreachable for all replicas. */
  #lastLeaseEnd(): number {
    const { elapsed, times } = this.#options.replica
    return (this.#options.replica.heartbeat.lostAt ?? elapsed()) + times.lease * CLOCK_DRIFT
  }

  /** Sends a change, at least once and until `deadline`, then waits for the acknowledgements. False: not sent. */
  async #announce(change: EpochChange, deadline: number): Promise<boolean> {
    const { elapsed, times } = this.#options.replica
    for (;;) {
      const limit = Math.max(times.commandTimeout, Math.min(times.bulkTimeout, deadline - elapsed()))
      const reply = await this.#send(change, limit)
      if (reply.ok) {
        if (change.bump.length > 0) await this.#waitForReplicas(reply.value)
        return true
      }
      const left = deadline - elapsed()
      if (left <= 0) return false
      await sleep(Math.min(left, times.retryInterval / 2))
    }
  }

  /** `value`: the reply of BUMP_EPOCHS. */
  async #waitForReplicas([generation, sequence, age, ...leases]: readonly (string | number)[]): Promise<void> {
    const { replica, onEvent } = this.#options
    const { elapsed, times } = replica
    // When Redis loses its data, registrations are lost at once, but local tiers are served until their leases expire.
    const unregisteredUntil = elapsed() + (times.lease - Number(age)) * CLOCK_DRIFT
    const others = new Map<string, number>()
    for (let at = 0; at < leases.length; at += 2) others.set(String(leases[at]), Number(leases[at + 1]) * CLOCK_DRIFT)
    others.delete(replica.id)
    const invalidation = { generation: String(generation), sequence: Number(sequence) }
    if (!(await this.acknowledgements.wait(invalidation, others))) onEvent('unacknowledged')
    const left = unregisteredUntil - elapsed()
    if (left > 0) await sleep(left)
  }

  async #send(change: EpochChange, ms: number): Promise<RedisReply<(string | number)[]>> {
    const { known, replica } = this.#options
    const { heartbeat } = replica
    known.invalidate(change.bump)
    const whole = { fence: [], lift: [], id: '', lease: 0, soft: false, ...change }
    // A node may name half a surrogate pair. cjson rejects it: the script would fail forever.
    const args = [randomUUID(), redisChannels.invalidations, replica.id, JSON.stringify(whole, toWellFormed)]
    const reply = await replica.commands.runScript<(string | number)[]>(BUMP_EPOCHS, [redisKeys.epochs], args, ms)
    // Reads that Redis answered before this script may have ended meanwhile, with older epochs.
    known.invalidate(change.bump)
    if (reply.ok) heartbeat.observeGeneration(String(reply.value[0]))
    else heartbeat.reportReply(reply)
    return reply
  }

  async #renewFences(): Promise<void> {
    const { elapsed, times } = this.#options.replica
    for (const [id, { tags, expiresAt }] of [...this.#fences]) {
      if (expiresAt <= elapsed()) this.#fences.delete(id)
      else if (expiresAt === Number.POSITIVE_INFINITY) {
        await this.#send({ bump: [], fence: tags, id, lease: times.fenceLease }, times.bulkTimeout)
      }
    }
  }
}

function toWellFormed(_: string, value: unknown): unknown {
  return typeof value === 'string' ? Buffer.from(value).toString() : value
}
