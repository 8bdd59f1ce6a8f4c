/** Rows of the index in Redis: decodes them, and finds those whose tags were invalidated. */
import type { Tag } from '../../catalogue/endpoint.ts'
import type { IndexEntry, StoredResponseInfo } from '../../core/cache-index.ts'
import { isObject } from '../../core/values.ts'
import type { RedisReply } from '../../redis/connection.ts'
import { redisKeys } from '../../redis/options.ts'
import type { RedisReplica } from '../../redis/replica.ts'
import { script } from '../../redis/scripts.ts'
import type { EntryCodec } from './entry-codec.ts'
import { compareEpochs, INITIAL_EPOCH } from './epochs.ts'
import { isNumber, isResponseInfo, isStringArray } from './redis-entries.ts'

const TAGS_PER_COMMAND = 1024
/** How often a command is tried: without one page, all pages after it would be missing. */
const MAX_TRIES = 3
/** Texts that are remembered, so that rows share them. Most rows have the same group, endpoint, scope and tags. */
const MAX_SHARED_TEXTS = 4096

export interface IndexRowsOptions {
  readonly replica: RedisReplica
  readonly codec: EntryCodec
}

/** While both are the same, no epoch has changed. */
export interface InvalidationSequence {
  readonly generation: string
  readonly sequence: string
}

/** What Redis stores of a response in the index. Ages follow from its lifetime and the time that it has left. */
export interface IndexRow extends StoredResponseInfo {
  readonly key: string
  /** Bytes of the body. */
  readonly size: number
  /** Milliseconds. */
  readonly fetchTime: number
  /** Milliseconds for which the response is stored. */
  readonly lifetime: number
  readonly generation: string
  /** The epochs of the tags, without that of the key: a purge of a key removes its row. */
  readonly epochs: readonly string[]
}

/** `timeLeft`: milliseconds until the response is removed. */
export function toIndexEntry(row: IndexRow, timeLeft: number, hits: number): IndexEntry {
  const { key, url, group, endpoint, scope, tags, size, fetchTime, lifetime } = row
  const age = Math.max(0, lifetime - timeLeft)
  return { key, url, group, endpoint, scope, tags, size, age, timeLeft, hits, fetchTime }
}

/** Decodes rows. Equal texts and lists of decoded rows are one object. */
export class RowDecoder {
  readonly #codec: EntryCodec
  readonly #texts = new Map<string, string>()
  readonly #lists = new Map<string, readonly string[]>()

  constructor(codec: EntryCodec) {
    this.#codec = codec
  }

  /** Returns undefined for a row that is damaged, or that another version of the edge wrote. */
  decode(key: string, bytes: Buffer): IndexRow | undefined {
    const head = this.#codec.decode(`row:${key}`, bytes)?.head
    if (!isObject(head) || !isResponseInfo(head.listed) || typeof head.generation !== 'string') return undefined
    const { listed, epochs, whole: lifetime, size, cost: fetchTime } = head
    if (!isStringArray(epochs) || !isNumber(lifetime) || !isNumber(size) || !isNumber(fetchTime)) return undefined
    // Written out: a spread of an object that JSON.parse made costs several times as much.
    const { url } = listed
    const group = this.#share(listed.group)
    const endpoint = this.#share(listed.endpoint)
    const scope = this.#share(listed.scope)
    const generation = this.#share(head.generation)
    const tags = listed.tags.map((tag) => this.#share(tag))
    const shared = this.#shareList(epochs)
    return { key, url, group, endpoint, scope, tags, size, fetchTime, lifetime, generation, epochs: shared }
  }

  #share(text: string): string {
    const known = this.#texts.get(text)
    if (known !== undefined) return known
    if (this.#texts.size < MAX_SHARED_TEXTS) this.#texts.set(text, text)
    return text
  }

  #shareList(epochs: readonly string[]): readonly string[] {
    const text = epochs.join(' ')
    const known = this.#lists.get(text)
    if (known !== undefined) return known
    const list = epochs.map(withoutKeyEpoch)
    if (this.#lists.size < MAX_SHARED_TEXTS) this.#lists.set(text, list)
    return list
  }
}

function withoutKeyEpoch(epoch: string): string {
  const slash = epoch.indexOf('/')
  return slash < 0 ? epoch : epoch.slice(0, slash)
}

/** `invalidated`: a write has changed the data; the row is never valid again. `unknown`: Redis is unreachable. */
export type Validity = 'valid' | 'invalidated' | 'unknown'

/** Reads the current epochs of the tags of all rows, and returns how they compare with those of a row. */
export async function compareWithCurrent(
  { replica: { bodies, times } }: IndexRowsOptions,
  generation: string,
  rows: readonly IndexRow[],
): Promise<(row: IndexRow) => Validity> {
  const distinct = new Set<Tag>()
  for (const { tags } of rows) for (const tag of tags) distinct.add(tag)
  const tags = [...distinct]
  // Read without remembering them: an index has many tags, which would evict those of requests.
  const current = new Map<Tag, string>()
  for (let at = 0; at < tags.length; at += TAGS_PER_COMMAND) {
    const some = tags.slice(at, at + TAGS_PER_COMMAND)
    const args = [JSON.stringify(some)]
    const reply = await retried(() =>
      bodies.runScript<string>(READ_EPOCHS_OF_TAGS, [redisKeys.epochs], args, times.bulkTimeout),
    )
    if (!reply.ok) break
    const epochs = reply.value.split(' ')
    for (const [index, tag] of some.entries()) current.set(tag, epochs[index] || INITIAL_EPOCH)
  }
  return (row) => {
    if (!row.tags.every((tag) => current.has(tag))) return 'unknown'
    const now = { generation, epochs: row.tags.map((tag) => current.get(tag) ?? ''), fenced: false }
    return compareEpochs(row, now) === 'changed' ? 'invalidated' : 'valid'
  }
}

export async function retried<Value>(run: () => Promise<RedisReply<Value>>): Promise<RedisReply<Value>> {
  let reply = await run()
  for (let tries = 1; !reply.ok && tries < MAX_TRIES; tries += 1) reply = await run()
  return reply
}

export interface RememberedRow {
  /** Milliseconds since 1970 by the clock of Redis, as Redis returns them. */
  readonly expiry: string
  /** Undefined for a row that is damaged or that a write has invalidated: it is not listed while its expiry is the same. */
  row: IndexRow | undefined
  /** Generation and sequence of invalidations up to which the row is valid. */
  comparedAt: string
}

const IDLE_MS = 60_000

/**
 * The decoded rows of the last listing. The next listing reads from Redis only the keys, their expiry and their hits,
 * and decodes the rows that were added or replaced since. A replaced row has another expiry, unless
 * both responses were fetched within the same millisecond.
 */
export class RememberedRows {
  readonly #codec: EntryCodec
  readonly #idleTime: number
  readonly #rows = new Map<string, ReadonlyMap<string, RememberedRow>>()
  #decoder: RowDecoder
  #idleTimer: NodeJS.Timeout | undefined

  /** `idleTime`: milliseconds without a listing after which the rows are discarded. */
  constructor(codec: EntryCodec, idleTime = IDLE_MS) {
    this.#codec = codec
    this.#idleTime = idleTime
    this.#decoder = new RowDecoder(codec)
  }

  get decoder(): RowDecoder {
    return this.#decoder
  }

  /** Returns the rows of a group, by key. */
  of(group: string): ReadonlyMap<string, RememberedRow> | undefined {
    return this.#rows.get(group)
  }

  /** Replaces the rows of a group by those that a listing has found. */
  set(group: string, rows: ReadonlyMap<string, RememberedRow>): void {
    if (rows.size > 0) this.#rows.set(group, rows)
    else this.#rows.delete(group)
    clearTimeout(this.#idleTimer)
    this.#idleTimer = setTimeout(() => this.discard(), this.#idleTime)
    this.#idleTimer.unref()
  }

  discard(): void {
    clearTimeout(this.#idleTimer)
    this.#rows.clear()
    this.#decoder = new RowDecoder(this.#codec)
  }
}

/**
 * Reads the epochs of many tags. KEYS: hash. ARGV: tags as one JSON text, since a command of many arguments costs the
 * client more than everything else. Returns the epochs as one text with a space between two of them, for the same
 * reason; the epoch of a tag that was never invalidated is empty.
 */
export const READ_EPOCHS_OF_TAGS = script(`
local fields = cjson.decode(ARGV[1])
for at = 1, #fields do fields[at] = 't:' .. fields[at] end
local epochs = redis.call('HMGET', KEYS[1], unpack(fields))
for at = 1, #fields do epochs[at] = epochs[at] or '' end
return table.concat(epochs, ' ')`)
