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
