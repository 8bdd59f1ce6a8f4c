/**
 * The index of stored responses in Redis: for each cache group the keys by expiry, their rows and their hit counts.
 * Nothing is scanned. A row expires with its entry and is removed when others are added. A row whose tags were
 * invalidated is left out when it is read.
 */

import type { IndexEntry, IndexPage, IndexWindow, PurgeScope } from '../../core/cache-entries.ts'
import { redisKeys } from '../../replicas/options.ts'
import type { RedisReplica } from '../../replicas/replica.ts'
import { script } from '../../replicas/scripts.ts'
import type { EntryCodec } from './entry-codec.ts'
import type { EpochReader } from './epoch-reader.ts'
import { countRows } from './index-pages.ts'
import { IndexReader } from './index-reader.ts'
import { RememberedRows } from './index-rows.ts'
import { IndexWriter } from './index-writer.ts'
import { type LocalEntry, measuresOf, type NewHits } from './local-entries.ts'

/** KEYS (of one group): keys by expiry, rows, hits. ARGV: pairs of key and hits. Ignores keys without a row. */
const COUNT_HITS = script(`
for at = 1, #ARGV, 2 do
  if redis.call('HEXISTS', KEYS[3], ARGV[at]) == 1 then redis.call('HINCRBY', KEYS[3], ARGV[at], ARGV[at + 1]) end
end
return 1`)

/** KEYS as above. ARGV: keys, at most a few hundred. */
const REMOVE_ROWS = script(`
redis.call('ZREM', KEYS[1], unpack(ARGV))
redis.call('HDEL', KEYS[3], unpack(ARGV))
return redis.call('HDEL', KEYS[2], unpack(ARGV))`)

interface ResponseIndexOptions {
  readonly replica: RedisReplica
  readonly codec: EntryCodec
  readonly epochs: EpochReader
  /** The names of all cache groups. */
  readonly groups: readonly string[]
}

const HITS_PER_COMMAND = 64
/** Keys of one command that removes rows. */
const KEYS_PER_REMOVAL = 256
/** Entries with new hits beyond which the counts are written at once. */
const MAX_COUNTED_ENTRIES = 5000

export class ResponseIndex {
  readonly #options: ResponseIndexOptions
  /** Of the entries with new hits. */
  #counted: NewHits[] = []
  readonly #writer: IndexWriter
  readonly #timer: NodeJS.Timeout
  readonly #remembered: RememberedRows
  /** Listings run one after the other: each one finds the rows that the listing before has decoded. */
  #listing: Promise<void> = Promise.resolve()

  constructor(options: ResponseIndexOptions) {
    this.#options = options
    this.#writer = new IndexWriter(options.replica)
    this.#remembered = new RememberedRows(options.codec)
    this.#timer = setInterval(() => void this.flush(), options.replica.times.bulkTimeout)
    this.#timer.unref()
  }

  /** Adds the row of an entry. Another replica lists it some 10 ms later, this one at once. */
  add(key: string, entry: LocalEntry): void {
    const { info, generation, epochs, fetchedAt } = entry
    if (info === undefined) return
    const { size, fetchTime: cost, lifetime } = measuresOf(entry)
    const { replica, codec } = this.#options
    const left = Math.floor(lifetime - (replica.elapsed() - fetchedAt))
    if (left < 1) return
    // The field names of version 0.1.0: replicas of both versions share the index.
    const head = { listed: info, generation, epochs, whole: lifetime, size, cost }
    const row = codec.encodeHead(`row:${key}`, head)
    this.#writer.add(info.group, [key, row, left])
  }

  countHit(key: string, entry: LocalEntry): void {
    if (entry.info === undefined) return
    entry.newHits ??= { key, group: entry.info.group, count: 0 }
    entry.newHits.count += 1
    if (entry.newHits.count > 1) return
    if (this.#counted.push(entry.newHits) > MAX_COUNTED_ENTRIES) void this.flush()
  }

  /** Writes the new rows. */
  flushRows(): Promise<void> {
    return this.#writer.flush()
  }

  /** Writes the new rows and the new hits. If Redis does not take them, they are lost. */
  async flush(): Promise<void> {
    await this.#writer.flush()
    const { bodies, times } = this.#options.replica
    const byGroup = new Map<string, (string | number)[]>()
    for (const hits of this.#counted) {
      byGroup.set(hits.group, byGroup.get(hits.group) ?? [])
      byGroup.get(hits.group)?.push(hits.key, hits.count)
      hits.count = 0
    }
    this.#counted = []
    for (const [group, pairs] of byGroup) {
      for (let at = 0; at < pairs.length; at += 2 * HITS_PER_COMMAND) {
        const some = pairs.slice(at, at + 2 * HITS_PER_COMMAND)
        const reply = await bodies.runScript(COUNT_HITS, redisKeys.index(group), some, times.bulkTimeout)
        if (!reply.ok) return
      }
    }
  }

  /** `onProgress` is called repeatedly with all entries that were read so far. */
  list(group?: string, onProgress?: (entries: readonly IndexEntry[]) => void): Promise<readonly IndexEntry[]> {
    const listing = this.#listing.then(() => this.#list(group, onProgress))
    // Without its result, which would stay in memory until the next listing.
    const end = () => {}
    this.#listing = listing.then(end, end)
    return listing
  }

  async #list(group?: string, onProgress?: (entries: readonly IndexEntry[]) => void): Promise<readonly IndexEntry[]> {
    const reader = await this.#reader()
    return reader?.list(this.#groups(group), this.#remembered, onProgress) ?? []
  }

  async count(): Promise<ReadonlyMap<string, number>> {
    await this.#writer.flush()
    return countRows(this.#options.replica, this.#groups())
  }

  async page(window: IndexWindow): Promise<IndexPage> {
    const reader = await this.#reader()
    return reader?.page(window, this.#groups(window.group)) ?? { rows: [], total: 0 }
  }

  async find(key: string): Promise<IndexEntry | undefined> {
    return (await this.#reader())?.find(key, this.#groups())
  }

  /** Undefined: Redis is unreachable. */
  async #reader(): Promise<IndexReader | undefined> {
    await this.flush()
    const sequence = await this.#options.epochs.readSequence()
    return sequence && new IndexReader(this.#options, sequence)
  }

  /** Removes the rows of some keys, or all rows of a group. Without a group, of every group. */
  async remove({ group, keys }: Pick<PurgeScope, 'group' | 'keys'>): Promise<void> {
    await this.#writer.flush()
    await Promise.all(this.#groups(group).map((each) => this.#removeFrom(each, keys)))
  }

  async #removeFrom(group: string, keys: readonly string[] | undefined): Promise<void> {
    const { bodies, times } = this.#options.replica
    const names = redisKeys.index(group)
    if (keys === undefined) return void (await bodies.send(times.bulkTimeout, (client) => client.unlink(...names)))
    for (let at = 0; at < keys.length; at += KEYS_PER_REMOVAL) {
      await bodies.runScript(REMOVE_ROWS, names, keys.slice(at, at + KEYS_PER_REMOVAL), times.bulkTimeout)
    }
  }

  close(): void {
    clearInterval(this.#timer)
    this.#remembered.discard()
  }

  #groups(only?: string): readonly string[] {
    return only === undefined ? this.#options.groups : [only]
  }
}
