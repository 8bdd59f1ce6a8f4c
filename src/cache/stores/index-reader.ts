/**
 * Reads the index in Redis: all rows, pages, single rows, and counts, each at the cost of what is asked. There may be a
 * hundred thousand rows, so commands are short: they block neither Redis nor this process. Each read gets keys with their
 * expiry and hits, then the rows that are not remembered, and compares their epochs with the current ones.
 */

import type { Tag } from '../../contracts/endpoint.ts'
import type { IndexEntry, IndexPage, IndexWindow } from '../../core/cache.ts'
import type { RedisReply } from '../../replicas/connection.ts'
import { redisKeys } from '../../replicas/options.ts'
import type { RedisReplica } from '../../replicas/replica.ts'
import type { Script } from '../../replicas/scripts.ts'
import type { EntryCodec } from './entry-codec.ts'
import { compareEpochs, INITIAL_EPOCH } from './epochs.ts'
import { type IndexRow, type RememberedRow, type RememberedRows, RowDecoder } from './index-rows.ts'
import { COUNT_ROWS, READ_EPOCHS_OF_TAGS, READ_KEYS, READ_ROWS, REMOVE_OUTDATED } from './index-scripts.ts'

/** Rows of one command, which takes Redis some tenths of a millisecond. */
const ROWS_PER_COMMAND = 256
/** Commands of one page beyond those for its rows: outdated rows are removed, and the next ones read instead. */
const MAX_FURTHER_READS = 32
const TAGS_PER_COMMAND = 1024
/** How often a command is tried: without one page, all pages after it would be missing. */
const MAX_TRIES = 3

/** While both are the same, no epoch has changed. */
export interface InvalidationSequence {
  readonly generation: string
  readonly sequence: string
}

interface IndexReaderOptions {
  readonly replica: RedisReplica
  readonly codec: EntryCodec
}

/** A row as one read finds it. `expiry`: milliseconds since 1970 by the clock of Redis. */
interface FoundRow {
  readonly key: string
  readonly expiry: string
  readonly timeLeft: number
  readonly hits: number
  /** What Redis returned, if the row was not remembered. */
  bytes?: Buffer
  /** Absent if the row was removed meanwhile, or Redis is unreachable. */
  remembered?: RememberedRow
}

/** Reads the index as of one place in the sequence of invalidations. */
export class IndexReader {
  readonly #options: IndexReaderOptions
  readonly #generation: string
  readonly #sequence: string

  constructor(options: IndexReaderOptions, { generation, sequence }: InvalidationSequence) {
    this.#options = options
    this.#generation = generation
    this.#sequence = `${generation} ${sequence}`
  }

  /** Returns all rows of the groups. Each page of keys is requested while the page before is processed. */
  async list(
    groups: readonly string[],
    remembered: RememberedRows,
    onProgress?: (entries: readonly IndexEntry[]) => void,
  ): Promise<readonly IndexEntry[]> {
    const entries: IndexEntry[] = []
    for (const group of groups) {
      const known = remembered.of(group)
      const found = new Map<string, RememberedRow>()
      const places = new Map<string, number>()
      let start = { expiry: '0', skip: 0 }
      let next: Promise<readonly FoundRow[]> | undefined = this.#readKeys(group, start.expiry, start.skip)
      while (next !== undefined) {
        const page: readonly FoundRow[] = await next
        start = startAfter(start, page)
        next = page.length < ROWS_PER_COMMAND ? undefined : this.#readKeys(group, start.expiry, start.skip)
        await this.#complete(group, page, remembered.decoder, (key) => found.get(key) ?? known?.get(key))
        for (const row of page) {
          if (row.remembered !== undefined) found.set(row.key, row.remembered)
          const entry = this.#entryOf(row)
          if (entry === undefined) continue
          // A row that is replaced during the listing keeps its place.
          const place = places.get(row.key)
          if (place === undefined) places.set(row.key, entries.push(entry) - 1)
          else entries[place] = entry
        }
        onProgress?.(entries)
      }
      remembered.set(group, found)
    }
    return entries
  }

  /**
   * Reads the groups one after the other; the rows of a group are in the order of their expiry. Rows that a write has
   * invalidated are removed.
   */
  async page({ offset, limit }: IndexWindow, groups: readonly string[]): Promise<IndexPage> {
    const counts = await countEntries(this.#options, groups)
    const decoder = new RowDecoder(this.#options.codec)
    const rows: IndexEntry[] = []
    let total = [...counts.values()].reduce((sum, count) => sum + count, 0)
    let skip = offset
    let reads = Math.ceil(limit / ROWS_PER_COMMAND) + counts.size + MAX_FURTHER_READS
    for (const [group, count] of counts) {
      let at = skip
      skip = Math.max(0, skip - count)
      for (let isLast = at >= count; !isLast && rows.length < limit && reads > 0; reads -= 1) {
        const wanted = Math.min(ROWS_PER_COMMAND, limit - rows.length)
        const found = await this.#readKeys(group, '0', at, wanted)
        const outdated = await this.#complete(group, found, decoder)
        rows.push(...found.flatMap((row) => this.#entryOf(row) ?? []))
        const pairs = outdated.flatMap(({ key, bytes }) => (bytes === undefined ? [] : [key, bytes]))
        if (pairs.length > 0) await this.#run(REMOVE_OUTDATED, group, pairs)
        total -= outdated.length
        at += found.length - outdated.length
        isLast = found.length < wanted
      }
    }
    return { rows, total }
  }

  async find(key: string, groups: readonly string[]): Promise<IndexEntry | undefined> {
    const { bodies, times } = this.#options.replica
    const left = await bodies.send(times.bulkTimeout, (client) => client.pttl(redisKeys.entry(key)))
    if (!left.ok || left.value <= 0) return undefined
    const decoder = new RowDecoder(this.#options.codec)
    const found = await Promise.all(
      groups.map(async (group) => {
        const rows = await this.#readKeys(group, String(left.value), 0, 0, key)
        await this.#complete(group, rows, decoder)
        return rows.flatMap((row) => this.#entryOf(row) ?? [])
      }),
    )
    return found.flat()[0]
  }

  async #readKeys(
    group: string,
    expiry: string,
    skip: number,
    count = ROWS_PER_COMMAND,
    ...key: readonly string[]
  ): Promise<readonly FoundRow[]> {
    const [now, list] = await this.#run(READ_KEYS, group, [expiry, skip, count, ...key])
    const values: readonly string[] = list === undefined ? [] : JSON.parse(String(list))
    const page: FoundRow[] = []
    for (let at = 0; at < values.length; at += 3) {
      const [key = '', ends = '', hits] = [values[at], values[at + 1], values[at + 2]]
      page.push({ key, expiry: ends, timeLeft: Number(ends) - Number(now), hits: Number(hits) })
    }
    return page
  }

  /**
   * Reads the rows of these keys that are not remembered, and compares those that were not compared since the last
   * invalidation. Returns the rows that a write has invalidated. Those of unknown epochs remain as they are.
   */
  async #complete(
    group: string,
    page: readonly FoundRow[],
    decoder: RowDecoder,
    recall: (key: string) => RememberedRow | undefined = () => undefined,
  ): Promise<readonly FoundRow[]> {
    const missing: FoundRow[] = []
    for (const found of page) {
      const remembered = recall(found.key)
      if (remembered?.expiry === found.expiry) found.remembered = remembered
      else missing.push(found)
    }
    if (missing.length > 0) {
      const keys = JSON.stringify(missing.map(({ key }) => key))
      const rows = await this.#run(READ_ROWS, group, [keys])
      for (const [at, found] of missing.entries()) {
        const bytes = rows[at]
        if (!Buffer.isBuffer(bytes)) continue
        const { key, expiry } = found
        found.bytes = bytes
        found.remembered = { expiry, row: decoder.decode(key, bytes), comparedAt: '' }
      }
    }
    const uncompared = page.flatMap((found) => {
      const { remembered } = found
      const row = remembered?.row
      if (remembered === undefined || row === undefined || remembered.comparedAt === this.#sequence) return []
      return [{ ...found, remembered, row }]
    })
    if (uncompared.length === 0) return []
    const current = await this.#readEpochs(uncompared.map(({ row }) => row))
    return uncompared.filter(({ remembered, row }) => {
      const epochs = row.tags.map((tag) => current.get(tag))
      if (epochs.includes(undefined)) return false
      const now = { generation: this.#generation, epochs: epochs.map(String), fenced: false }
      const isInvalidated = compareEpochs(row, now) === 'changed'
      if (isInvalidated) remembered.row = undefined
      else remembered.comparedAt = this.#sequence
      return isInvalidated
    })
  }

  /** Returns the epochs of the tags of all rows. Those that Redis did not return are missing. */
  async #readEpochs(rows: readonly IndexRow[]): Promise<ReadonlyMap<Tag, string>> {
    const { bodies, times } = this.#options.replica
    const distinct = new Set<Tag>()
    for (const { tags } of rows) for (const tag of tags) distinct.add(tag)
    const tags = [...distinct]
    // Not remembered: an index has many tags, which would evict those of requests.
    const epochs = new Map<Tag, string>()
    for (let at = 0; at < tags.length; at += TAGS_PER_COMMAND) {
      const some = tags.slice(at, at + TAGS_PER_COMMAND)
      const args = [JSON.stringify(some)]
      const reply = await retried(() =>
        bodies.runScript<string>(READ_EPOCHS_OF_TAGS, [redisKeys.epochs], args, times.bulkTimeout),
      )
      if (!reply.ok) break
      const values = reply.value.split(' ')
      for (const [index, tag] of some.entries()) epochs.set(tag, values[index] || INITIAL_EPOCH)
    }
    return epochs
  }

  /** Returns undefined for a row that is damaged, invalidated, or of unknown epochs. */
  #entryOf({ remembered, timeLeft, hits }: FoundRow): IndexEntry | undefined {
    if (remembered?.row === undefined || remembered.comparedAt !== this.#sequence) return undefined
    const { key, url, group, endpoint, scope, tags, size, fetchTime, lifetime } = remembered.row
    const age = Math.max(0, lifetime - timeLeft)
    return { key, url, group, endpoint, scope, tags, size, age, timeLeft, hits, fetchTime }
  }

  /** Runs a script on the index of a group. Returns no values if Redis is unreachable. */
  async #run(
    lua: Script,
    group: string,
    args: readonly (string | number | Buffer)[],
  ): Promise<readonly (Buffer | number | null)[]> {
    type Values = readonly (Buffer | number | null)[]
    const { bodies, times } = this.#options.replica
    const keys = redisKeys.index(group)
    const reply = await retried(() => bodies.runScript<Values>(lua, keys, args, times.bulkTimeout, 'callBuffer'))
    return reply.ok ? reply.value : []
  }
}

/** Many rows may have the expiry of the last one. */
function startAfter({ expiry, skip }: { readonly expiry: string; readonly skip: number }, page: readonly FoundRow[]) {
  const last = page.at(-1)?.expiry ?? expiry
  let same = 0
  for (let at = page.length - 1; at >= 0 && page[at]?.expiry === last; at -= 1) same += 1
  return { expiry: last, skip: last === expiry ? skip + same : same }
}

/** Returns the number of rows of each group, in the given order. */
export async function countEntries(
  { replica: { bodies, times } }: IndexReaderOptions,
  groups: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const counts = await Promise.all(
    groups.map(async (group) => {
      const reply = await retried(() =>
        bodies.runScript<number>(COUNT_ROWS, redisKeys.index(group), [], times.bulkTimeout),
      )
      return [group, reply.ok ? reply.value : 0] as const
    }),
  )
  return new Map(counts.filter(([, count]) => count > 0))
}

async function retried<Value>(run: () => Promise<RedisReply<Value>>): Promise<RedisReply<Value>> {
  let reply = await run()
  for (let tries = 1; !reply.ok && tries < MAX_TRIES; tries += 1) reply = await run()
  return reply
}
