/**
 * The history of all replicas for the console: sorted sets of records by time, bounded in number and lifetime. The edge
 * only displays it. Other programs can write to the same Redis, so the reader validates each record.
 */
import type { HistoryStore } from '../admin/console/history-records.ts'
import { redisKeys } from './options.ts'
import type { RedisReplica } from './replica.ts'
import { NOW, script } from './scripts.ts'

/** No request waits for the history: its time limit in command timeouts. */
const TIMEOUTS = 5
/** A script removes and returns at most this many records, so that it ends within some milliseconds. */
const MAX_REMOVED = 512
const MAX_READ = 8192
/** Longer texts are no records of the edge and are not transferred. */
const MAX_TEXT_BYTES = 4096
/** Records with a later time are removed. Clocks of replicas may differ by less. */
const MAX_AHEAD_SECONDS = 3600

/**
 * Adds records, and removes those that are too old, too many, or from the future. A value of another type is replaced.
 * KEYS: sorted set. ARGV: lifetime in seconds, maximum number, then time and text of each record.
 */
const ADD = script(
  NOW,
  `
if type(redis.pcall('ZCARD', KEYS[1])) == 'table' then redis.call('UNLINK', KEYS[1]) end
local function remove(found)
  if #found > 0 then redis.call('ZREM', KEYS[1], unpack(found)) end
end
local seconds = math.floor(now / 1000)
remove(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', seconds - ARGV[1], 'LIMIT', 0, ${MAX_REMOVED}))
remove(redis.call('ZRANGEBYSCORE', KEYS[1], seconds + ${MAX_AHEAD_SECONDS}, '+inf', 'LIMIT', 0, ${MAX_REMOVED}))
for at = 3, #ARGV, 2 do redis.call('ZADD', KEYS[1], ARGV[at], ARGV[at + 1]) end
local excess = redis.call('ZCARD', KEYS[1]) - ARGV[2]
if excess > 0 then remove(redis.call('ZRANGE', KEYS[1], 0, math.min(excess, ${MAX_REMOVED}) - 1)) end
redis.call('PEXPIRE', KEYS[1], ARGV[1] * 1000)
return 1`,
)

/** KEYS: sorted set. ARGV: first and last time, and maximum number. A value of another type has no records. */
const READ = script(`
local found = redis.pcall('ZRANGEBYSCORE', KEYS[1], ARGV[1], ARGV[2], 'LIMIT', 0, ARGV[3])
if found.err then return {} end
local texts = {}
for _, text in ipairs(found) do
  if #text <= ${MAX_TEXT_BYTES} then texts[#texts + 1] = text end
end
return texts`)

export function createSharedHistory({ bodies, times }: Pick<RedisReplica, 'bodies' | 'times'>): HistoryStore {
  const timeout = TIMEOUTS * times.commandTimeout
  return {
    add: async ({ name, lifetime, maxRecords }, records) => {
      const args = [lifetime, maxRecords, ...records.flatMap(({ seconds, text }) => [seconds, text])]
      const reply = await bodies.runScript<number>(ADD, [redisKeys.history(name)], args, timeout)
      return reply.ok
    },
    read: async ({ name, pageSeconds, maxRecords }, from, to) => {
      const texts: string[] = []
      for (let start = from, end = from; end < to || start === from; start = end) {
        end = Math.min(to, start + pageSeconds)
        // Other programs may have added more records than the edge stores.
        const limit = Math.min(MAX_READ, maxRecords - texts.length)
        if (limit <= 0) break
        // Times have fractions: a page ends before the next one begins.
        const page = [start, end < to ? `(${end}` : end, limit]
        const reply = await bodies.runScript<string[]>(READ, [redisKeys.history(name)], page, timeout)
        if (!reply.ok) return undefined
        for (const text of reply.value) texts.push(text)
      }
      return texts
    },
  }
}
