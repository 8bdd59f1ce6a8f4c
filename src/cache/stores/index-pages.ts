/**
 * Counts, pages and single rows of the index in Redis, each at the cost of what is asked, however many rows there are.
 * Rows are counted by group. Rows that have expired, or that a write has invalidated, are removed where they are found.
 */
import type { IndexEntry, IndexPage, IndexWindow } from '../../core/cache-index.ts'
import { redisKeys } from '../../redis/options.ts'
import { NOW, type Script, script } from '../../redis/scripts.ts'
import {
  compareWithCurrent,
  type IndexRow,
  type IndexRowsOptions,
  RowDecoder,
  readIndex,
  retried,
  toIndexEntry,
} from './index-rows.ts'

/** Rows of one command, which takes Redis some tenths of a millisecond. */
const ROWS_PER_COMMAND = 256
/** Values of a row in a reply: key, time left, row, hits. */
const VALUES_PER_ROW = 4

/** Lua: returns the four values of each row. `keys`: keys and expiries in turn. */
const VALUES_OF_ROWS = `
local function valuesOf(keys, now)
  local out = {}
  if #keys == 0 then return out end
  local names = {}
  for at = 1, #keys, 2 do names[#names + 1] = keys[at] end
  local rows = redis.call('HMGET', KEYS[2], unpack(names))
  local hits = redis.call('HMGET', KEYS[3], unpack(names))
  for at = 1, #names do
    out[#out + 1] = names[at]
    out[#out + 1] = keys[at * 2] - now
    out[#out + 1] = rows[at] or ''
    out[#out + 1] = hits[at] or '0'
  end
  return out
end`

/** Removes up to 2,048 expired rows and returns the number of the others. KEYS (of one group): keys by expiry, rows, hits. */
const COUNT_ROWS = script(
  NOW,
  `
for _ = 1, 8 do
  local old = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, 256)
  if #old == 0 then break end
  redis.call('ZREM', KEYS[1], unpack(old))
  redis.call('HDEL', KEYS[2], unpack(old))
  redis.call('HDEL', KEYS[3], unpack(old))
end
return redis.call('ZCARD', KEYS[1])`,
)

/** KEYS as above. ARGV: offset, count. Returns the values of the rows in the order of their expiry. */
const READ_RANGE = script(
  NOW,
  VALUES_OF_ROWS,
  `
local keys = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. now, '+inf', 'WITHSCORES', 'LIMIT', ARGV[1], ARGV[2])
return valuesOf(keys, now)`,
)

/** KEYS as above. ARGV: key, milliseconds until its entry expires. Returns the values of its row. */
const READ_ROW = script(
  NOW,
  VALUES_OF_ROWS,
  `
return valuesOf({ARGV[1], now + ARGV[2]}, now)`,
)

/** KEYS as above. ARGV: pairs of key and row. Removes the rows that were not replaced meanwhile. */
const REMOVE_OUTDATED = script(`
for at = 1, #ARGV, 2 do
  if redis.call('HGET', KEYS[2], ARGV[at]) == ARGV[at + 1] then
    redis.call('ZREM', KEYS[1], ARGV[at])
    redis.call('HDEL', KEYS[2], ARGV[at])
    redis.call('HDEL', KEYS[3], ARGV[at])
  end
end
return 1`)

/** Commands of one page beyond those for its rows: outdated rows are removed, and the next ones read instead. */
const MAX_FURTHER_READS = 32

/** Rows as Redis returned them, without damaged ones. */
interface ReadRows {
  readonly valid: readonly IndexEntry[]
  /** Keys and bytes of the rows that a write has invalidated: they are never valid again. */
  readonly outdated: readonly (readonly [key: string, bytes: Buffer])[]
  /** Number of rows, with damaged ones. */
  readonly received: number
}

export class IndexPages {
  readonly #options: IndexRowsOptions
  readonly #generation: string
  readonly #decoder: RowDecoder

  constructor(options: IndexRowsOptions, generation: string) {
    this.#options = options
    this.#generation = generation
    this.#decoder = new RowDecoder(options.codec)
  }

  /** Reads the groups one after the other; the rows of a group are in the order of their expiry. */
  async page({ offset, limit }: IndexWindow, groups: readonly string[]): Promise<IndexPage> {
    const counts = await countRows(this.#options, groups)
    const rows: IndexEntry[] = []
    let total = [...counts.values()].reduce((sum, count) => sum + count, 0)
    let skip = offset
    let reads = Math.ceil(limit / ROWS_PER_COMMAND) + counts.size + MAX_FURTHER_READS
    for (const [group, count] of counts) {
      let at = skip
      skip = Math.max(0, skip - count)
      for (let isLast = at >= count; !isLast && rows.length < limit && reads > 0; reads -= 1) {
        const wanted = Math.min(ROWS_PER_COMMAND, limit - rows.length)
        const { valid, outdated, received } = await this.#read(READ_RANGE, group, [at, wanted])
        rows.push(...valid)
        if (outdated.length > 0) await this.#remove(group, outdated.flat())
        total -= outdated.length
        at += received - outdated.length
        isLast = received < wanted
      }
    }
    return { rows, total }
  }

  async find(key: string, groups: readonly string[]): Promise<IndexEntry | undefined> {
    const { bodies, times } = this.#options.replica
    const left = await bodies.send(times.bulkTimeout, (client) => client.pttl(redisKeys.entry(key)))
    if (!left.ok || left.value <= 0) return undefined
    const found = await Promise.all(groups.map((group) => this.#read(READ_ROW, group, [key, left.value])))
    return found.flatMap(({ valid }) => valid)[0]
  }

  async #read(lua: Script, group: string, args: readonly (string | number)[]): Promise<ReadRows> {
    const values = await readIndex(this.#options, lua, group, args)
    const rows: { readonly row: IndexRow; readonly bytes: Buffer; readonly timeLeft: number; readonly hits: number }[] =
      []
    for (let at = 0; at < values.length; at += VALUES_PER_ROW) {
      const [timeLeft, bytes, hits] = [Number(values[at + 1]), values[at + 2], Number(values[at + 3])]
      const row = Buffer.isBuffer(bytes) ? this.#decoder.decode(String(values[at]), bytes) : undefined
      if (row !== undefined && Buffer.isBuffer(bytes)) rows.push({ row, bytes, timeLeft, hits })
    }
    const validityOf = await compareWithCurrent(
      this.#options,
      this.#generation,
      rows.map(({ row }) => row),
    )
    const valid: IndexEntry[] = []
    const outdated: [string, Buffer][] = []
    for (const { row, bytes, timeLeft, hits } of rows) {
      const validity = validityOf(row)
      if (validity === 'valid') valid.push(toIndexEntry(row, timeLeft, hits))
      else if (validity === 'invalidated') outdated.push([row.key, bytes])
    }
    return { valid, outdated, received: values.length / VALUES_PER_ROW }
  }

  async #remove(group: string, keysAndRows: (string | Buffer)[]): Promise<void> {
    const { bodies, times } = this.#options.replica
    await bodies.runScript(REMOVE_OUTDATED, redisKeys.index(group), keysAndRows, times.bulkTimeout)
  }
}

/** Returns the number of rows of each group, in the given order. */
export async function countRows(
  { replica: { bodies, times } }: IndexRowsOptions,
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
