/**
 * Revocations of tokens on all replicas within a second. Each replica checks tokens in its own memory. A replica that
 * revokes a token writes it to Redis and notifies the others, who read it at once, or with their next heartbeat. While Redis
 * is unreachable, each replica revokes on its own, and shares its revocations afterwards.
 */

import { randomUUID } from 'node:crypto'
import { createRevocationList, type Revocation, type RevocationList } from '../access/revocations.ts'
import type { Log } from '../core/events.ts'
import { oneRunAtATime } from '../core/one-run-at-a-time.ts'
import type { Clock } from '../core/timing.ts'
import { redisChannels, redisKeys } from './options.ts'
import type { RedisReplica } from './replica.ts'
import { script } from './scripts.ts'

/**
 * Writes revocations and notifies other replicas. Each moves to the end of the order, so that all replicas read it. Its
 * moment never goes back. One that the order lacks is written again although its fact is known: an earlier run may have
 * ended in between, or an administrator has deleted one of the keys. All keys are read before the first is written. Up to 64 expired ones are
 * removed with each call: the keys have no time to live, since Redis must not evict a revocation.
 * KEYS: revoked, facts, ends, born. If one has another type, all are deleted, and replicas write again what they know. ARGV:
 * channel, id of the replica, then for each revocation key, moment, end.
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

/**
 * Reads the revocations after a place in their order. `born` differs after a flush: all revocations are then
 * read again from the beginning.
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

const KEYS = {
  read: ['revoked', 'facts', 'born'].map(redisKeys.access),
  write: ['revoked', 'facts', 'ends', 'born'].map(redisKeys.access),
}
const MAX_BATCH = 64
const PENDING = 'redis is unreachable: revoked tokens are still valid at other replicas'

interface SharedRevocationsOptions {
  readonly replica: RedisReplica
  readonly clock: Clock
  /** Receives a warning if revocations could not be written. They are written with a later heartbeat. */
  readonly log: Log
}

type RevocationRow = readonly [key: string, fact: string, place: string]
type RevocationsReply = readonly [born: string, revoked: readonly RevocationRow[]]

/** Must be called before the replica starts. */
export function createSharedRevocations(options: SharedRevocationsOptions) {
  const { replica, clock, log } = options
  const exchange = new RevocationExchange(replica)
  const known = createRevocationList(clock, async (revocation) => {
    const isStored = await exchange.write(revocation)
    if (!isStored) log('warn', PENDING, { revocations: exchange.pending })
    return isStored
  })
  const read = exchange.startReading(known)
  return {
    ...known,
    /** Starts the replica. Resolves when all revocations are known here, or when Redis is unreachable. */
    start: async (): Promise<void> => {
      await replica.start()
      await read()
    },
  }
}

/** Writes revocations to Redis, and reads those of other replicas. */
class RevocationExchange {
  readonly #replica: RedisReplica
  /** Revocations that Redis does not have yet, by key. */
  readonly #pending = new Map<string, Revocation>()
  /** How far the order in Redis was read. `born` differs after a flush. */
  #born = ''
  #place = '0'
  /** Redis was unreachable, or another server may have taken its place. */
  #mayHaveForgotten = true

  constructor(replica: RedisReplica) {
    this.#replica = replica
  }

  get pending(): number {
    return this.#pending.size
  }

  /** Resolves to `false` if Redis is unreachable. It then gets the revocation later. */
  write(revocation: Revocation): Promise<boolean> {
    this.#pending.set(revocation.key, revocation)
    return this.#writePending()
  }

  /** Reads the revocations of others into the list whenever there may be new ones. Returns the function that reads them now. */
  startReading(known: RevocationList): () => Promise<void> {
    const { commands, heartbeat, id } = this.#replica
    const read = oneRunAtATime(async () => {
      const isComplete = await this.#read(known)
      if (!isComplete) this.#mayHaveForgotten = true
    })
    heartbeat.onBeat(() => void read())
    commands.onReady(() => {
      this.#mayHaveForgotten = true
    })
    this.#replica.subscribe(redisChannels.revocations, (writer) => {
      if (writer !== id) void read()
    })
    return read
  }

  async #writePending(): Promise<boolean> {
    const { commands, times, id } = this.#replica
    const pending = this.#pending
    while (pending.size > 0) {
      const batch = [...pending.values()].slice(0, MAX_BATCH)
      const values = batch.flatMap(({ key, moment, until }) => [key, Math.ceil(moment), Math.ceil(until)])
      const args = [redisChannels.revocations, id, ...values]
      // A log-out fails without the reply, so it waits longer than a read.
      const reply = await commands.runScript(WRITE_REVOCATIONS, KEYS.write, args, times.bulkTimeout)
      if (!reply.ok) return false
      // A later revocation of the same user may have been added meanwhile: it stays.
      for (const one of batch) if (pending.get(one.key) === one) pending.delete(one.key)
    }
    return true
  }

  async #read(known: RevocationList): Promise<boolean> {
    const { commands, times } = this.#replica
    const args = [randomUUID(), this.#born, this.#place, MAX_BATCH]
    const mayHaveForgotten = this.#mayHaveForgotten
    this.#mayHaveForgotten = false
    // No request waits for a read, and its reply may be long.
    const reply = await commands.runScript<RevocationsReply>(READ_REVOCATIONS, KEYS.read, args, times.bulkTimeout)
    if (!reply.ok) return false
    const [born, revoked] = reply.value
    const hasForgotten = mayHaveForgotten || born !== this.#born
    this.#born = born
    this.#place = revoked.at(-1)?.[2] ?? this.#place
    for (const row of revoked) known.merge(parseRevocation(row))
    if (hasForgotten) for (const one of known.all()) this.#pending.set(one.key, one)
    if (!(await this.#writePending())) return false
    return revoked.length < MAX_BATCH || this.#read(known)
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
