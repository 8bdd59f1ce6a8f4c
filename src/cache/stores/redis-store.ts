/** The store that all replicas share, over Redis: one round trip for a look, none within the lease of a near copy. */
import { randomUUID } from 'node:crypto'
import type { Tag } from '../../catalogue/endpoint.ts'
import type { CacheIndex, CacheStoreState, Lookup } from '../../core/response.ts'
import { connect, Link } from '../../redis/connection.ts'
import { Pulse } from '../../redis/heartbeat.ts'
import { defaultTimes, names, type RedisStoreOptions, type Times } from '../../redis/options.ts'
import type { CacheStore, NewStoredResponse } from './contract.ts'
import { entryCodec } from './entry-codec.ts'
import { begun, compareMarks, keyTag } from './epochs.ts'
import { Claims } from './fetch-locks.ts'
import { Follower } from './invalidation-subscriber.ts'
import { Raises } from './invalidator.ts'
import { HeldEntries, heldOf } from './local-entries.ts'
import { Knowledge, markOf, Near, nearLook } from './local-tier.ts'
import { Entries, Far } from './redis-tier.ts'
import { Rows } from './response-index.ts'

export type { RedisPlace, RedisStoreOptions, StoreEvent, Times } from '../../redis/options.ts'
export { storeEvents } from '../../redis/options.ts'
export { commandsUsed } from './scripts.ts'

export type RedisStore = CacheStore & CacheIndex & { state(): CacheStoreState; close(): Promise<void> }

/** Resolves when Redis was reached, or after `times.slow` without it: the store then comes when Redis does. */
export async function createRedisStore(options: RedisStoreOptions): Promise<RedisStore> {
  const shared = new SharedStore(options)
  await shared.start()
  return {
    lookup: (key, tags) => shared.look(key, tags),
    peek: (key, tags) => shared.peek(key, tags),
    store: (entry) => shared.keep(entry),
    acquireFetchLock: (key, mark, patience) => shared.claims.claim(key, mark, patience),
    fence: (tags) => shared.raises.fence(tags),
    list: (group, heard) => shared.rows.list(group, heard),
    purge: (what) => shared.drop(what),
    state: () => shared.state,
    close: () => shared.close(),
  }
}

class SharedStore {
  readonly claims: Claims
  readonly raises: Raises
  readonly rows: Rows
  readonly #times: Times
  readonly #elapsed: () => number
  readonly #links: { readonly steps: Link; readonly bulk: Link; readonly follower: Link }
  readonly #knowledge = new Knowledge()
  readonly #near: Near
  readonly #replica = randomUUID()
  readonly #entries: Entries
  readonly #pulse: Pulse
  readonly #far: Far

  constructor(options: RedisStoreOptions) {
    const times = { ...defaultTimes, ...options.times }
    const elapsed = options.elapsed ?? (() => performance.now())
    const onEvent = options.onEvent ?? (() => {})
    const replica = this.#replica
    this.#times = times
    this.#elapsed = elapsed
    // Bodies have a connection of their own: a large one must not hold up epochs and heartbeats.
    const open = () => new Link(connect(options.redis, times), options.onStep)
    this.#links = { steps: open(), bulk: open(), follower: open() }
    const { steps: link, bulk, follower } = this.#links
    const knowledge = this.#knowledge
    const codec = entryCodec(options.encryptionKey)
    const refuse = options.onLostStore === 'refuse'
    this.#near = new Near(new HeldEntries(options.nearBytes, elapsed), knowledge)
    this.#entries = new Entries({ link: bulk, codec, times, elapsed, onEvent })
    this.raises = new Raises({ link, replica, knowledge, times, refuse, elapsed, onEvent }, () => this.#pulse)
    const restore = () => this.raises.restore()
    const onLostMemory = () => {
      knowledge.forget()
      void restore().then((written) => (written ? undefined : this.#pulse.distrust()))
    }
    const onSilence = () => follower.reconnect()
    this.#pulse = new Pulse({ link, replica, times, elapsed, onEvent, restore, onLostMemory, onSilence })
    const onReply = (reply: Parameters<Pulse['heard']>[0]) => this.#pulse.heard(reply)
    this.claims = new Claims({ link, times, trusted: () => this.#pulse.trusted, onReply })
    this.#far = new Far({ link, pulse: this.#pulse, knowledge, entries: this.#entries, times, elapsed })
    const generation = async () => (await this.#far.marks([]))?.generation
    this.rows = new Rows({ link: bulk, codec, times, elapsed, generation })
    new Follower({
      subscriber: follower.client,
      link,
      replica,
      knowledge,
      pulse: this.#pulse,
      time: times.slow,
      onEvent,
      onAcknowledged: (who, sequence, generation) => this.raises.acknowledgements.add(who, sequence, generation),
      onSettled: (claim) => this.claims.settled(claim),
      onReplaced: (key) => this.#near.drop(key),
    })
  }

  async start(): Promise<void> {
    await Promise.all([this.#pulse.start(), this.#links.bulk.connected(this.#times.slow)])
  }

  /** At once within the lease of a near copy. */
  look(key: string, tags: readonly Tag[]): Lookup | Promise<Lookup> {
    const now = this.#elapsed()
    const hit = this.#pulse.leased(now) ? this.#near.find(key, tags, now) : undefined
    if (hit !== undefined) {
      this.rows.count(key, hit.held.listed.group)
      return nearLook(hit, now)
    }
    return this.#lookFar(key, tags)
  }

  async #lookFar(key: string, tags: readonly Tag[]): Promise<Lookup> {
    const { look, held } = await this.#far.look(key, tags)
    if (held !== undefined) {
      this.#near.put(key, held)
      this.rows.count(key, held.listed.group)
    }
    return look
  }

  async peek(key: string, tags: readonly Tag[]): Promise<Lookup> {
    const now = this.#elapsed()
    const hit = this.#pulse.leased(now) ? this.#near.peek(key, tags, now) : undefined
    return hit === undefined ? (await this.#far.look(key, tags)).look : nearLook(hit, now)
  }

  async keep(entry: NewStoredResponse): Promise<void> {
    const { key, tags, epochs: mark } = entry
    if (!this.#pulse.trusted) return
    const held = heldOf(entry, begun(mark) ?? this.#elapsed() - entry.response.fetchTime)
    // What is read is compared when it is read; comparing now only saves the room.
    const now =
      (this.#pulse.leased() ? markOf(key, tags, this.#knowledge) : undefined) ?? (await this.#far.mark(key, tags))
    if (now === undefined || compareMarks(mark, now) !== 'same') return
    this.#near.put(key, held)
    const [kept] = await Promise.all([this.#entries.set(key, held), this.rows.add(key, held)])
    if (!kept) return this.rows.drop({ group: entry.info.group, key })
    // Older near copies are still valid, but reads must not go back to them from the newer one.
    await this.#links.steps.step(this.#times.slow, (client) => client.publish(names.kept, `${this.#replica} ${key}`))
  }

  async drop({ group, key, soft = false }: { group?: string; key?: string; soft?: boolean }): Promise<void> {
    await this.raises.drop(key !== undefined ? keyTag(key) : group !== undefined ? `cache:${group}` : 'cache', soft)
    if (soft) return
    if (key !== undefined) {
      this.#near.drop(key)
      await this.#entries.drop(key)
    }
    await this.rows.drop({ ...(group === undefined ? {} : { group }), ...(key === undefined ? {} : { key }) })
  }

  get state(): CacheStoreState {
    return { up: this.#pulse.trusted, local: this.#near.size }
  }

  async close(): Promise<void> {
    await this.rows.flush()
    await this.#pulse.close()
    this.raises.close()
    this.claims.close()
    this.rows.close()
    this.#near.clear()
    for (const link of Object.values(this.#links)) link.close()
  }
}
