/** The scripts of tag epochs and write fences, each one atomic step, and every command that the store sends. */
import { GENERATION, GENERATION_AGE, LEASES, NOW, script } from '../../redis/scripts.ts'

/**
 * Reads the epochs of a lookup. KEYS: hash. ARGV: new random part of the generation, tags. Returns generation,
 * sequence, fenced (0 or 1), one epoch per tag.
 */
export const READ_EPOCHS = script(
  NOW,
  GENERATION,
  LEASES,
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
  if got[at + 1] and unexpired(got[at + 1], '', now) ~= '' then fenced = 1 end
end
out[3] = fenced
return out`,
)

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

/**
 * Increments epochs, adds and removes write fences, and publishes the invalidation. KEYS: hash. ARGV: new random part
 * of the generation, channel, id of the writer, JSON of {bump, fence, lift, id, lease, soft}. Returns generation,
 * sequence, age of the generation in milliseconds, then the id and the remaining lease of each other replica.
 */
export const BUMP_EPOCHS = script(
  NOW,
  GENERATION,
  GENERATION_AGE,
  LEASES,
  `
local want = cjson.decode(ARGV[4])
local known = redis.call('HMGET', KEYS[1], 'g', 'b')
local current = generation(known[1])
local age = generationAge(current, known[2])
for _, tag in ipairs(want.bump) do
  local writes, soft = string.match(redis.call('HGET', KEYS[1], 't:' .. tag) or '', '^(%d+)~(%d+)$')
  writes, soft = tonumber(writes or '0'), tonumber(soft or '0')
  if want.soft then soft = soft + 1 else writes = writes + 1 end
  redis.call('HSET', KEYS[1], 't:' .. tag, string.format('%.0f~%.0f', writes, soft))
end
local function fence(tag, more)
  local field = 'f:' .. tag
  local text = unexpired(redis.call('HGET', KEYS[1], field), want.id, now) .. more
  if text == '' then redis.call('HDEL', KEYS[1], field) else redis.call('HSET', KEYS[1], field, text) end
end
for _, tag in ipairs(want.lift) do fence(tag, '') end
for _, tag in ipairs(want.fence) do fence(tag, want.id .. '=' .. string.format('%.0f', now + want.lease) .. ';') end
local sequence = redis.call('HGET', KEYS[1], 'q') or '0'
if #want.bump > 0 then
  sequence = redis.call('HINCRBY', KEYS[1], 'q', 1)
  redis.call('PUBLISH', ARGV[2], cjson.encode({g = current, q = tostring(sequence), w = ARGV[3], tags = want.bump}))
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

/** Every command that the store sends and that its scripts call: what the ACL of its Redis user must allow. */
export const COMMANDS_USED: readonly string[] = [
  // Sent
  'evalsha',
  'eval',
  'get',
  'pttl',
  'set',
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
  'zcard',
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
