import type { IndexEntry } from '../../core/response.ts'
import type { Link } from '../../redis/connection.ts'
import { names, type Times } from '../../redis/options.ts'
import { now, script } from '../../redis/scripts.ts'
import type { EntryCodec } from './entry-codec.ts'
import { Listing } from './index-listing.ts'
import { type Held, lifetime } from './local-entries.ts'

/**
 * The index in Redis: for each group the keys by their end, their rows and their hits. Nothing is scanned: a row ends
 * with its time, trimmed as others are added, and a row whose tags were raised since is left out when it is read.
 */

export interface RowsOptions {
  readonly link: Link
  readonly codec: EntryCodec
  readonly times: Times
  readonly elapsed: () => number
  /** As it is now; undefined: Redis is away. */
  readonly generation: () => Promise<string | undefined>
}

/** Hits of one step. */
const PAGE = 64
/** Keys whose hits are counted before they are written at once. */
const MOST_HITS = 5000

export class Rows {
  readonly #options: RowsOptions
  readonly #hits = new Map<string, Map<string, number>>()
  readonly #timer: NodeJS.Timeout
  #counted = 0

  constructor(options: RowsOptions) {
    this.#options = options
    this.#timer = setInterval(() => void this.flush(), options.times.slow)
    this.#timer.unref()
  }

  async add(key: string, held: Held): Promise<void> {
    const { link, codec, times, elapsed } = this.#options
    const { answer, listed, generation, epochs } = held
    const whole = lifetime(answer)
    const head = { listed, generation, epochs, whole, size: answer.body.length, cost: answer.fetchTime }
    const row = codec.encode(`row:${key}`, head, Buffer.alloc(0))
    const left = Math.floor(whole - (elapsed() - held.begun))
    if (left < 1) return
    await Promise.all([
      link.step(times.slow, (client) => client.sadd(names.groups, listed.group)),
      link.run(addRow, names.index(listed.group), [key, row, left], times.slow),
    ])
  }

  count(key: string, group: string): void {
    const hits = this.#hits.get(group) ?? new Map<string, number>()
    const before = hits.get(key)
    this.#hits.set(group, hits.set(key, (before ?? 0) + 1))
    if (before !== undefined) return
    this.#counted += 1
    if (this.#counted > MOST_HITS) void this.flush()
  }

  /** Writes the hits that were counted; those that cannot be written are lost. */
  async flush(): Promise<void> {
    const { link, times } = this.#options
    const counted = [...this.#hits]
    this.#hits.clear()
    this.#counted = 0
    for (const [group, hits] of counted) {
      const pairs = [...hits].flat()
      for (let at = 0; at < pairs.length; at += 2 * PAGE) {
        const reply = await link.run(countHits, names.index(group), pairs.slice(at, at + 2 * PAGE), times.slow)
        if (!reply.ok) return
      }
    }
  }

  /** `heard`: is given all that was read so far, again and again. */
  async list(group?: string, heard?: (rows: readonly IndexEntry[]) => void): Promise<readonly IndexEntry[]> {
    await this.flush()
    const generation = await this.#options.generation()
    if (generation === undefined) return []
    const listing = new Listing(this.#options, generation)
    for (const each of group === undefined ? await this.#groups() : [group]) await listing.read(each, heard)
    return listing.rows
  }

  /** Takes rows out; those of a group that is not known are looked for in each. */
  async drop({ group, key }: { readonly group?: string; readonly key?: string }): Promise<void> {
    const { link, times } = this.#options
    const groups = group === undefined ? await this.#groups() : [group]
    for (const each of groups) {
      if (key !== undefined) await link.run(forgetRow, names.index(each), [key], times.slow)
      else await link.step(times.slow, (client) => client.unlink(...names.index(each)))
    }
  }

  close(): void {
    clearInterval(this.#timer)
  }

  async #groups(): Promise<string[]> {
    const { link, times } = this.#options
    const reply = await link.step(times.slow, (client) => client.smembers(names.groups))
    return reply.ok ? reply.value.sort() : []
  }
}

/** The scripts of the index. */

/**
 * KEYS: keys by expiry, rows, hits (of one group). ARGV: key, row, milliseconds. Trims what has ended, a little at
 * each step, and lets the whole end with its last row.
 */
export const addRow = script(
  now,
  `
local old = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, 64)
if #old > 0 then
  redis.call('ZREM', KEYS[1], unpack(old))
  redis.call('HDEL', KEYS[2], unpack(old))
  redis.call('HDEL', KEYS[3], unpack(old))
end
redis.call('ZADD', KEYS[1], now + ARGV[3], ARGV[1])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
redis.call('HSET', KEYS[3], ARGV[1], 0)
for at = 1, 3 do
  if redis.call('PTTL', KEYS[at]) < tonumber(ARGV[3]) then redis.call('PEXPIRE', KEYS[at], ARGV[3]) end
end
return 1`,
)

/** KEYS as above. ARGV: pairs of key and hits; only rows that are there count. */
export const countHits = script(`
for at = 1, #ARGV, 2 do
  if redis.call('HEXISTS', KEYS[3], ARGV[at]) == 1 then redis.call('HINCRBY', KEYS[3], ARGV[at], ARGV[at + 1]) end
end
return 1`)

/** KEYS as above. ARGV: key. */
export const forgetRow = script(`
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('HDEL', KEYS[3], ARGV[1])
return redis.call('HDEL', KEYS[2], ARGV[1])`)

/**
 * KEYS as above. ARGV: from (milliseconds by the clock of Redis), how many of those that end just then to pass over,
 * count. Rows in the order in which they end: one that is added or kept anew meanwhile comes again, or later, and none
 * is passed over for it. Gives a flat list of key, its end, milliseconds left, row, hits; fewer than count: the end.
 */
export const pageRows = script(
  now,
  `
local from, past = tonumber(ARGV[1]), ARGV[2]
if from <= now then from, past = '(' .. now, 0 end
local keys = redis.call('ZRANGEBYSCORE', KEYS[1], from, '+inf', 'WITHSCORES', 'LIMIT', past, ARGV[3])
if #keys == 0 then return keys end
local names, out = {}, {}
for at = 1, #keys, 2 do names[#names + 1] = keys[at] end
local rows = redis.call('HMGET', KEYS[2], unpack(names))
local hits = redis.call('HMGET', KEYS[3], unpack(names))
for at = 1, #names do
  out[#out + 1] = names[at]
  out[#out + 1] = keys[at * 2]
  out[#out + 1] = keys[at * 2] - now
  out[#out + 1] = rows[at] or ''
  out[#out + 1] = hits[at] or '0'
end
return out`,
)
