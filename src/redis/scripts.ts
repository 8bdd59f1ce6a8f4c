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
export const generation = `
local function generation(own)
  if not own then
    own = ARGV[1]
    redis.call('HSET', KEYS[1], 'g', own)
  end
  local id = string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)')
  return own .. '.' .. (id or 'unknown')
end`

/** Milliseconds since this generation was first seen; a clock that went back begins anew. Registrations are no older. */
export const memory = `
local function remembered(current, born)
  local id = string.match(current, '%w+$')
  local whose, since = string.match(born or '', '^(%w+) (%d+)$')
  since = tonumber(since)
  if whose == id and since <= now then return now - since end
  redis.call('HSET', KEYS[1], 'b', id .. ' ' .. string.format('%.0f', now))
  return 0
end`

/** Texts of `name=until;`, until in server milliseconds. */
export const leases = `
local function standing(text, without, now)
  local left = {}
  for name, till in string.gmatch(text or '', '([^=;]+)=(%d+);') do
    if name ~= without and tonumber(till) > now then left[#left + 1] = name .. '=' .. till .. ';' end
  end
  return table.concat(left)
end`

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
