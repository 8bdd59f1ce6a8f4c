/**
 * The state of access that replicas share: the counters, and revoked tokens. With each heartbeat, a replica reads what others
 * revoked. While Redis is unreachable, each replica decides on its own, and shares its revocations afterwards.
 */
import { randomUUID } from 'node:crypto'
import { type CountRequest, createRequestCounts } from '../access/request-counts.ts'
import type { Revocation, Revocations } from '../access/revocations.ts'
import type { Counters } from '../core/counters.ts'
import type { Log } from '../core/events.ts'
import { type Clock, systemClock } from '../core/timing.ts'
import { redisChannels, redisKeys } from './options.ts'
import type { RedisReplica } from './replica.ts'
import { script } from './scripts.ts'
import { SharedCounters } from './shared-counters.ts'
import { createSharedRevocations } from './shared-revocations.ts'

/**
 * Reads the revocations after a place in their order. `born` differs after a flush: all
 * revocations are then read again from the beginning.
 * KEYS: revoked (key → place), facts (key → "moment until"), born.
 * ARGV: new value of `born`, last known `born`, last known place, maximum number of revocations.
 */
const READ_REVOCATIONS = script(`
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
return { born, revoked }`)

const KEYS = ['revoked', 'facts', 'born'].map(redisKeys.access)
const MAX_REVOCATIONS_PER_READ = 64
/** No request waits for this read, and its reply may be long: its time limit in command timeouts. */
const READ_TIMEOUTS = 5

/** The commands of this module and its scripts: what the ACL of the Redis user must allow, besides those of the store. */
export const ACCESS_COMMANDS_USED: readonly string[] = [
  'del',
  'eval',
  'evalsha',
  'get',
  'hdel',
  'hget',
  'hset',
  'publish',
  'set',
  'time',
  'zadd',
  'zrange',
  'zrem',
  // Version 0.1.0 uses these: during a rollout and after a rollback, both versions run with the same Redis user.
  'exists',
  'incrby',
  'pexpire',
  'pttl',
  'zcard',
  'zremrangebyscore',
]

export interface SharedAccessOptions {
  readonly replica: RedisReplica
  /** Key of the digests of names and addresses; the same on all replicas. */
  readonly key?: Buffer
  readonly clock?: Clock
  readonly log: Log
}

export interface SharedAccess {
  readonly counters: Counters
  readonly revocations: Revocations
  readonly count: CountRequest
  isUnreachable(): boolean
  /** Starts the replica. Resolves when all revocations are known here, or when Redis is unreachable. */
  start(): Promise<void>
}

type RevocationRow = readonly [key: string, fact: string, place: string]
type RevocationsReply = readonly [born: string, revoked: readonly RevocationRow[]]

/** Must be called before the replica starts. */
export function createSharedAccess(options: SharedAccessOptions): SharedAccess {
  const { replica, clock = systemClock, log } = options
  const { commands, heartbeat, times } = replica
  const counters = new SharedCounters(replica, options.key)
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
    const [born, revoked] = reply.value
    const hasForgotten = mayHaveForgotten || born !== state.born
    state.born = born
    state.place = revoked.at(-1)?.[2] ?? state.place
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
    counters,
    count: createRequestCounts(counters),
    revocations,
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

/** Other clients of Redis may have written anything. */
function finite(value: number): number {
  return Number.isFinite(value) ? value : 0
}
