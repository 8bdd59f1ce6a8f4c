/**
 * Invalidations and write fences. A write is sent only under a fence that Redis has confirmed, and acknowledged only
 * when Redis has confirmed its end. What Redis has not confirmed is pending: it is sent when Redis is reachable again,
 * and before this replica uses Redis for reads.
 */

import { randomUUID } from 'node:crypto'
import type { Tag } from '../../contracts/endpoint.ts'
import type { PurgeOutcome } from '../../core/cache-entries.ts'
import { type AnnounceOptions, announce, type EpochChange, lastLeaseOf, sendChange } from './announcer.ts'
import { STORE_WAIT_MS, type WriteFence } from './contract.ts'

/** Time limit of pending changes in milliseconds. No request waits for them, and a lost connection ends them earlier. */
const PENDING_WAIT_MS = 30_000
/** Tags of one command of a purge, which blocks Redis for less than a millisecond. */
const TAGS_PER_COMMAND = 256
/** Beyond this many pending tags, everything is invalidated instead. */
const MAX_PENDING_TAGS = 10_000
/** Fences that are to be lifted. The oldest expire with their leases. */
const MAX_PENDING_LIFTS = 10_000

interface InvalidatorOptions extends AnnounceOptions {
  /** Returns whether a write is sent, and acknowledged, although Redis has not confirmed it. */
  readonly risksStaleReads: () => boolean
}

interface OwnFence {
  readonly tags: readonly Tag[]
  /** Infinity while the write is in progress. */
  readonly expiresAt: number
  /** `unset`: Redis may not have it. `over`: it is to be lifted. */
  readonly state: 'set' | 'unset' | 'over'
}

export class Invalidator {
  readonly #options: InvalidatorOptions
  readonly #fences = new Map<string, OwnFence>()
  readonly #renewal: NodeJS.Timeout
  #pendingTags = new Set<Tag>()
  #sending: Promise<boolean> | undefined

  constructor(options: InvalidatorOptions) {
    const { replica } = options
    this.#options = options
    this.#renewal = setInterval(() => this.renewFences(), replica.times.fenceLease / 3)
    this.#renewal.unref()
    replica.heartbeat.onBeat(() => {
      if (replica.commands.isReady) void this.sendPending()
    })
  }

  /** Waits at most `ms` milliseconds for Redis. */
  async fence(tags: readonly Tag[], ms = STORE_WAIT_MS): Promise<WriteFence> {
    const { replica, onEvent } = this.#options
    const { fenceLease: lease } = replica.times
    const risksStaleReads = this.#options.risksStaleReads()
    const limitOf = (wait: number) => (risksStaleReads ? Math.min(wait, lastLeaseOf(replica.times)) : wait)
    const id = randomUUID()
    this.#fences.set(id, { tags, expiresAt: Number.POSITIVE_INFINITY, state: 'set' })
    const isSet = await announce(this.#options, { bump: tags, fence: tags, id, lease }, limitOf(ms))
    if (!isSet && !risksStaleReads) {
      // Redis may have recorded the fence although its reply did not arrive.
      this.#liftLater(id, tags)
      return { state: 'refused', lift: async () => true, keepUntilLeaseEnds: () => this.#fenceUntilLeaseEnds(tags) }
    }
    if (!isSet) {
      this.#fences.set(id, { tags, expiresAt: Number.POSITIVE_INFINITY, state: 'unset' })
      onEvent('unfencedWrite')
    }
    return {
      state: isSet ? 'active' : 'localOnly',
      lift: async (more, wait = STORE_WAIT_MS) => {
        if (await this.#lift(id, more, limitOf(wait))) return true
        if (risksStaleReads) onEvent('unfencedWrite')
        return risksStaleReads
      },
      keepUntilLeaseEnds: () => {
        if (this.#fences.delete(id)) this.#fenceUntilLeaseEnds(tags, id)
      },
    }
  }

  /** Invalidates tags for a purge. Resolves when no replica serves what was invalidated, with `pending` after a while. */
  async invalidate(tags: readonly Tag[], soft: boolean): Promise<PurgeOutcome> {
    for (let at = 0; at < tags.length; at += TAGS_PER_COMMAND) {
      const bump = tags.slice(at, at + TAGS_PER_COMMAND)
      if (await announce(this.#options, { bump, soft }, STORE_WAIT_MS)) continue
      this.#bumpLater(tags.slice(at))
      return 'pending'
    }
    return 'done'
  }

  /** Sends what is pending, and the fences that Redis may not have. Returns whether Redis has all of it. */
  sendPending(): Promise<boolean> {
    if (!this.#hasPending) return Promise.resolve(true)
    this.#sending ??= this.#sendAll()
    return this.#sending
  }

  /** Sends also what is added meanwhile: many writes may end at once, and none of them shows that Redis is unreachable. */
  async #sendAll(): Promise<boolean> {
    let isSent = true
    while (isSent && this.#hasPending) isSent = await this.#sendPending()
    this.#sending = undefined
    return isSent
  }

  close(): void {
    clearInterval(this.#renewal)
  }

  get #hasPending(): boolean {
    return this.#pendingTags.size > 0 || [...this.#fences.values()].some(({ state }) => state !== 'set')
  }

  async #sendPending(): Promise<boolean> {
    const { replica, onEvent } = this.#options
    const { times, elapsed } = replica
    const bump = [...this.#pendingTags]
    this.#pendingTags.clear()
    const changes: EpochChange[] = bump.length > 0 ? [{ bump }] : []
    const sent = [...this.#fences].filter(([, { state }]) => state !== 'set')
    for (const [id, { tags, state, expiresAt }] of sent) {
      const lease = Math.min(times.fenceLease, expiresAt - elapsed())
      changes.push(state === 'over' ? { bump: [], lift: tags, id } : { bump: tags, fence: tags, id, lease })
    }
    const replies = await Promise.all(changes.map((change) => sendChange(this.#options, change, PENDING_WAIT_MS)))
    if (!replies.every((reply) => reply.ok)) {
      this.#addPendingTags(bump)
      return false
    }
    for (const [id, fence] of sent) {
      // Unless its state has changed meanwhile.
      if (this.#fences.get(id) !== fence) continue
      if (fence.state === 'over') this.#fences.delete(id)
      else this.#fences.set(id, { ...fence, state: 'set' })
    }
    if (bump.length > 0 || sent.some(([, { state }]) => state === 'over')) onEvent('replayed')
    return true
  }

  /** Returns false if Redis has not confirmed it until `ms` milliseconds have passed: the fence stays for its lease. */
  async #lift(id: string, more: readonly Tag[], ms: number): Promise<boolean> {
    const fence = this.#fences.get(id)
    if (fence === undefined) return true
    this.#fences.delete(id)
    const bump = [...new Set([...fence.tags, ...more])]
    if (await announce(this.#options, { bump, lift: fence.tags, id }, ms)) return true
    this.#liftLater(id, fence.tags)
    this.#bumpLater(bump)
    return false
  }

  #liftLater(id: string, tags: readonly Tag[]): void {
    this.#fences.delete(id)
    this.#fences.set(id, { tags, expiresAt: this.#leaseEnd(), state: 'over' })
    const over = [...this.#fences].filter(([, { state }]) => state === 'over')
    for (const [oldest] of over.slice(0, -MAX_PENDING_LIFTS)) this.#fences.delete(oldest)
  }

  /** The outcome of the write is unknown: its tags stay fenced until the lease ends. */
  #fenceUntilLeaseEnds(tags: readonly Tag[], id: string = randomUUID()): void {
    this.#fences.set(id, { tags, expiresAt: this.#leaseEnd(), state: 'unset' })
    this.#sendNow()
  }

  /** Until Redis has what is pending, this replica does not use it for reads. */
  #sendNow(): void {
    void this.sendPending().then((isSent) => isSent || this.#options.replica.contact.distrust())
  }

  #bumpLater(tags: readonly Tag[]): void {
    this.#addPendingTags(tags)
    this.#options.replica.contact.distrust()
  }

  #addPendingTags(tags: readonly Tag[]): void {
    for (const tag of tags) this.#pendingTags.add(tag)
    if (this.#pendingTags.size > MAX_PENDING_TAGS) this.#pendingTags = new Set(['cache'])
  }

  #leaseEnd(): number {
    const { elapsed, times } = this.#options.replica
    return elapsed() + times.fenceLease
  }

  /** Sends the fences of writes in progress again: their leases are to be renewed, or Redis has lost its data. */
  renewFences(): void {
    const now = this.#options.replica.elapsed()
    for (const [id, fence] of this.#fences) {
      if (fence.expiresAt <= now) this.#fences.delete(id)
      else if (fence.state === 'set') this.#fences.set(id, { ...fence, state: 'unset' })
    }
    this.#sendNow()
  }
}
