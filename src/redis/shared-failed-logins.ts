/**
 * Failed logins at the nodes, counted for all replicas: a node counts them by address, and replicas may have one address.
 * The counters also outlive a restart of a replica. Names are stored as digests.
 */
import { createDigest } from './digest.ts'
import { redisKeys } from './options.ts'
import type { RedisReplica } from './replica.ts'
import { NOW, script } from './scripts.ts'

/** See `SharedFailedLogins` in src/upstream/tokens/failed-logins.ts. */
export interface SharedFailedLogins {
  readonly replicas: number
  count(
    login: CountedLogin,
    limits: FailureLimits,
  ): Promise<{ readonly all: number; readonly name: number } | undefined>
  cancel(login: CountedLogin): Promise<void>
}

interface CountedLogin {
  readonly node: string
  readonly name: string
  readonly id: string
}

interface FailureLimits {
  readonly windowMs: number
  readonly all: number
  readonly perName: number
}

/**
 * Counts a login as failed unless a limit is reached, in one step: otherwise logins of several replicas would pass at once.
 * KEYS: failures of the node (digest of the name, space, id → time). ARGV: window, digest of the name, id, limit of all,
 * limit of the name. Returns the milliseconds until logins of all names, and of this name, may be sent; twice 0: counted.
 */
const COUNT = script(
  NOW,
  `
local window, digest = tonumber(ARGV[1]), ARGV[2] .. ' '
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - window)
local rows = redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')
local all, own = {}, {}
for at = 1, #rows, 2 do
  local time = tonumber(rows[at + 1])
  all[#all + 1] = time
  if string.sub(rows[at], 1, #digest) == digest then own[#own + 1] = time end
end
local function wait(times, limit)
  local last = times[#times - limit + 1]
  return last and math.max(1, math.ceil(last + window - now)) or 0
end
local waits = { wait(all, tonumber(ARGV[4])), wait(own, tonumber(ARGV[5])) }
if waits[1] > 0 or waits[2] > 0 then return waits end
redis.call('ZADD', KEYS[1], now, digest .. ARGV[3])
redis.call('PEXPIRE', KEYS[1], window)
return waits
`,
)

const CANCEL = script("redis.call('ZREM', KEYS[1], ARGV[1])")

/** `key`: of the digests; the same on all replicas. */
export function createSharedFailedLogins(replica: RedisReplica, key?: Buffer): SharedFailedLogins {
  const { commands, heartbeat, times } = replica
  const digest = createDigest(key)
  const keyOf = ({ node }: CountedLogin) => redisKeys.access(`failed:${node}`)
  return {
    get replicas() {
      return heartbeat.replicas
    },
    count: async (login, { windowMs, all, perName }) => {
      const args = [windowMs, digest(login.name), login.id, all, perName]
      const reply = await commands.runScript<readonly [number, number]>(
        COUNT,
        [keyOf(login)],
        args,
        times.commandTimeout,
      )
      return reply.ok ? { all: reply.value[0], name: reply.value[1] } : undefined
    },
    cancel: async (login) => {
      const member = `${digest(login.name)} ${login.id}`
      await commands.runScript(CANCEL, [keyOf(login)], [member], times.commandTimeout)
    },
  }
}
