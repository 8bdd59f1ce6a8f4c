/** The scripts that read the index in Redis. */
import { NOW, script } from '../../replicas/scripts.ts'

/**
 * Reads keys in the order of their expiry. A row that is added or replaced meanwhile is read (again) later, and no other
 * row is left out because of it. KEYS (of one group): keys by expiry, rows, hits. ARGV: expiry at which the page begins
 * (0: the first one), number of rows with just that expiry to skip (of 0: of all), count; or milliseconds until the row
 * expires, two zeros, and the one key to read. Returns the time, and key, expiry and hits of each row as one JSON text, since
 * the client takes much longer for many values. Fewer rows than `count`: the last page.
 */
export const READ_KEYS = script(
  NOW,
  `
local found
if ARGV[4] then
  found = {ARGV[4], string.format('%.0f', now + ARGV[1])}
else
  local from, past = ARGV[1], ARGV[2]
  if tonumber(from) <= now then from, past = '(' .. now, from == '0' and past or 0 end
  found = redis.call('ZRANGEBYSCORE', KEYS[1], from, '+inf', 'WITHSCORES', 'LIMIT', past, ARGV[3])
end
if #found == 0 then return {now, '[]'} end
local keys = {}
for at = 1, #found, 2 do keys[#keys + 1] = found[at] end
local hits = redis.call('HMGET', KEYS[3], unpack(keys))
local out = {}
for at = 1, #keys do
  out[#out + 1] = keys[at]
  out[#out + 1] = found[at * 2]
  out[#out + 1] = hits[at] or '0'
end
return {now, cjson.encode(out)}`,
)

/** KEYS as above. ARGV: keys as one JSON text, for the same reason. Returns their rows. */
export const READ_ROWS = script(`
return redis.call('HMGET', KEYS[2], unpack(cjson.decode(ARGV[1])))`)

/** Removes up to 2,048 expired rows and returns the number of the others. KEYS as above. */
export const COUNT_ROWS = script(
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

/** KEYS as above. ARGV: pairs of key and row. Removes the rows that were not replaced meanwhile. */
export const REMOVE_OUTDATED = script(`
for at = 1, #ARGV, 2 do
  if redis.call('HGET', KEYS[2], ARGV[at]) == ARGV[at + 1] then
    redis.call('ZREM', KEYS[1], ARGV[at])
    redis.call('HDEL', KEYS[2], ARGV[at])
    redis.call('HDEL', KEYS[3], ARGV[at])
  end
end
return 1`)

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
