import type { Tag } from '../../contracts/endpoint.ts'
import { removeFrom } from '../../core/in-flight-list.ts'
import { growingLru } from '../../core/recently-used.ts'
import type { TagEpochs } from '../../core/stored-response.ts'
import { keyTag, MAX_EVICTIONS, withKeyEpoch } from './epochs.ts'

/** A read of epochs that Redis has not answered yet. */
interface EpochRead {
  readonly tags: readonly Tag[]
  isOutdated: boolean
}

/** Tags whose epochs are known, at least. */
const MIN_KNOWN_TAGS = 200_000
/**
 * Bytes of the local tier for each known tag: an entry has about 1 KiB or more, and two tags that no other entry has, the one
 * of its key and often a second one.
 */
const LOCAL_BYTES_PER_TAG = 512

/**
 * The epochs that this replica has read from Redis and that no invalidation has changed since. If an invalidation of
 * a tag arrives while a read of it is in flight, the result of the read is not used: Redis may have processed either
 * first. Use the known epochs only within the lease, never while the replica recovers from an outage.
 */
export class KnownEpochs {
  readonly #epochs = growingLru<Tag, string>(Number.MAX_SAFE_INTEGER)
  readonly #localBytes: () => number
  readonly #reads: EpochRead[] = []
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
    this.#reads.push(read)
    return read
  }

  /** Ends a read and remembers its epochs, one per tag in their order. Undefined: Redis did not answer. */
  endRead(read: EpochRead, result?: TagEpochs): void {
    removeFrom(this.#reads, read)
    if (result === undefined || read.isOutdated || result.fenced) return
    if (result.generation !== this.#generation) {
      this.#epochs.clear()
      this.#version += 1
      this.#generation = result.generation
    }
    for (const [at, tag] of read.tags.entries()) {
      const epoch = result.epochs[at] ?? ''
      if (this.#epochs.get(tag) !== epoch) this.#epochs.set(tag, epoch)
    }
    const max = Math.max(MIN_KNOWN_TAGS, Math.ceil(this.#localBytes() / LOCAL_BYTES_PER_TAG))
    for (let count = 0; this.#epochs.size > max && count < MAX_EVICTIONS; count++) this.#epochs.pop()
  }

  invalidate(tags: readonly Tag[]): void {
    this.#version += 1
    for (const tag of tags) this.#epochs.delete(tag)
    if (this.#reads.length === 0) return
    const invalidated = new Set(tags)
    for (const read of this.#reads) read.isOutdated ||= read.tags.some((tag) => invalidated.has(tag))
  }

  clear(): void {
    this.#version += 1
    this.#epochs.clear()
    for (const read of this.#reads) read.isOutdated = true
  }

  /** Returns the epochs of the tags and the key of an entry, or undefined if one of them is unknown. */
  of(key: string, tags: readonly Tag[]): TagEpochs | undefined {
    return this.#epochsOf(key, tags, (tag) => this.#epochs.get(tag))
  }

  /** As `of`, without counting as a use: the epochs are not forgotten later because of it. */
  peekOf(key: string, tags: readonly Tag[]): TagEpochs | undefined {
    return this.#epochsOf(key, tags, (tag) => this.#epochs.peek(tag))
  }

  #epochsOf(key: string, tags: readonly Tag[], find: (tag: Tag) => string | undefined): TagEpochs | undefined {
    const epochs: string[] = []
    for (const tag of [...tags, keyTag(key)]) {
      const epoch = find(tag)
      if (epoch === undefined) return undefined
      epochs.push(epoch)
    }
    return withKeyEpoch({ generation: this.#generation, epochs, fenced: false })
  }
}
