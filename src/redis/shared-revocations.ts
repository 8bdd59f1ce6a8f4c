/**
 * Revocations on every replica within a second. Each replica answers from its own memory, without a round trip; what
 * one revokes it tells Redis, and the others hear it at their next beat. What could not be told is told again.
 */

import { createRevocationList, type Revocation, type RevocationList, type Revocations } from '../access/revocations.ts'
import type { Clock } from '../core/timing.ts'
import type { Heard } from './shared-pulse.ts'
import type { PrepareScript } from './shared-script.ts'

/**
 * KEYS revoked, facts, ends. Each field moves to the end of the order, so that all hear it; a moment never goes back.
 * What has expired goes, a little at each call: the sets have no time to live, lest Redis evict a revocation.
 */
const TELL = `
local time = redis.call('TIME')
local place = time[1] * 1000000 + time[2]
local last = redis.call('ZRANGE', KEYS[1], '+inf', '-inf', 'BYSCORE', 'REV', 'LIMIT', 0, 1, 'WITHSCORES')
if last[2] and tonumber(last[2]) >= place then place = last[2] + 1 end
for at = 1, #ARGV, 3 do
  local of, moment, ends = ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  local fact = redis.call('HGET', KEYS[2], of)
  local oldMoment, oldEnds
  if fact then oldMoment, oldEnds = string.match(fact, '^(%d+) (%d+)$') end
  oldMoment, oldEnds = tonumber(oldMoment or '-1'), tonumber(oldEnds or '-1')
  if moment > oldMoment or ends > oldEnds then
    moment, ends = math.max(moment, oldMoment), math.max(ends, oldEnds)
    redis.call('HSET', KEYS[2], of, string.format('%.0f %.0f', moment, ends))
    redis.call('ZADD', KEYS[1], string.format('%.0f', place), of)
    redis.call('ZADD', KEYS[3], string.format('%.0f', ends), of)
    place = place + 1
  end
end
local over = redis.call('ZRANGE', KEYS[3], '-inf', time[1] * 1000, 'BYSCORE', 'LIMIT', 0, 64)
if #over > 0 then
  redis.call('ZREM', KEYS[1], unpack(over))
  redis.call('ZREM', KEYS[3], unpack(over))
  redis.call('HDEL', KEYS[2], unpack(over))
end
return #over
`

const KEYS = ['revoked', 'facts', 'ends']
const AT_ONCE = 64

export interface SharedRevocations extends Revocations {
  /** Takes news over, and tells again what Redis has forgotten or never heard. Rejects where Redis does. */
  hear(heard: Heard): Promise<void>
}

export function sharedRevocations(
  prepare: PrepareScript,
  clock: Clock,
  untold: (revocations: number) => void,
): SharedRevocations {
  const run = prepare(TELL)
  const waiting = new Map<string, Revocation>()
  const known: RevocationList = createRevocationList(clock, async (revocation) => {
    waiting.set(revocation.key, revocation)
    await tellWaiting().catch(() => untold(waiting.size))
  })

  async function tell(revocations: readonly Revocation[]): Promise<void> {
    const args = revocations.flatMap(({ key: of, moment, until }) => [of, Math.ceil(moment), Math.ceil(until)])
    if (args.length > 0) await run(KEYS, args)
  }
  async function tellWaiting(): Promise<void> {
    while (waiting.size > 0) {
      const now = [...waiting.values()].slice(0, AT_ONCE)
      await tell(now)
      // A later one of the same user may have come meanwhile: it stays.
      for (const one of now) if (waiting.get(one.key) === one) waiting.delete(one.key)
    }
  }

  return {
    revoke: known.revoke,
    revokeUpTo: known.revokeUpTo,
    revokedUpTo: known.revokedUpTo,
    isRevoked: known.isRevoked,
    async hear({ news, forgotten }) {
      for (const revocation of news) known.merge(revocation)
      if (forgotten) for (const one of known.all()) waiting.set(one.key, one)
      await tellWaiting()
    },
  }
}
