/**
 * Reads pages of the index in Redis: keys with their expiry and hits, then the rows that are not remembered, and compares their
 * epochs with the current ones. There may be a hundred thousand rows, so commands are short: they block neither Redis nor this
 * process.
 */

import type { Tag } from '../../contracts/endpoint.ts'
import type { IndexEntry } from '../../core/cache-entries.ts'
import { redisKeys } from '../../replicas/options.ts'
import type { RedisReplica } from '../../replicas/replica.ts'
import type { Script } from '../../replicas/scripts.ts'
import type { InvalidationSequence } from './epoch-reader.ts'
import { compareEpochs, INITIAL_EPOCH } from './epochs.ts'
import type { IndexRow, RememberedRow, RowDecoder } from './index-rows.ts'
import { COUNT_ROWS, READ_EPOCHS_OF_TAGS, READ_KEYS, READ_ROWS, REMOVE_OUTDATED } from './index-scripts.ts'

/** Rows of one command, which takes Redis some tenths of a millisecond. */
export const ROWS_PER_COMMAND = 256
const TAGS_PER_COMMAND = 1024
/** How often a command is tried: without one page, all pages after it would be missing. */
const MAX_TRIES = 3

/** A row as one read finds it. `expiry`: milliseconds since 1970 by the clock of Redis. */
export interface FoundRow {
  readonly key: string
  readonly expiry: string
  readonly timeLeft: number
  readonly hits: number
  /** What Redis returned, if the row was not remembered. */
  bytes?: Buffer
  /** Absent if the row was removed meanwhile, or Redis is unreachable. */
  remembered?: RememberedRow
}

type Values = readonly (Buffer | number | null)[]

/** The index as of one place in the sequence of invalidations. */
export class IndexPages {
  readonly #replica: RedisReplica
  readonly #generation: string
  readonly #sequence: string

  constructor(replica: RedisReplica, { generation, sequence }: InvalidationSequence) {
    this.#replica = replica
    this.#generation = generation
    this.#sequence = `${generation} ${sequence}`
  }

  /** Reads the keys of a page. `args`: those of READ_KEYS. */
  async readKeys(group: string, ...args: readonly (string | number)[]): Promise<readonly FoundRow[]> {
    const [now, list] = await this.#run(READ_KEYS, group, args)
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
  async complete(
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
      const rows = await this.#run(READ_ROWS, group, [JSON.stringify(missing.map(({ key }) => key))])
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
    const distinct = new Set<Tag>()
    for (const { tags } of rows) for (const tag of tags) distinct.add(tag)
    const tags = [...distinct]
    // Not remembered: an index has many tags, which would evict those of requests.
    const epochs = new Map<Tag, string>()
    for (let at = 0; at < tags.length; at += TAGS_PER_COMMAND) {
      const some = tags.slice(at, at + TAGS_PER_COMMAND)
      const text = await runRetried<string>(
        this.#replica,
        READ_EPOCHS_OF_TAGS,
        [redisKeys.epochs],
        [JSON.stringify(some)],
      )
      if (text === undefined) break
      const values = text.split(' ')
      for (const [index, tag] of some.entries()) epochs.set(tag, values[index] || INITIAL_EPOCH)
    }
    return epochs
  }

  /** Returns undefined for a row that is damaged, invalidated, or of unknown epochs. */
  entryOf({ remembered, timeLeft, hits }: FoundRow): IndexEntry | undefined {
    if (remembered?.row === undefined || remembered.comparedAt !== this.#sequence) return undefined
    const { key, url, group, endpoint, scope, tags, size, fetchTime, lifetime } = remembered.row
    const age = Math.max(0, lifetime - timeLeft)
    return { key, url, group, endpoint, scope, tags, size, age, timeLeft, hits, fetchTime }
  }

  /** Removes rows that a write has invalidated, unless they were replaced meanwhile. */
  async remove(group: string, outdated: readonly FoundRow[]): Promise<void> {
    const pairs = outdated.flatMap(({ key, bytes }) => (bytes === undefined ? [] : [key, bytes]))
    if (pairs.length > 0) await this.#run(REMOVE_OUTDATED, group, pairs)
  }

  /** Runs a script on the index of a group. Returns no values if Redis is unreachable. */
  async #run(lua: Script, group: string, args: readonly (string | number | Buffer)[]): Promise<Values> {
    return (await runRetried<Values>(this.#replica, lua, redisKeys.index(group), args, 'callBuffer')) ?? []
  }
}

/** Returns the number of rows of each group, in the given order. */
export async function countRows(
  replica: RedisReplica,
  groups: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const counts = await Promise.all(
    groups.map((group) => runRetried<number>(replica, COUNT_ROWS, redisKeys.index(group), [])),
  )
  const counted = groups.map((group, at) => [group, counts[at] ?? 0] as const)
  return new Map(counted.filter(([, count]) => count > 0))
}

/** Undefined: Redis is unreachable. */
async function runRetried<Value>(
  { bodies, times }: RedisReplica,
  lua: Script,
  keys: readonly string[],
  args: readonly (string | number | Buffer)[],
  how?: 'callBuffer',
): Promise<Value | undefined> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const reply = await bodies.runScript<Value>(lua, keys, args, times.bulkTimeout, how)
    if (reply.ok) return reply.value
  }
  return undefined
}
