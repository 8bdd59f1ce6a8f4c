/**
 * The index of stored responses in Redis: for each cache group the keys by expiry, their rows and their hit counts.
 * Nothing is scanned. A row expires with its entry and is removed when others are added. A row whose tags were
 * invalidated is left out when it is read.
 */

import { LRUCache } from 'lru-cache'
import type { IndexEntry, IndexPage, IndexWindow, PurgeScope } from '../../core/cache-entries.ts'
import { redisKeys } from '../../replicas/options.ts'
import type { RedisReplica } from '../../replicas/replica.ts'
import { NOW, script } from '../../replicas/scripts.ts'
import type { EntryCodec } from './entry-codec.ts'
import type { EpochReader } from './epoch-reader.ts'
import { countRows } from './index-pages.ts'
import { IndexReader } from './index-reader.ts'
import { RememberedRows } from './index-rows.ts'
import { type LocalEntry, measuresOf } from './local-entries.ts'

/**
 * Adds rows and removes up to 128 that have expired. KEYS (of one group): keys by expiry, rows, hits. ARGV: key, row, and
 * milliseconds until it expires, of each. The three keys expire with their last row.
 */
const ADD_ROWS = script(
  NOW,
  `
local old = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, 128)
if #old > 0 then
  redis.call('ZREM', KEYS[1], unpack(old))
  redis.call('HDEL', KEYS[2], unpack(old))
  redis.call('HDEL', KEYS[3], unpack(old))
end
local expiries, rows, hits, longest = {}, {}, {}, 0
for at = 1, #ARGV, 3 do
  local key, left = ARGV[at], tonumber(ARGV[at + 2])
  expiries[#expiries + 1] = now + left
  expiries[#expiries + 1] = key
  rows[#rows + 1] = key
  rows[#rows + 1] = ARGV[at + 1]
  hits[#hits + 1] = key
  hits[#hits + 1] = 0
  longest = math.max(longest, left)
end
redis.call('ZADD', KEYS[1], unpack(expiries))
redis.call('HSET', KEYS[2], unpack(rows))
redis.call('HSET', KEYS[3], unpack(hits))
for at = 1, 3 do
  if redis.call('PTTL', KEYS[at]) < longest then redis.call('PEXPIRE', KEYS[at], longest) end
end
return 1`,
)

/** KEYS as above. ARGV: pairs of key and hits. Ignores keys without a row. */
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
}

const HITS_PER_COMMAND = 64
const ROWS_PER_COMMAND = 64
/** Something else may remove the set of groups. */
const GROUP_INTERVAL_MS = 1000
/** Keys of one command that removes rows. */
const KEYS_PER_REMOVAL = 256
/** Keys with new hits beyond which the counts are written at once. */
const MAX_COUNTED_KEYS = 5000

/** Rows that were added in this turn of the event loop. `written`: when Redis has them. */
interface NewRows {
  readonly args: (string | number | Buffer)[]
  readonly written: Promise<unknown>
}

export class ResponseIndex {
  readonly #options: ResponseIndexOptions
  /** New hits, by group and key. */
  readonly #hits = new Map<string, Map<string, number>>()
  /** By group. */
  readonly #newRows = new Map<string, NewRows>()
  readonly #timer: NodeJS.Timeout
  readonly #remembered: RememberedRows
  #countedKeys = 0
  /** When each group was added, by generation and name. */
  readonly #groupsAddedAt = new LRUCache<string, number>({ max: 100 })
  /** Listings run one after the other: each one finds the rows that the listing before has decoded. */
  #listing: Promise<unknown> = Promise.resolve()

  constructor(options: ResponseIndexOptions) {
    this.#options = options
    this.#remembered = new RememberedRows(options.codec)
    this.#timer = setInterval(() => void this.flushHits(), options.replica.times.bulkTimeout)
    this.#timer.unref()
  }

  async add(key: string, entry: LocalEntry): Promise<void> {
    const { info, generation, epochs, fetchedAt } = entry
    if (info === undefined) return
    const { size, fetchTime: cost, lifetime } = measuresOf(entry)
    const { replica, codec } = this.#options
    const left = Math.floor(lifetime - (replica.elapsed() - fetchedAt))
    if (left < 1) return
    // The field names of version 0.1.0: replicas of both versions share the index.
    const head = { listed: info, generation, epochs, whole: lifetime, size, cost }
    const row = codec.encodeHead(`row:${key}`, head)
    await Promise.all([this.#addGroup(generation, info.group), this.#addRow(info.group, [key, row, left])])
  }

  #addRow(group: string, row: readonly [key: string, row: Buffer, left: number]): Promise<unknown> {
    const { turnEnd } = this.#options.replica
    let rows = this.#newRows.get(group)
    if (rows === undefined || rows.args.length >= row.length * ROWS_PER_COMMAND) {
      const args: NewRows['args'] = []
      const written = turnEnd.add(() => this.#writeRows(group, args))
      rows = { args, written }
      this.#newRows.set(group, rows)
    }
    rows.args.push(...row)
    return rows.written
  }

  #writeRows(group: string, args: NewRows['args']): Promise<unknown> {
    const { bodies, times } = this.#options.replica
    if (this.#newRows.get(group)?.args === args) this.#newRows.delete(group)
    return bodies.runScript(ADD_ROWS, redisKeys.index(group), args, times.bulkTimeout)
  }

  /** Not for each response: the set of groups hardly ever changes. A new generation has none. */
  async #addGroup(generation: string, group: string): Promise<void> {
    const { bodies, times, elapsed } = this.#options.replica
    const name = `${generation} ${group}`
    const now = elapsed()
    if (now - (this.#groupsAddedAt.get(name) ?? Number.NEGATIVE_INFINITY) < GROUP_INTERVAL_MS) return
    this.#groupsAddedAt.set(name, now)
    const reply = await bodies.send(times.bulkTimeout, (client) => client.sadd(redisKeys.groups, group))
    if (!reply.ok) this.#groupsAddedAt.delete(name)
  }

  countHit(key: string, group: string | undefined): void {
    if (group === undefined) return
    const hits = this.#hits.get(group) ?? new Map<string, number>()
    const before = hits.get(key)
    this.#hits.set(group, hits.set(key, (before ?? 0) + 1))
    if (before !== undefined) return
    this.#countedKeys += 1
    if (this.#countedKeys > MAX_COUNTED_KEYS) void this.flushHits()
  }

  /** Writes the new hits. Hits that cannot be written are lost. */
  async flushHits(): Promise<void> {
    const { bodies, times } = this.#options.replica
    const counted = [...this.#hits]
    this.#hits.clear()
    this.#countedKeys = 0
    for (const [group, hits] of counted) {
      const pairs = [...hits].flat()
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
    this.#listing = listing.catch(() => {})
    return listing
  }

  async #list(group?: string, onProgress?: (entries: readonly IndexEntry[]) => void): Promise<readonly IndexEntry[]> {
    const reader = await this.#reader()
    return reader?.list(await this.#groups(group), this.#remembered, onProgress) ?? []
  }

  async count(): Promise<ReadonlyMap<string, number>> {
    return countRows(this.#options.replica, await this.#groups())
  }

  async page(window: IndexWindow): Promise<IndexPage> {
    const reader = await this.#reader()
    return reader?.page(window, await this.#groups(window.group)) ?? { rows: [], total: 0 }
  }

  async find(key: string): Promise<IndexEntry | undefined> {
    return (await this.#reader())?.find(key, await this.#groups())
  }

  /** Undefined: Redis is unreachable. */
  async #reader(): Promise<IndexReader | undefined> {
    await this.flushHits()
    const sequence = await this.#options.epochs.readSequence()
    return sequence && new IndexReader(this.#options, sequence)
  }

  /** Removes the rows of some keys, or all rows of a group. Without a group, of every group. */
  async remove({ group, keys }: Pick<PurgeScope, 'group' | 'keys'>): Promise<void> {
    await Promise.all((await this.#groups(group)).map((each) => this.#removeFrom(each, keys)))
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

  /** Returns the named group, or all. */
  async #groups(only?: string): Promise<readonly string[]> {
    if (only !== undefined) return [only]
    const { bodies, times } = this.#options.replica
    const reply = await bodies.send(times.bulkTimeout, (client) => client.smembers(redisKeys.groups))
    return reply.ok ? reply.value.sort() : []
  }
}
