/**
 * Lua scripts, each one atomic step, and the parts that several of them share. They need Redis 7.
 *
 * Tag epochs, write fences, the registry of replicas, the sequence of invalidations and the generation are fields of
 * ONE hash without a time to live. A flush or an eviction removes all of it, the generation too. Responses that were
 * stored before can then no longer be mistaken for valid ones.
 *
 * Fields: `g` random part of the generation · `b` replication id and since when · `q` sequence of invalidations · `r`
 * leases of replicas · `t:<tag>` epoch · `f:<tag>` fences.
 */
import { hash } from 'node:crypto'

export interface Script {
  readonly lua: string
  readonly sha: string
}

/**
 * Returns a script with its SHA. `allow-oom`: a full Redis must still accept invalidations, or other replicas would
 * serve older values. No script has the flag `no-writes`, so a demoted primary rejects all of them: its epochs are
 * outdated.
 */
export function script(...parts: readonly string[]): Script {
  return scriptOf(['#!lua flags=allow-oom', ...parts])
}

/** Returns a script that a full Redis rejects. */
export function scriptWithinMemory(...parts: readonly string[]): Script {
  return scriptOf(['#!lua', ...parts])
}

function scriptOf(lines: readonly string[]): Script {
  const lua = lines.join('\n')
  return { lua, sha: hash('sha1', lua, 'hex') }
}

/** `now`: milliseconds by the clock of Redis. */
export const NOW = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)`

/**
 * The generation: a random part, which a flush removes, and the replication id, which changes with a fail-over or a
 * restart. ARGV[1]: a new random part, used if there is none.
 */
export const GENERATION = `
local function generation(own)
  if not own then
    own = ARGV[1]
    redis.call('HSET', KEYS[1], 'g', own)
  end
  local id = string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)')
  return own .. '.' .. (id or 'unknown')
end`

/** Milliseconds since this generation was first seen, from 0 again if the clock went back. No registration is older. */
export const GENERATION_AGE = `
local function generationAge(current, born)
  local id = string.match(current, '%w+$')
  local whose, since = string.match(born or '', '^(%w+) (%d+)$')
  since = tonumber(since)
  if whose == id and since <= now then return now - since end
  redis.call('HSET', KEYS[1], 'b', id .. ' ' .. string.format('%.0f', now))
  return 0
end`

/** Leases as text, `name=until;` each, until in milliseconds of Redis: those of other names that have not expired. */
export const LEASES = `
local function unexpired(text, without, now)
  local left = {}
  for name, till in string.gmatch(text or '', '([^=;]+)=(%d+);') do
    if name ~= without and tonumber(till) > now then left[#left + 1] = name .. '=' .. till .. ';' end
  end
  return table.concat(left)
end`

/**
 * Registers a replica for `lease` milliseconds (0: leaves its registration as it is; -1: removes it) and sends the
 * heartbeat back to it.
 * KEYS: hash. ARGV: new random part, channel of the replica, its id, lease, nonce. Returns generation,
 * sequence, and the number of other replicas.
 */
export const HEARTBEAT = script(
  NOW,
  GENERATION,
  GENERATION_AGE,
  LEASES,
  `
local got = redis.call('HMGET', KEYS[1], 'g', 'q', 'r', 'b')
local current = generation(got[1])
generationAge(current, got[4])
local replicas = unexpired(got[3], ARGV[3], now)
local _, others = string.gsub(replicas, ';', '')
local lease = tonumber(ARGV[4])
if lease > 0 then replicas = replicas .. ARGV[3] .. '=' .. string.format('%.0f', now + lease) .. ';' end
if lease ~= 0 then redis.call('HSET', KEYS[1], 'r', replicas) end
redis.call('PUBLISH', ARGV[2], cjson.encode({g = current, q = got[2] or '0', n = ARGV[5]}))
return {current, got[2] or '0', others}`,
)
