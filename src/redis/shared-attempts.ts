/**
 * Limits on failed logins, counted for all replicas. While Redis is unreachable, each replica counts on its own, up to
 * its share of the limit.
 */
import { ATTEMPT_LIMITS, createLoginAttempts, type LoginAttempts } from '../access/login-attempts.ts'
import { growingLru } from '../core/growing-lru.ts'
import type { Clock } from '../core/timing.ts'
import type { RedisConnection } from './connection.ts'
import { redisKeys } from './options.ts'
import { script } from './scripts.ts'

/**
 * Counts an attempt in all counters in one atomic step. If a replica counted after checking, parallel attempts would
 * pass (CVE-2026-26206). The counters are those of access/login-attempts.ts, by the clock of Redis.
 *
 * KEYS: pair, address, edge, known, blocked. ARGV: action (count, succeed, cancel), maximum of failures, digest of the
 * pair, then LIMIT_ARGS. A counter is the text "level at until". Other text counts as an empty counter. Returns
 * whether the attempt is allowed, milliseconds to wait or to delay it, and whether the pair is known.
 */
const ATTEMPT = script(`
local action, failures, digest = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local first, delay, maxDelay, rememberFor = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7]
local function rule(at) return { factor = tonumber(ARGV[at]), fade = tonumber(ARGV[at + 1]), maxBlock = tonumber(ARGV[at + 2]) } end
local rules = { rule(8), rule(11), rule(14) }
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function load(at)
  local level, last, ends = string.match(redis.call('GET', KEYS[at]) or '', '^([%d.]+) (%d+) (%d+)$')
  if not tonumber(level) then return { level = 0, ends = 0 } end
  return { level = math.max(0, level - (now - last) / rules[at].fade), ends = tonumber(ends) }
end
local function save(at, bucket)
  local left = math.ceil(math.max(bucket.level * rules[at].fade, bucket.ends - now))
  if left < 1 then redis.call('DEL', KEYS[at]) return end
  redis.call('SET', KEYS[at], string.format('%.6f %.0f %.0f', bucket.level, now, bucket.ends), 'PX', left)
end
local function add(at)
  local bucket, limit = load(at), failures * rules[at].factor
  bucket.level = bucket.level + 1
  local over = math.floor(bucket.level + 0.5) - limit
  if over >= 0 then
    bucket.ends = now + math.min(rules[at].maxBlock, first * 2 ^ math.min(over, 40))
    if at == 1 then redis.call('ZADD', KEYS[5], bucket.ends, digest) end
  end
  save(at, bucket)
  return math.max(0, over)
end
local function takeBack(at)
  local bucket = load(at)
  bucket.level = math.max(0, bucket.level - 1)
  if math.floor(bucket.level + 0.5) < failures * rules[at].factor then
    bucket.ends = 0
    if at == 1 then redis.call('ZREM', KEYS[5], digest) end
  end
  save(at, bucket)
end

if action == 'succeed' then
  redis.call('DEL', KEYS[1])
  redis.call('ZREM', KEYS[5], digest)
  redis.call('SET', KEYS[4], '1', 'PX', rememberFor)
elseif action == 'cancel' then
  takeBack(1)
else
  local pair = load(1).ends
  local wait = math.max(pair, load(2).ends) - now
  if pair <= now then add(1) end
  if wait > 0 then return { 0, math.ceil(wait), 0 } end
  add(2)
  local over = add(3)
  if redis.call('EXISTS', KEYS[4]) == 1 then return { 1, 0, 1 } end
  return { 1, math.min(maxDelay, over * delay), 0 }
end
takeBack(2)
takeBack(3)
return { 1, 0, 0 }
`)

/** The arguments of ATTEMPT from the fourth on. */
const LIMIT_ARGS: readonly number[] = [
  ATTEMPT_LIMITS.firstBlockMs,
  ATTEMPT_LIMITS.delayPerFailureMs,
  ATTEMPT_LIMITS.maxDelayMs,
  ATTEMPT_LIMITS.rememberMs,
  ...[ATTEMPT_LIMITS.pair, ATTEMPT_LIMITS.address, ATTEMPT_LIMITS.edge].flatMap(({ factor, fadeMs, maxBlockMs }) => [
    factor,
    fadeMs,
    maxBlockMs,
  ]),
]

export interface SharedAttemptsOptions {
  readonly connection: RedisConnection
  /** Time limit of a command in milliseconds. */
  readonly timeout: number
  /** As `LoginAttemptOptions.failedLogins`, over all replicas. */
  readonly failedLogins: () => number
  readonly digest: (...parts: readonly string[]) => string
  readonly clock: Clock
  replicas(): number
  isUnreachable(): boolean
}

export interface SharedAttempts extends LoginAttempts {
  /** Takes the pairs that are blocked at any replica: digests, with the milliseconds left. */
  setBlocked(blocked: readonly (readonly [string, number])[]): void
}

type AttemptReply = readonly [allowed: number, waitMs: number, isKnown: number]

const MAX_BLOCKED_PAIRS = 20_000
/** Answer to too many parallel attempts: about a round trip. */
const BURST_RETRY_MS = 100

export function createSharedAttempts(options: SharedAttemptsOptions): SharedAttempts {
  const { connection, timeout, failedLogins, digest, clock, replicas, isUnreachable } = options
  const blockedUntil = growingLru<string, number>(MAX_BLOCKED_PAIRS)
  /** Attempts for which Redis has not answered yet, by pair. */
  const inFlight = new Map<string, number>()
  const local = createLoginAttempts({ clock, failedLogins: () => Math.ceil(failedLogins() / replicas()) })

  /** Undefined: Redis is unreachable. */
  async function attempt(
    action: 'count' | 'succeed' | 'cancel',
    address: string,
    name: string,
  ): Promise<AttemptReply | undefined> {
    const pair = digest(address, name)
    const names = [`pair:${pair}`, `address:${digest(address)}`, 'edge', `known:${pair}`, 'blocked']
    const args = [action, failedLogins(), pair, ...LIMIT_ARGS]
    const reply = await connection.runScript<AttemptReply>(ATTEMPT, names.map(redisKeys.access), args, timeout)
    return reply.ok ? reply.value : undefined
  }

  return {
    setBlocked(blocked) {
      blockedUntil.clear()
      for (const [pair, left] of blocked) blockedUntil.set(pair, clock.elapsed() + left)
    },
    blockedForMs(address, name) {
      if (isUnreachable()) return local.blockedForMs(address, name)
      // Without this, all attempts of a burst would pass before Redis answers the first.
      if (inFlight.size > 0 && (inFlight.get(pairOf(address, name)) ?? 0) >= failedLogins()) return BURST_RETRY_MS
      if (blockedUntil.size === 0) return 0
      return Math.max(0, (blockedUntil.get(digest(address, name)) ?? 0) - clock.elapsed())
    },
    async count(address, name) {
      const pair = pairOf(address, name)
      inFlight.set(pair, (inFlight.get(pair) ?? 0) + 1)
      // Counted locally as well: if Redis becomes unreachable, this replica continues from there.
      const [decision, reply] = await Promise.all([local.count(address, name), attempt('count', address, name)])
      const left = (inFlight.get(pair) ?? 1) - 1
      if (left > 0) inFlight.set(pair, left)
      else inFlight.delete(pair)
      if (reply === undefined) return decision
      const [allowed, waitMs, isKnown] = reply
      if (allowed === 1) return { allowed: true, delayMs: waitMs, isKnown: isKnown === 1 }
      blockedUntil.set(digest(address, name), clock.elapsed() + waitMs)
      return { allowed: false, retryAfterMs: waitMs }
    },
    async succeed(address, name) {
      await Promise.all([local.succeed(address, name), attempt('succeed', address, name)])
      blockedUntil.delete(digest(address, name))
    },
    async cancel(address, name) {
      await Promise.all([local.cancel(address, name), attempt('cancel', address, name)])
    },
  }
}

/** An address holds no blank, so two pairs never share a key. */
function pairOf(address: string, name: string): string {
  return `${address} ${name}`
}
