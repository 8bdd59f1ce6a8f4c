/**
 * The state of access that replicas share: failed logins, revoked tokens, request counts. With each heartbeat, a
 * replica reads what others revoked and which pairs of address and name are blocked. While Redis is unreachable, each
 * replica decides on its own, and shares its revocations afterwards.
 *
 * All keys have one hash tag, so that a script finds its keys on one node of a Redis Cluster. Names and addresses are
 * stored as digests: a user may type a password as a name.
 */
import { randomUUID } from 'node:crypto'
import type { LoginAttempts } from '../access/login-attempts.ts'
import type { Revocation, Revocations } from '../access/revocations.ts'
import type { Log } from '../core/events.ts'
import { type Clock, systemClock } from '../core/timing.ts'
import { createDigest } from './digest.ts'
import { redisChannels, redisKeys } from './options.ts'
import type { RedisReplica } from './replica.ts'
import { NOW, script } from './scripts.ts'
import { createSharedAttempts } from './shared-attempts.ts'
import { type CountShared, createSharedCounts } from './shared-counts.ts'
import { createSharedRevocations } from './shared-revocations.ts'

/**
 * Reads the revocations after a place in their order, and the blocked pairs. `born` differs after a flush: all
 * revocations are then read again from the beginning.
 * KEYS: revoked (key → place), facts (key → "moment until"), born, blocked (digest → until).
 * ARGV: new value of `born`, last known `born`, last known place, maximum number of revocations.
 */
const READ_REVOCATIONS = script(
  NOW,
  `
local born = redis.call('GET', KEYS[3])
if not born then
  born = ARGV[1]
  redis.call('SET', KEYS[3], born)
end
local from = '-inf'
if born == ARGV[2] then from = '(' .. ARGV[3] end
local keys = redis.call('ZRANGE', KEYS[1], from, '+inf', 'BYSCORE', 'LIMIT', 0, ARGV[4], 'WITHSCORES')
local revoked = {}
for at = 1, #keys, 2 do
  revoked[#revoked + 1] = { keys[at], redis.call('HGET', KEYS[2], keys[at]) or '', keys[at + 1] }
end
redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', now)
local blocked = redis.call('ZRANGE', KEYS[4], '(' .. now, '+inf', 'BYSCORE', 'LIMIT', 0, 500, 'WITHSCORES')
return { born, now, revoked, blocked }`,
)

const KEYS = ['revoked', 'facts', 'born', 'blocked'].map(redisKeys.access)
const MAX_REVOCATIONS_PER_READ = 64
/** No request waits for this read, and its reply may be long: its time limit in command timeouts. */
const READ_TIMEOUTS = 5

/** The commands of this module and its scripts: what the ACL of the Redis user must allow, besides those of the store. */
export const ACCESS_COMMANDS_USED: readonly string[] = [
  'del',
  'eval',
  'evalsha',
  'exists',
  'get',
  'hdel',
  'hget',
  'hset',
  'incrby',
  'pexpire',
  'pttl',
  'publish',
  'set',
  'time',
  'zadd',
  // Version 0.1.0 uses it: during a rollout and after a rollback, both versions run with the same Redis user.
  'zcard',
  'zrange',
  'zrem',
  'zremrangebyscore',
]

export interface SharedAccessOptions {
  readonly replica: RedisReplica
  /** `access.limits.failedLogins`, over all replicas. */
  readonly failedLogins: () => number
  /** Key of the digests of names and addresses; the same on all replicas. */
  readonly key?: Buffer
  readonly clock?: Clock
  readonly log: Log
}

export interface SharedAccess {
  readonly attempts: LoginAttempts
  readonly revocations: Revocations
  readonly count: CountShared
  isUnreachable(): boolean
  /** Starts the replica. Resolves when all revocations are known here, or when Redis is unreachable. */
  start(): Promise<void>
}

type RevocationRow = readonly [key: string, fact: string, place: string]
type RevocationsReply = readonly [
  born: string,
  now: number,
  revoked: readonly RevocationRow[],
  blocked: readonly string[],
]

/** Must be called before the replica starts. */
export function createSharedAccess(options: SharedAccessOptions): SharedAccess {
  const { replica, failedLogins, clock = systemClock, log } = options
  const { commands, heartbeat, times } = replica
  const shared = {
    connection: commands,
    timeout: times.commandTimeout,
    digest: createDigest(options.key),
    replicas: () => heartbeat.replicas,
    isUnreachable: () => state.isUnreachable,
  }
  const attempts = createSharedAttempts({ ...shared, failedLogins, clock })
  const count = createSharedCounts({ ...shared, elapsed: () => clock.elapsed() })
  const onPending = (revocations: number) =>
    log('warn', 'redis is unreachable: revoked tokens are still valid at other replicas', { revocations })
  const revocations = createSharedRevocations({ replica, clock, onPending })
  /** `mayHaveForgotten`: Redis was unreachable, or another server may have taken its place. */
  const state = { born: '', place: '0', isUnreachable: true, mayHaveForgotten: true }
  let reading: Promise<void> | undefined
  let isOutdated = false

  async function readRevocations(): Promise<boolean> {
    const args = [randomUUID(), state.born, state.place, MAX_REVOCATIONS_PER_READ]
    const { mayHaveForgotten } = state
    state.mayHaveForgotten = false
    const reply = await commands.runScript<RevocationsReply>(
      READ_REVOCATIONS,
      KEYS,
      args,
      READ_TIMEOUTS * times.commandTimeout,
    )
    if (!reply.ok) return false
    const [born, now, revoked, blocked] = reply.value
    const hasForgotten = mayHaveForgotten || born !== state.born
    state.born = born
    state.place = revoked.at(-1)?.[2] ?? state.place
    attempts.setBlocked(parseBlocked(blocked, now))
    if (!(await revocations.merge(revoked.map(parseRevocation), hasForgotten))) return false
    return revoked.length < MAX_REVOCATIONS_PER_READ || readRevocations()
  }

  async function readAll(): Promise<void> {
    do {
      isOutdated = false
      state.isUnreachable = !(await readRevocations())
      if (state.isUnreachable) state.mayHaveForgotten = true
    } while (isOutdated && !state.isUnreachable)
    reading = undefined
  }
  function read(): Promise<void> {
    reading ??= readAll()
    return reading
  }

  heartbeat.onBeat(() => void read())
  commands.onReady(() => {
    state.mayHaveForgotten = true
  })
  replica.subscribe(redisChannels.revocations, (writer) => {
    if (writer === replica.id) return
    isOutdated = true
    void read()
  })
  return {
    attempts,
    revocations,
    count,
    isUnreachable: () => state.isUnreachable,
    start: async () => {
      await replica.start()
      await read()
    },
  }
}

function parseRevocation([key, fact]: RevocationRow): Revocation {
  const [moment = 0, until = 0] = fact.split(' ').map(Number)
  return { key, moment: finite(moment), until: finite(until) }
}

function parseBlocked(blocked: readonly string[], now: number): (readonly [string, number])[] {
  const pairs: (readonly [string, number])[] = []
  for (let at = 0; at + 1 < blocked.length; at += 2) {
    pairs.push([blocked[at] ?? '', Math.max(0, finite(Number(blocked[at + 1])) - now)])
  }
  return pairs
}

/** Other clients of Redis may have written anything. */
function finite(value: number): number {
  return Number.isFinite(value) ? value : 0
}
