/** The store that all replicas share over Redis: one round trip for a lookup, none within the lease of the local tier. */
import { randomUUID } from 'node:crypto'
import type { Tag } from '../../catalogue/endpoint.ts'
import type { RedisStepEvent } from '../../core/events.ts'
import type { CacheIndex, CacheStoreState, IndexEntry, Lookup } from '../../core/response.ts'
import { openClient, RedisConnection } from '../../redis/connection.ts'
import { Heartbeat } from '../../redis/heartbeat.ts'
import {
  DEFAULT_TIMES,
  type OnStoreEvent,
  type RedisConnectionOptions,
  type RedisTimes,
  redisChannels,
} from '../../redis/options.ts'
import type { CacheStore, NewStoredResponse } from './contract.ts'
import { createEntryCodec } from './entry-codec.ts'
import { compareEpochs, keyTag, readTimeOf } from './epochs.ts'
import { FetchLocks } from './fetch-locks.ts'
import { InvalidationSubscriber } from './invalidation-subscriber.ts'
import { Invalidator } from './invalidator.ts'
import { LocalEntries, toLocalEntry } from './local-entries.ts'
import { KnownEpochs, knownEpochsOf, LocalTier, localLookup } from './local-tier.ts'
import { RedisEntries, RedisTier } from './redis-tier.ts'
import { ResponseIndex } from './response-index.ts'

export interface RedisStoreOptions {
  readonly redis: RedisConnectionOptions
  /** Size of the local tier in bytes; 0 disables it. */
  readonly localBytes: number
  /** Encrypts entries and index rows. Without it, they have a check against damage only. */
  readonly encryptionKey?: Buffer
  /** A write while Redis is unreachable: its response is delayed until local tiers expire, or it is refused. */
  readonly onLostStore?: 'delay' | 'refuse'
  readonly times?: Partial<RedisTimes>
  readonly elapsed?: () => number
  readonly onEvent?: OnStoreEvent
  /** Called after each command. */
  readonly onStep?: (step: RedisStepEvent) => void
}

export type RedisStore = CacheStore & CacheIndex & { state(): CacheStoreState; close(): Promise<void> }

/** Resolves when Redis is reachable, at the latest after `times.bulkTimeout`: the store then recovers on its own. */
export async function createRedisStore(options: RedisStoreOptions): Promise<RedisStore> {
  const cache = new RedisCache(options)
  await cache.start()
  return {
    lookup: (key, tags) => cache.lookup(key, tags),
    peek: (key, tags) => cache.peek(key, tags),
    store: (entry) => cache.store(entry),
    acquireFetchLock: (key, epochs, patience) => cache.fetchLocks.acquire(key, epochs, patience),
    fence: (tags) => cache.invalidator.fence(tags),
    list: (group, onProgress) => cache.list(group, onProgress),
    purge: (what) => cache.purge(what),
    state: () => cache.state,
    close: () => cache.close(),
  }
}

class RedisCache {
  readonly fetchLocks: FetchLocks
  readonly invalidator: Invalidator
  readonly #times: RedisTimes
  readonly #elapsed: () => number
  readonly #connections: {
    readonly commands: RedisConnection
    readonly bodies: RedisConnection
    readonly subscriber: RedisConnection
  }
  readonly #known = new KnownEpochs()
  readonly #local: LocalTier
  readonly #replica = randomUUID()
  readonly #entries: RedisEntries
  readonly #index: ResponseIndex
  readonly #heartbeat: Heartbeat
  readonly #redis: RedisTier

  constructor(options: RedisStoreOptions) {
    const times = { ...DEFAULT_TIMES, ...options.times }
    const elapsed = options.elapsed ?? (() => performance.now())
    const onEvent = options.onEvent ?? (() => {})
    const replica = this.#replica
    this.#times = times
    this.#elapsed = elapsed
    const open = () => new RedisConnection(openClient(options.redis, times), options.onStep)
    // Bodies have a connection of their own: a large one must not delay epochs and heartbeats.
    this.#connections = { commands: open(), bodies: open(), subscriber: open() }
    const { commands: connection, bodies, subscriber } = this.#connections
    const known = this.#known
    const codec = createEntryCodec(options.encryptionKey)
    const refuse = options.onLostStore === 'refuse'
    this.#local = new LocalTier(new LocalEntries(options.localBytes, elapsed), known)
    this.#entries = new RedisEntries({ connection: bodies, codec, times, elapsed, onEvent })
    const shared = { connection, replica, known, times, elapsed, onEvent }
    this.invalidator = new Invalidator({ ...shared, refuse }, () => this.#heartbeat)
    this.#heartbeat = new Heartbeat({
      ...shared,
      restore: () => this.invalidator.sendPending(),
      onGenerationChange: () => {
        known.clear()
        void this.invalidator.sendPending().then((sent) => (sent ? undefined : this.#heartbeat.distrust()))
      },
      onSilence: () => subscriber.reconnect(),
    })
    const heartbeat = this.#heartbeat
    this.fetchLocks = new FetchLocks({
      connection,
      times,
      isTrusted: () => heartbeat.isTrusted,
      onReply: (reply) => heartbeat.reportReply(reply),
    })
    this.#redis = new RedisTier({ ...shared, heartbeat, entries: this.#entries })
    const generation = async () => (await this.#redis.readTagEpochs([]))?.generation
    this.#index = new ResponseIndex({ connection: bodies, codec, times, elapsed, generation })
    new InvalidationSubscriber({
      ...shared,
      subscriber: subscriber.client,
      heartbeat,
      timeout: times.bulkTimeout,
      onAcknowledged: (by, sequence, generation) => this.invalidator.acknowledgements.add(by, sequence, generation),
      onLockReleased: (name) => this.fetchLocks.released(name),
      onReplaced: (key) => this.#local.delete(key),
    })
  }

  async start(): Promise<void> {
    await Promise.all([this.#heartbeat.start(), this.#connections.bodies.waitUntilReady(this.#times.bulkTimeout)])
  }

  /** Returns without a promise for a hit in the local tier. */
  lookup(key: string, tags: readonly Tag[]): Lookup | Promise<Lookup> {
    const now = this.#elapsed()
    const hit = this.#heartbeat.hasLease(now) ? this.#local.find(key, tags, now) : undefined
    if (hit === undefined) return this.#lookupInRedis(key, tags)
    this.#index.countHit(key, hit.entry.info.group)
    return localLookup(hit, now)
  }

  async #lookupInRedis(key: string, tags: readonly Tag[]): Promise<Lookup> {
    const { lookup, entry } = await this.#redis.lookup(key, tags)
    if (entry !== undefined) {
      this.#local.put(key, entry)
      this.#index.countHit(key, entry.info.group)
    }
    return lookup
  }

  async peek(key: string, tags: readonly Tag[]): Promise<Lookup> {
    const now = this.#elapsed()
    const hit = this.#heartbeat.hasLease(now) ? this.#local.peek(key, tags, now) : undefined
    return hit === undefined ? (await this.#redis.lookup(key, tags)).lookup : localLookup(hit, now)
  }

  list(group?: string, onProgress?: (entries: readonly IndexEntry[]) => void): Promise<readonly IndexEntry[]> {
    return this.#index.list(group, onProgress)
  }

  async store(entry: NewStoredResponse): Promise<void> {
    const { key, tags, epochs } = entry
    if (!this.#heartbeat.isTrusted) return
    const local = toLocalEntry(entry, readTimeOf(epochs) ?? this.#elapsed() - entry.response.fetchTime)
    // A stored entry is compared when it is read. Comparing it now only saves the memory of an outdated one.
    const known = this.#heartbeat.hasLease() ? knownEpochsOf(key, tags, this.#known) : undefined
    const now = known ?? (await this.#redis.readEpochs(key, tags))
    if (now === undefined || compareEpochs(epochs, now) !== 'same') return
    this.#local.put(key, local)
    const [isStored] = await Promise.all([this.#entries.set(key, local), this.#index.add(key, local)])
    if (!isStored) return this.#index.remove({ group: entry.info.group, key })
    // Older entries in other local tiers are valid, but a client that read the newer one must not read the older one.
    const { commands } = this.#connections
    const text = `${this.#replica} ${key}`
    await commands.send(this.#times.bulkTimeout, (client) => client.publish(redisChannels.replacements, text))
  }

  async purge({ group, key, soft = false }: { group?: string; key?: string; soft?: boolean }): Promise<void> {
    const tag = key !== undefined ? keyTag(key) : group !== undefined ? `cache:${group}` : 'cache'
    await this.invalidator.invalidate(tag, soft)
    if (soft) return
    if (key !== undefined) {
      this.#local.delete(key)
      await this.#entries.delete(key)
    }
    await this.#index.remove({ ...(group === undefined ? {} : { group }), ...(key === undefined ? {} : { key }) })
  }

  get state(): CacheStoreState {
    return { up: this.#heartbeat.isTrusted, local: this.#local.size }
  }

  async close(): Promise<void> {
    await this.#index.flushHits()
    await this.#heartbeat.close()
    this.invalidator.close()
    this.fetchLocks.close()
    this.#index.close()
    this.#local.clear()
    for (const connection of Object.values(this.#connections)) connection.close()
  }
}
