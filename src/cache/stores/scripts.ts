/** The scripts of tag epochs and write fences, one atomic step each, and every command that the store sends. */
import { generation, leases, memory, now, script } from '../../redis/scripts.ts'

/** KEYS: hash. ARGV: fresh generation, tags. Gives generation, sequence, fenced (0 or 1), an epoch for each tag. */

export const look = script(
  now,
  generation,
  leases,
  `
local fields = {'g', 'q'}
for at = 2, #ARGV do
  fields[#fields + 1] = 't:' .. ARGV[at]
  fields[#fields + 1] = 'f:' .. ARGV[at]
end
local got = redis.call('HMGET', KEYS[1], unpack(fields))
local fenced = 0
local out = {generation(got[1]), got[2] or '0', 0}
for at = 3, #fields, 2 do
  out[#out + 1] = got[at] or '0~0'
  if got[at + 1] and standing(got[at + 1], '', now) ~= '' then fenced = 1 end
end
out[3] = fenced
return out`,
)

/**
 * KEYS: hash. ARGV: JSON of tags, in one text, since a command of many arguments costs its sender more than all the rest
 * of it. Gives an epoch for each, nil where nobody raised it.
 */
export const epochsOf = script(`
local fields = cjson.decode(ARGV[1])
for at = 1, #fields do fields[at] = 't:' .. fields[at] end
return redis.call('HMGET', KEYS[1], unpack(fields))`)

/**
 * KEYS: hash. ARGV: fresh generation, channel, who, JSON of {raise, fence, lift, id, lease, soft}.
 * Gives generation, sequence, milliseconds for which this generation remembers, then each other registered replica and
 * the milliseconds until its registration runs out.
 */
export const raise = script(
  now,
  generation,
  memory,
  leases,
  `
local want = cjson.decode(ARGV[4])
local known = redis.call('HMGET', KEYS[1], 'g', 'b')
local current = generation(known[1])
local age = remembered(current, known[2])
for _, tag in ipairs(want.raise) do
  local writes, soft = string.match(redis.call('HGET', KEYS[1], 't:' .. tag) or '', '^(%d+)~(%d+)$')
  writes, soft = tonumber(writes or '0'), tonumber(soft or '0')
  if want.soft then soft = soft + 1 else writes = writes + 1 end
  redis.call('HSET', KEYS[1], 't:' .. tag, string.format('%.0f~%.0f', writes, soft))
end
local function fence(tag, more)
  local field = 'f:' .. tag
  local text = standing(redis.call('HGET', KEYS[1], field), want.id, now) .. more
  if text == '' then redis.call('HDEL', KEYS[1], field) else redis.call('HSET', KEYS[1], field, text) end
end
for _, tag in ipairs(want.lift) do fence(tag, '') end
for _, tag in ipairs(want.fence) do fence(tag, want.id .. '=' .. string.format('%.0f', now + want.lease) .. ';') end
local sequence = redis.call('HGET', KEYS[1], 'q') or '0'
if #want.raise > 0 then
  sequence = redis.call('HINCRBY', KEYS[1], 'q', 1)
  redis.call('PUBLISH', ARGV[2], cjson.encode({g = current, q = tostring(sequence), w = ARGV[3], tags = want.raise}))
end
local out = {current, tostring(sequence), age}
for name, till in string.gmatch(redis.call('HGET', KEYS[1], 'r') or '', '([^=;]+)=(%d+);') do
  if name ~= ARGV[3] and tonumber(till) > now then
    out[#out + 1] = name
    out[#out + 1] = tonumber(till) - now
  end
end
return out`,
)

/** Every command that the store sends, and what its scripts call: what an ACL user needs. */
export const commandsUsed: readonly string[] = [
  // Sent
  'evalsha',
  'eval',
  'get',
  'pttl',
  'set',
  'exists',
  'unlink',
  'smembers',
  'sadd',
  'publish',
  'subscribe',
  'unsubscribe',
  // Called by scripts
  'time',
  'info',
  'hget',
  'hmget',
  'hset',
  'hdel',
  'hexists',
  'hincrby',
  'del',
  'pexpire',
  'zadd',
  'zrem',
  'zrangebyscore',
  // Of the connection
  'hello',
  'auth',
  'select',
  'quit',
  'asking',
  'cluster',
]
