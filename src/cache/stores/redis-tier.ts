/** The Redis tier (L2): lookups of stored responses, and the current epochs and fences of their tags. */
import { randomUUID } from 'node:crypto'
import type { Tag } from '../../catalogue/endpoint.ts'
import type { Lookup, TagEpochs } from '../../core/response.ts'
import { redisKeys } from '../../redis/options.ts'
import type { RedisReplica } from '../../redis/replica.ts'
import { compareEpochs, keyTag, TimedEpochs, withKeyEpoch } from './epochs.ts'
import { type LocalEntry, toStoredResponse } from './local-entries.ts'
import type { KnownEpochs } from './local-tier.ts'
import type { RedisEntries } from './redis-entries.ts'
import { READ_EPOCHS } from './scripts.ts'

export interface RedisTierOptions {
  readonly replica: RedisReplica
  readonly known: KnownEpochs
  readonly entries: RedisEntries
}

/** While both are the same, no epoch has changed. */
export interface InvalidationSequence {
  readonly generation: string
  readonly sequence: string
}

/** `entry` is there for a hit. */
interface TierLookup {
  readonly lookup: Lookup
  readonly entry?: LocalEntry
}

export class RedisTier {
  readonly #options: RedisTierOptions
  readonly #unsent = new Map<string, Promise<TierLookup>>()

  constructor(options: RedisTierOptions) {
    this.#options = options
  }

  /**
   * Looks up an entry in one round trip. Equal lookups of one turn of the event loop share it: thousands of identical
   * requests at once must not slow down Redis. It is sent after all of them have arrived, because the reply to an
   * earlier lookup might be older than a write that the later client has seen.
   */
  lookup(key: string, tags: readonly Tag[]): Promise<TierLookup> {
    if (!this.#options.replica.heartbeat.isTrusted) return Promise.resolve({ lookup: { kind: 'unavailable' } })
    const name = `${key} ${tags.join(' ')}`
    const unsent = this.#unsent.get(name)
    if (unsent !== undefined) return unsent
    const lookup = new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
      this.#unsent.delete(name)
      return this.#lookup(key, tags)
    })
    this.#unsent.set(name, lookup)
    return lookup
  }

  async #lookup(key: string, tags: readonly Tag[]): Promise<TierLookup> {
    const { replica, entries } = this.#options
    const { heartbeat, elapsed } = replica
    if (!heartbeat.isTrusted) return { lookup: { kind: 'unavailable' } }
    const [epochs, entry] = await Promise.all([this.readEpochs(key, tags), entries.get(key)])
    // Checked again: meanwhile a heartbeat may have found that all fences were lost before this lookup.
    if (epochs === undefined || !heartbeat.isTrusted) return { lookup: { kind: 'unavailable' } }
    if (entry === undefined) return { lookup: { kind: 'miss', epochs, changed: false } }
    const comparison = compareEpochs(entry, epochs)
    if (comparison === 'changed') return { lookup: { kind: 'miss', epochs, changed: true } }
    const response = toStoredResponse(entry, elapsed(), comparison === 'stale')
    return { lookup: { kind: 'hit', epochs, response, isLocal: false }, entry }
  }

  /** Reads the epochs of an entry's tags and key. Undefined: Redis is unreachable. */
  async readEpochs(key: string, tags: readonly Tag[]): Promise<TagEpochs | undefined> {
    const start = this.#options.replica.elapsed()
    const epochs = await this.readTagEpochs([...tags, keyTag(key)])
    return epochs === undefined ? undefined : new TimedEpochs(withKeyEpoch(epochs), start)
  }

  /** Reads the epochs of tags, and remembers them. Undefined: Redis is unreachable. */
  async readTagEpochs(tags: readonly Tag[]): Promise<TagEpochs | undefined> {
    const { known } = this.#options
    const read = known.beginRead(tags)
    const reply = await this.#readEpochs(tags)
    if (reply === undefined) {
      known.endRead(read)
      return undefined
    }
    const [generation, , fenced, ...values] = reply
    const epochs = { generation: String(generation), epochs: values.map(String), fenced: fenced === 1 }
    known.endRead(read, epochs)
    return epochs
  }

  /** Reads the place in the sequence of invalidations. Undefined: Redis is unreachable. */
  async readSequence(): Promise<InvalidationSequence | undefined> {
    const reply = await this.#readEpochs([])
    return reply && { generation: String(reply[0]), sequence: String(reply[1]) }
  }

  /** Returns the reply of READ_EPOCHS. */
  async #readEpochs(tags: readonly Tag[]): Promise<readonly (string | number)[] | undefined> {
    const { commands, heartbeat, times } = this.#options.replica
    const args = [randomUUID(), ...tags]
    const reply = await commands.runScript<(string | number)[]>(
      READ_EPOCHS,
      [redisKeys.epochs],
      args,
      times.commandTimeout,
    )
    heartbeat.reportReply(reply)
    return reply.ok && heartbeat.observeGeneration(String(reply.value[0])) ? reply.value : undefined
  }
}
