/**
 * The scripts that Redis runs, one atomic step each. Epochs, fences, registrations of replicas, the sequence of raises
 * and the generation are fields of ONE hash without time to live: whatever takes a part of it (a flush, an eviction)
 * takes all, the generation too, so that nothing that was kept before can be mistaken for valid. Needs Redis 7.
 *
 * Fields: `g` random part of the generation · `b` replication id and since when · `q` sequence of raises · `r` replicas ·
 * `t:<tag>` epoch · `f:<tag>` fences.
 */
import { createHash } from 'node:crypto'

export interface Script {
  readonly lua: string
  readonly sha: string
}

/**
 * `allow-oom`: a full Redis must still take a raise, or it would go on giving the old value to the others. No script
 * is `no-writes`, so that a demoted primary refuses them all: its epochs are not the ones to compare with.
 */
export function script(...parts: readonly string[]): Script {
  const lua = `#!lua flags=allow-oom\n${parts.join('\n')}`
  return { lua, sha: createHash('sha1').update(lua).digest('hex') }
}

/** Milliseconds by the clock of Redis. */
export const now = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)`

/** A fail-over brings another replication id, a restart as well; a flush takes the random part. ARGV[1]: a fresh one. */
const generation = `
local function generation(own)
  if not own then
    own = ARGV[1]
    redis.call('HSET', KEYS[1], 'g', own)
  end
  local id = string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)')
  return own .. '.' .. (id or 'unknown')
end`

/** Milliseconds since this generation was first seen; a clock that went back begins anew. Registrations are no older. */
const memory = `
local function remembered(current, born)
  local id = string.match(current, '%w+$')
  local whose, since = string.match(born or '', '^(%w+) (%d+)$')
  since = tonumber(since)
  if whose == id and since <= now then return now - since end
  redis.call('HSET', KEYS[1], 'b', id .. ' ' .. string.format('%.0f', now))
  return 0
end`

/** Texts of `name=until;`, until in server milliseconds. */
const leases = `
local function standing(text, without, now)
  local left = {}
  for name, till in string.gmatch(text or '', '([^=;]+)=(%d+);') do
    if name ~= without and tonumber(till) > now then left[#left + 1] = name .. '=' .. till .. ';' end
  end
  return table.concat(left)
end`

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

/** KEYS: hash. ARGV: fresh generation, own channel, who, lease (0: leaves), nonce. Gives generation and sequence. */
export const beat = script(
  now,
  generation,
  memory,
  leases,
  `
local got = redis.call('HMGET', KEYS[1], 'g', 'q', 'r', 'b')
local current = generation(got[1])
remembered(current, got[4])
local others = standing(got[3], ARGV[3], now)
local lease = tonumber(ARGV[4])
if lease > 0 then others = others .. ARGV[3] .. '=' .. string.format('%.0f', now + lease) .. ';' end
redis.call('HSET', KEYS[1], 'r', others)
redis.call('PUBLISH', ARGV[2], cjson.encode({g = current, q = got[2] or '0', n = ARGV[5]}))
return {current, got[2] or '0'}`,
)

/** KEYS: claim. ARGV: token, milliseconds. 1 while it is held by this token. */
export const renewClaim = script(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`)

/** KEYS: claim. ARGV: token, channel, what followers wait for. */
export const releaseClaim = script(`
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
redis.call('PUBLISH', ARGV[2], ARGV[3])
return 1`)
