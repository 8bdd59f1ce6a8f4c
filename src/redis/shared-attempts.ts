import { LRUCache } from 'lru-cache'
import {
  ATTEMPT_LIMITS,
  type AttemptDecision,
  createLoginAttempts,
  type LoginAttempts,
} from '../access/login-attempts.ts'
import type { Clock } from '../core/timing.ts'
import type { Heard, Pulse } from './shared-pulse.ts'
import type { Digest, PrepareScript } from './shared-script.ts'

/** Attempts to log in, counted for all replicas. While Redis is away each replica counts for itself, up to its share. */

export interface SharedAttemptsOptions {
  readonly prepare: PrepareScript
  /** As `AttemptOptions.failures`, over all replicas. */
  readonly failures: number
  readonly digest: Digest
  readonly pulse: Pick<Pulse, 'replicas' | 'away'>
  readonly clock: Clock
}

export interface SharedAttempts extends LoginAttempts {
  /** Pairs that are blocked, as some replica found. */
  hear(heard: Heard): void
}

export function sharedAttempts(options: SharedAttemptsOptions): SharedAttempts {
  const { prepare, failures, digest, pulse, clock } = options
  const run = prepare(ATTEMPT)
  const blocks = new LRUCache<string, number>({ max: 20_000 })
  const underWay = new Map<string, number>()
  const alone = createLoginAttempts({
    clock,
    get maxFailures() {
      return Math.ceil(failures / pulse.replicas())
    },
  })

  /** `undefined`: Redis is away. */
  async function ask(what: 'count' | 'right' | 'undone', address: string, name: string): Promise<Reply | undefined> {
    const pair = digest(address, name)
    const keys = [`pair:${pair}`, `address:${digest(address)}`, 'edge', `known:${pair}`, 'blocked']
    try {
      return (await run(keys, [what, failures, pair, ...attemptArgs])) as Reply
    } catch {
      return undefined
    }
  }

  return {
    hear({ blocked }) {
      blocks.clear()
      for (const [pair, left] of blocked) blocks.set(pair, clock.elapsed() + left)
    },
    blockedForMs(address, name) {
      if (pulse.away()) return alone.blockedForMs(address, name)
      // Guesses that are still on their way to Redis: without this a burst of them would all pass.
      if ((underWay.get(pairOf(address, name)) ?? 0) >= failures) return BURST
      if (blocks.size === 0) return 0
      return Math.max(0, (blocks.get(digest(address, name)) ?? 0) - clock.elapsed())
    },
    async count(address, name) {
      const key = pairOf(address, name)
      underWay.set(key, (underWay.get(key) ?? 0) + 1)
      // Counted here too, at once: where Redis is lost this replica goes on from what it knows.
      const [counted, reply] = await Promise.all([alone.count(address, name), ask('count', address, name)])
      const left = (underWay.get(key) ?? 1) - 1
      if (left > 0) underWay.set(key, left)
      else underWay.delete(key)
      if (reply === undefined) return counted
      const [allowed, wait, known] = reply
      if (allowed === 1) return { allowed: true, delayMs: wait, isKnown: known === 1 } satisfies AttemptDecision
      blocks.set(digest(address, name), clock.elapsed() + wait)
      return { allowed: false, retryAfterMs: wait }
    },
    async succeed(address, name) {
      await Promise.all([alone.succeed(address, name), ask('right', address, name)])
      blocks.delete(digest(address, name))
    },
    async cancel(address, name) {
      await Promise.all([alone.cancel(address, name), ask('undone', address, name)])
    },
  }
}

type Reply = readonly [allowed: number, wait: number, known: number]

/** Milliseconds: about a round trip. */
const BURST = 100

function pairOf(address: string, name: string): string {
  return `${address} ${name}`
}

/**
 * Attempts to log in, counted for all replicas in one atomic step: a replica that counted after looking would let
 * parallel attempts pass (CVE-2026-26206). The buckets are those of auth/leaky-buckets.ts, by the clock of Redis.
 *
 * KEYS pair, address, edge, known, blocked. ARGV what to do, failures, digest of the pair, then the rules in the order
 * of `attemptArgs`. A bucket is the text "level at until"; garbage counts as an empty one.
 */

export const ATTEMPT = `
local what, failures, digest = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local first, delay, longestDelay, knownFor = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[7]
local function rule(at) return { share = tonumber(ARGV[at]), fade = tonumber(ARGV[at + 1]), longest = tonumber(ARGV[at + 2]) } end
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
  local bucket, limit = load(at), failures * rules[at].share
  bucket.level = bucket.level + 1
  local over = math.floor(bucket.level + 0.5) - limit
  if over >= 0 then
    bucket.ends = now + math.min(rules[at].longest, first * 2 ^ math.min(over, 40))
    if at == 1 then redis.call('ZADD', KEYS[5], bucket.ends, digest) end
  end
  save(at, bucket)
  return math.max(0, over)
end
local function takeBack(at)
  local bucket = load(at)
  bucket.level = math.max(0, bucket.level - 1)
  if math.floor(bucket.level + 0.5) < failures * rules[at].share then
    bucket.ends = 0
    if at == 1 then redis.call('ZREM', KEYS[5], digest) end
  end
  save(at, bucket)
end

if what == 'right' then
  redis.call('DEL', KEYS[1])
  redis.call('ZREM', KEYS[5], digest)
  redis.call('SET', KEYS[4], '1', 'PX', knownFor)
elseif what == 'undone' then
  takeBack(1)
else
  local pair = load(1).ends
  local wait = math.max(pair, load(2).ends) - now
  if pair <= now then add(1) end
  if wait > 0 then return { 0, math.ceil(wait), 0 } end
  add(2)
  local over = add(3)
  if redis.call('EXISTS', KEYS[4]) == 1 then return { 1, 0, 1 } end
  return { 1, math.min(longestDelay, over * delay), 0 }
end
takeBack(2)
takeBack(3)
return { 1, 0, 0 }
`

/** ARGV from the fourth on. */
export const attemptArgs: readonly number[] = [
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
