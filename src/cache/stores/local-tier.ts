/**
 * The local tier (L1): entries of this process, and the epochs that this process knows without a call to Redis. An entry
 * is served from here only within the lease of the heartbeat, and while the known epochs are those of the entry.
 */
import type { Tag } from '../../catalogue/endpoint.ts'
import { growingLru } from '../../core/recently-used.ts'
import type { Lookup, TagEpochs } from '../../core/response.ts'
import { compareEpochs, keyTag, TimedEpochs, withKeyEpoch } from './epochs.ts'
import { type LocalEntries, type LocalEntry, MAX_EVICTIONS, toStoredResponse } from './local-entries.ts'

export interface LocalHit {
  readonly entry: LocalEntry
  readonly epochs: TagEpochs
}

export class LocalTier {
  readonly #entries: LocalEntries
  readonly #known: KnownEpochs

  constructor(entries: LocalEntries, known: KnownEpochs) {
    this.#entries = entries
    this.#known = known
  }

  /** Returns the entry and the current epochs of its tags; undefined if there is no entry or its epochs are unknown. */
  find(key: string, tags: readonly Tag[], now: number): LocalHit | undefined {
    return this.#validHit(key, tags, this.#entries.get(key, now))
  }

  /** As `find`, without counting as a use of the entry. */
  peek(key: string, tags: readonly Tag[], now: number): LocalHit | undefined {
    return this.#validHit(key, tags, this.#entries.peek(key, now))
  }

  put(key: string, entry: LocalEntry): void {
    this.#entries.set(key, entry)
  }

  delete(key: string): void {
    this.#entries.delete(key)
  }

  get size(): { readonly bytes: number; readonly entries: number } {
    return { bytes: this.#entries.bytes, entries: this.#entries.count }
  }

  clear(): void {
    this.#entries.clear()
  }

  #validHit(key: string, tags: readonly Tag[], entry: LocalEntry | undefined): LocalHit | undefined {
    if (entry === undefined) return undefined
    if (!areEqual(entry.tags, tags)) return undefined
    // A comparison is valid until something is invalidated.
    const { version } = this.#known
    if (entry.compared?.version === version) return { entry, epochs: entry.compared.epochs }
    const epochs = knownEpochsOf(key, tags, this.#known)
    // After a soft invalidation, Redis may have a newer entry.
    if (epochs === undefined || compareEpochs(entry, epochs) !== 'same') return undefined
    entry.compared = { version, epochs }
    return { entry, epochs }
  }
}

export function localLookup({ entry, epochs }: LocalHit, now: number): Lookup {
  return {
    kind: 'hit',
    epochs: new TimedEpochs(epochs, now),
    response: toStoredResponse(entry, now, false),
    isLocal: true,
  }
}

/** Returns the epochs of an entry's tags and key if all of them are known. */
export function knownEpochsOf(key: string, tags: readonly Tag[], known: KnownEpochs): TagEpochs | undefined {
  const epochs = known.get([...tags, keyTag(key)])
  return epochs === undefined ? undefined : withKeyEpoch(epochs)
}

export function areEqual(some: readonly Tag[], others: readonly Tag[]): boolean {
  if (some === others) return true
  if (some.length !== others.length) return false
  for (let at = 0; at < some.length; at += 1) if (some[at] !== others[at]) return false
  return true
}

/** A read of epochs that Redis has not answered yet. */
export interface EpochRead {
  readonly tags: readonly Tag[]
  isOutdated: boolean
}

/** Tags whose epochs are known, at least. */
const MIN_KNOWN_TAGS = 200_000
/** Bytes of the local tier for each known tag: an entry has a tag of its key, often one of its own, and about 1 KiB or more. */
const LOCAL_BYTES_PER_TAG = 512

/**
 * The epochs that this replica has read from Redis and that no invalidation has changed since. If an invalidation of
 * a tag arrives while a read of it is in flight, the result of the read is not used: Redis may have processed either
 * first. Use the known epochs only within the lease, never while the replica recovers from an outage.
 */
export class KnownEpochs {
  readonly #epochs = growingLru<Tag, string>(Number.MAX_SAFE_INTEGER)
  readonly #localBytes: () => number
  readonly #reads = new Set<EpochRead>()
  #generation = ''
  #version = 0

  /** `localBytes`: size of the local tier. An entry is served from it only while the epochs of all its tags are known. */
  constructor(localBytes: () => number) {
    this.#localBytes = localBytes
  }

  /** Changes whenever epochs are discarded. A comparison is valid as long as the version is the same. */
  get version(): number {
    return this.#version
  }

  beginRead(tags: readonly Tag[]): EpochRead {
    const read = { tags, isOutdated: false }
    this.#reads.add(read)
    return read
  }

  /** Ends a read and remembers its epochs, one per tag in their order. Undefined: Redis did not answer. */
  endRead(read: EpochRead, result?: TagEpochs): void {
    this.#reads.delete(read)
    if (result === undefined || read.isOutdated || result.fenced) return
    if (result.generation !== this.#generation) {
      this.#epochs.clear()
      this.#version += 1
      this.#generation = result.generation
    }
    for (const [at, tag] of read.tags.entries()) this.#epochs.set(tag, result.epochs[at] ?? '')
    const max = Math.max(MIN_KNOWN_TAGS, Math.ceil(this.#localBytes() / LOCAL_BYTES_PER_TAG))
    for (let count = 0; this.#epochs.size > max && count < MAX_EVICTIONS; count++) this.#epochs.pop()
  }

  invalidate(tags: readonly Tag[]): void {
    this.#version += 1
    for (const tag of tags) this.#epochs.delete(tag)
    if (this.#reads.size === 0) return
    const invalidated = new Set(tags)
    for (const read of this.#reads) read.isOutdated ||= read.tags.some((tag) => invalidated.has(tag))
  }

  clear(): void {
    this.#version += 1
    this.#epochs.clear()
    for (const read of this.#reads) read.isOutdated = true
  }

  /** Returns the epochs of these tags, or undefined if one of them is unknown. */
  get(tags: readonly Tag[]): TagEpochs | undefined {
    const epochs: string[] = []
    for (const tag of tags) {
      const epoch = this.#epochs.get(tag)
      if (epoch === undefined) return undefined
      epochs.push(epoch)
    }
    return { generation: this.#generation, epochs, fenced: false }
  }
}
