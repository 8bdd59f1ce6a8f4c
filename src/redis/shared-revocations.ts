/**
 * Revocations of tokens on all replicas within a second. Each replica checks tokens in its own memory. A replica that
 * revokes a token writes it to Redis and notifies the others, who read it at once, or with their next heartbeat.
 */
import { createRevocationList, type Revocation, type RevocationList, type Revocations } from '../access/revocations.ts'
import type { Clock } from '../core/timing.ts'
import { redisChannels, redisKeys } from './options.ts'
import type { RedisReplica } from './replica.ts'
import { script } from './scripts.ts'

/**
 * Writes revocations and notifies other replicas. Each moves to the end of the order, so that all replicas read it. Its
 * moment never goes back. One that the order lacks is written again although its fact is known: an earlier run may have
 * ended in between, or an administrator has deleted one of the keys. All keys are read before the first is written. Up to 64 expired ones are removed with each call: the keys have no time to live, since Redis
 * must not evict a revocation.
 * KEYS: revoked, facts, ends. ARGV: channel, id of the replica, then for each revocation key, moment, end.
 */
const WRITE_REVOCATIONS = script(`
local time = redis.call('TIME')
local changed = 0
local place = time[1] * 1000000 + time[2]
local last = redis.call('ZRANGE', KEYS[1], '+inf', '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, 1, 'WITHSCORES')
if last[2] and tonumber(last[2]) >= place then place = last[2] + 1 end
local expired = redis.call('ZRANGE', KEYS[3], '-inf', time[1] * 1000, 'BYSCORE', 'LIMIT', 0, 64)
for at = 3, #ARGV, 3 do
  local key, moment, ends = ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  local fact = redis.call('HGET', KEYS[2], key)
  local oldMoment, oldEnds
  if fact then oldMoment, oldEnds = string.match(fact, '^(%d+) (%d+)$') end
  oldMoment, oldEnds = tonumber(oldMoment or '-1'), tonumber(oldEnds or '-1')
  local added = redis.call('ZADD', KEYS[1], 'NX', string.format('%.0f', place), key)
  added = added + redis.call('ZADD', KEYS[3], 'NX', string.format('%.0f', ends), key)
  if added > 0 or moment > oldMoment or ends > oldEnds then
    moment, ends = math.max(moment, oldMoment), math.max(ends, oldEnds)
    redis.call('HSET', KEYS[2], key, string.format('%.0f %.0f', moment, ends))
    redis.call('ZADD', KEYS[1], string.format('%.0f', place), key)
    redis.call('ZADD', KEYS[3], string.format('%.0f', ends), key)
    place = place + 1
    changed = changed + 1
  end
end
if #expired > 0 then
  redis.call('ZREM', KEYS[1], unpack(expired))
  redis.call('ZREM', KEYS[3], unpack(expired))
  redis.call('HDEL', KEYS[2], unpack(expired))
end
if changed > 0 then redis.call('PUBLISH', ARGV[1], ARGV[2]) end
return #expired
`)

const KEYS = ['revoked', 'facts', 'ends'].map(redisKeys.access)
const MAX_BATCH = 64

export interface SharedRevocations extends Revocations {
  /**
   * Takes revocations from Redis, and writes those that Redis does not have: with `hasForgotten`, all that are known.
   * Returns false if Redis did not accept them.
   */
  merge(revocations: readonly Revocation[], hasForgotten: boolean): Promise<boolean>
}

export interface SharedRevocationsOptions {
  readonly replica: RedisReplica
  readonly clock: Clock
  /** Called when revocations could not be written. They are written with a later heartbeat. */
  readonly onPending: (revocations: number) => void
}

export function createSharedRevocations({ replica, clock, onPending }: SharedRevocationsOptions): SharedRevocations {
  const { commands, times, id } = replica
  /** Revocations that Redis does not have yet, by key. */
  const pending = new Map<string, Revocation>()
  const known: RevocationList = createRevocationList(clock, async (revocation) => {
    pending.set(revocation.key, revocation)
    const isStored = await writePending()
    if (!isStored) onPending(pending.size)
    return isStored
  })

  async function writePending(): Promise<boolean> {
    while (pending.size > 0) {
      const batch = [...pending.values()].slice(0, MAX_BATCH)
      const values = batch.flatMap(({ key, moment, until }) => [key, Math.ceil(moment), Math.ceil(until)])
      const args = [redisChannels.revocations, id, ...values]
      // A log-out fails without the reply, so it waits longer than a read.
      const reply = await commands.runScript(WRITE_REVOCATIONS, KEYS, args, times.bulkTimeout)
      if (!reply.ok) return false
      // A later revocation of the same user may have been added meanwhile: it stays.
      for (const one of batch) if (pending.get(one.key) === one) pending.delete(one.key)
    }
    return true
  }

  return {
    revoke: known.revoke,
    revokeUpTo: known.revokeUpTo,
    revokedUpTo: known.revokedUpTo,
    isRevoked: known.isRevoked,
    merge(revocations, hasForgotten) {
      for (const revocation of revocations) known.merge(revocation)
      if (hasForgotten) for (const one of known.all()) pending.set(one.key, one)
      return writePending()
    },
  }
}
