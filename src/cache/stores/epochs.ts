/**
 * Tag epochs: reading, comparing, remembering, and (for the memory store) counting them. The epoch of a tag is the text
 * `writes~softInvalidations`. The key of an entry is a tag as well. The epoch of the key is appended to
 * that of the first tag after a slash, so that a list of epochs has one text for each tag.
 */

import { randomUUID } from 'node:crypto'
import type { Tag } from '../../contracts/endpoint.ts'
import type { PurgeScope } from '../../core/cache.ts'
import { growingLru } from '../../core/recently-used.ts'
import type { Lookup, StoredBytes, TagEpochs } from '../../core/stored-response.ts'

/** Maximum number of entries that are evicted at once: after a reload with a smaller bound, later entries evict the rest. */
export const MAX_EVICTIONS = 1000

/** The epoch of a tag that was never invalidated in this generation. */
export const INITIAL_EPOCH = '0~0'

/** `stale`: only soft invalidations happened in between. `changed`: a write did, so the response must not be served. */
type EpochComparison = 'same' | 'stale' | 'changed'

export function compareEpochs(stored: Pick<TagEpochs, 'generation' | 'epochs'>, now: TagEpochs): EpochComparison {
  if (now.fenced || stored.generation !== now.generation || stored.epochs.length !== now.epochs.length) return 'changed'
  let comparison: EpochComparison = 'same'
  for (let at = 0; at < now.epochs.length; at += 1) {
    const before = stored.epochs[at]
    const after = now.epochs[at]
    if (before === after) continue
    if (before === undefined || after === undefined || writesOf(before) !== writesOf(after)) return 'changed'
    comparison = 'stale'
  }
  return comparison
}

/** Removes the counts of soft invalidations. */
function writesOf(epoch: string): string {
  return epoch.replaceAll(/~\d+/g, '')
}

/** Returns a text that two lookups share only if nothing was invalidated or fenced in between. */
export function epochsText(lookup: Lookup<StoredBytes>): string {
  if (lookup.kind === 'unavailable') return 'no epochs'
  const { generation, epochs, fenced } = lookup.epochs
  return `${generation} ${epochs.join(' ')} ${fenced}`
}

/** Appends the last epoch, that of the entry's key, to the first one. */
export function withKeyEpoch({ generation, epochs, fenced }: TagEpochs): TagEpochs {
  const own = epochs.at(-1)
  return { generation, epochs: epochs.slice(0, -1).map((epoch, at) => (at === 0 ? `${epoch}/${own}` : epoch)), fenced }
}

export function keyTag(key: string): string {
  return `key:${key}`
}

/**
 * Has the form of a tag of purges, but no stored response has it: the invalidation of any other tag looks like a write,
 * and this tag beside it makes every replica list its entries again.
 */
const PURGE_OF_TAG: Tag = 'cache:#tag'

export function purgeTags({ group, endpoint, tag, keys }: Omit<PurgeScope, 'soft'>): readonly Tag[] {
  if (keys !== undefined) return keys.map(keyTag)
  if (tag !== undefined) return [tag, PURGE_OF_TAG]
  if (endpoint !== undefined) return [endpointTag(endpoint)]
  return [group === undefined ? 'cache' : `cache:${group}`]
}

/** Returns the tag of all responses of an endpoint. Its name contains a slash, which no name of a group does. */
export function endpointTag(name: string): Tag {
  return `cache:${name}`
}

export function isPurgeTag(tag: Tag): boolean {
  return tag === 'cache' || tag.startsWith('cache:') || tag.startsWith('key:')
}

interface Epoch {
  writes: number
  soft: number
  text: string
}

/** The epochs and write fences of a process without Redis. */
export class EpochTable {
  readonly #generation = randomUUID()
  readonly #epochs = new Map<Tag, Epoch>()
  /** The fences of each tag, with the time at which each expires. */
  readonly #fences = new Map<Tag, Map<symbol, number>>()
  readonly #elapsed: () => number
  #version = 0

  constructor(elapsed: () => number) {
    this.#elapsed = elapsed
  }

  /** Changes with every epoch and every new fence. A comparison that found epochs equal is valid as long as it is the same. */
  get version(): number {
    return this.#version
  }

  of(key: string, tags: readonly Tag[]): TagEpochs {
    const epochs: string[] = []
    let fenced = false
    for (const tag of tags) {
      const epoch = this.#epochs.get(tag)?.text ?? INITIAL_EPOCH
      epochs.push(epochs.length === 0 ? `${epoch}/${this.#epochs.get(keyTag(key))?.text ?? INITIAL_EPOCH}` : epoch)
      if (this.#fences.size > 0) fenced ||= this.#isFenced(tag)
    }
    return { generation: this.#generation, epochs, fenced, readAt: this.#elapsed() }
  }

  peekOf(key: string, tags: readonly Tag[]): TagEpochs {
    return this.of(key, tags)
  }

  bump(tags: readonly Tag[], soft = false): void {
    this.#version += 1
    for (const tag of new Set(tags)) {
      const before = this.#epochs.get(tag) ?? { writes: 0, soft: 0 }
      const after = { writes: before.writes + (soft ? 0 : 1), soft: before.soft + (soft ? 1 : 0) }
      this.#epochs.set(tag, { ...after, text: `${after.writes}~${after.soft}` })
    }
  }

  /** `lease`: milliseconds from now; Infinity while the write is in progress. */
  addFence(fence: symbol, tags: readonly Tag[], lease: number): void {
    const expiresAt = this.#elapsed() + lease
    this.#version += 1
    for (const tag of tags) {
      const fences = this.#fences.get(tag) ?? new Map<symbol, number>()
      this.#fences.set(tag, fences.set(fence, expiresAt))
    }
  }

  removeFence(fence: symbol, tags: readonly Tag[]): void {
    for (const tag of tags) {
      const fences = this.#fences.get(tag)
      fences?.delete(fence)
      if (fences?.size === 0) this.#fences.delete(tag)
    }
  }

  #isFenced(tag: Tag): boolean {
    const fences = this.#fences.get(tag)
    if (fences === undefined) return false
    for (const [fence, expiresAt] of [...fences]) if (expiresAt <= this.#elapsed()) fences.delete(fence)
    if (fences.size === 0) this.#fences.delete(tag)
    return fences.size > 0
  }
}

/** A read of epochs that Redis has not answered yet. */
interface EpochRead {
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
    if (this.#reads.size === 0) return
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
