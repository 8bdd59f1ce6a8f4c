/** Lookups in Redis: one round trip for all lookups of one turn of the event loop. */

import type { Tag } from '../../contracts/endpoint.ts'
import type { Lookup } from '../../core/stored-response.ts'
import type { RedisReplica } from '../../replicas/replica.ts'
import { InFlightMap } from '../in-flight-map.ts'
import type { EpochReader } from './epoch-reader.ts'
import { type LocalEntry, lookupAt } from './local-entries.ts'
import type { RedisEntries } from './redis-entries.ts'

interface RedisLookupsOptions {
  readonly replica: RedisReplica
  readonly epochs: EpochReader
  readonly entries: RedisEntries
}

/** `entry` is there for a hit. */
interface TierLookup {
  readonly lookup: Lookup
  readonly entry?: LocalEntry | undefined
}

export class RedisLookups {
  readonly #options: RedisLookupsOptions
  /** Those that have arrived in this turn. */
  readonly #unsent = new InFlightMap<Promise<TierLookup>>()

  constructor(options: RedisLookupsOptions) {
    this.#options = options
  }

  /**
   * Looks up an entry in one round trip, a long one in two. Equal lookups of one turn of the event loop share it:
   * thousands of identical requests at once must not slow down Redis. It is sent after all of them have arrived, because
   * the reply to an earlier lookup might be older than a write that the later client has seen.
   */
  find(key: string, tags: readonly Tag[]): Promise<TierLookup> {
    const { contact, turnEnd } = this.#options.replica
    if (!contact.isTrusted) return Promise.resolve({ lookup: { kind: 'unavailable' } })
    const name = `${key} ${tags.join(' ')}`
    const equal = this.#unsent.get(name)
    if (equal !== undefined) return equal
    const found = turnEnd.add(() => {
      this.#unsent.delete(name)
      return this.#lookupAlone(key, tags)
    })
    this.#unsent.set(name, found)
    return found
  }

  async #lookupAlone(key: string, tags: readonly Tag[]): Promise<TierLookup> {
    const { replica, entries } = this.#options
    const { contact, elapsed } = replica
    if (!contact.isTrusted) return { lookup: { kind: 'unavailable' } }
    const [epochs, entry] = await Promise.all([this.#options.epochs.read(key, tags), entries.get(key)])
    // Checked again: meanwhile a heartbeat may have found that all fences were lost before this lookup.
    if (epochs === undefined || !contact.isTrusted) return { lookup: { kind: 'unavailable' } }
    const lookup = lookupAt(entry, epochs, elapsed(), false)
    return { lookup, entry: lookup.kind === 'hit' ? entry : undefined }
  }
}
