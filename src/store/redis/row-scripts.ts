/** The scripts of the index. */
import { now, script } from './scripts.ts'

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
 * KEYS as above. ARGV: offset, count (64 at most). Rows in the order in which they end, the last first, so that what
 * is trimmed meanwhile moves no page. Gives a flat list of key, milliseconds left, row, hits; fewer than count: the end.
 */
export const pageRows = script(
  now,
  `
local keys = redis.call('ZREVRANGE', KEYS[1], ARGV[1], ARGV[1] + ARGV[2] - 1, 'WITHSCORES')
local names, out = {}, {}
for at = 1, #keys, 2 do
  if tonumber(keys[at + 1]) > now then names[#names + 1] = keys[at] end
end
if #names == 0 then return out end
local rows = redis.call('HMGET', KEYS[2], unpack(names))
local hits = redis.call('HMGET', KEYS[3], unpack(names))
for at = 1, #names do
  local left = tonumber(keys[at * 2]) - now
  out[#out + 1] = names[at]
  out[#out + 1] = left
  out[#out + 1] = rows[at] or ''
  out[#out + 1] = hits[at] or '0'
end
return out`,
)
