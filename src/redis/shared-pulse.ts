/**
 * The pulse of a replica: a few times a second it says that it lives, counts those that do, and hears what was revoked
 * and who is blocked. One script, one round trip; what it misses while Redis is away it hears at the next beat.
 */
import { randomUUID } from 'node:crypto'
import type { Revocation } from '../access/revocations.ts'
import type { PrepareScript } from './shared-script.ts'

/** Milliseconds between beats, until a silent replica counts no more, and revocations heard in one beat. */
const EVERY = 250
const SILENT = 2000
const AT_ONCE = 64
/** Beats that are missed before the connection is opened anew. */
const STUCK = 6

/**
 * KEYS revoked (field → place in the order of news), facts (field → "moment until"), born, replicas, blocked.
 * `born` differs after a flush: what the replica heard before is then not there any more, and it begins anew.
 */
const BEAT = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZADD', KEYS[4], now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', now - ARGV[2])
local born = redis.call('GET', KEYS[3])
if not born then
  born = ARGV[3]
  redis.call('SET', KEYS[3], born)
end
local from = '-inf'
if born == ARGV[4] then from = '(' .. ARGV[5] end
local fields = redis.call('ZRANGE', KEYS[1], from, '+inf', 'BYSCORE', 'LIMIT', 0, ARGV[6], 'WITHSCORES')
local news = {}
for at = 1, #fields, 2 do
  news[#news + 1] = { fields[at], redis.call('HGET', KEYS[2], fields[at]) or '', fields[at + 1] }
end
redis.call('ZREMRANGEBYSCORE', KEYS[5], '-inf', now)
local blocked = redis.call('ZRANGE', KEYS[5], '(' .. now, '+inf', 'BYSCORE', 'LIMIT', 0, 500, 'WITHSCORES')
return { born, redis.call('ZCARD', KEYS[4]), now, news, blocked }
`

const KEYS = ['revoked', 'facts', 'born', 'replicas', 'blocked']

export interface Heard {
  readonly news: readonly Revocation[]
  /** Digest of an address and a name, and the milliseconds for which the two are blocked. */
  readonly blocked: readonly (readonly [string, number])[]
  /** Redis has lost what it was told, or may have: after a flush, a fail-over, an outage. */
  readonly forgotten: boolean
}

export interface Pulse {
  /** Replicas that were alive at the last beat that got through, this one among them. */
  replicas(): number
  /** Did the last beat not get through? */
  away(): boolean
  /** The first beats, until everything is heard; resolves also where Redis is away. */
  start(): Promise<void>
  /** Another server may stand behind the connection: at the next beat everything known is told again. */
  doubt(): void
  stop(): void
}

export interface PulseOptions {
  readonly prepare: PrepareScript
  readonly hear: (heard: Heard) => Promise<void>
  /** Opens the connection anew: one that a black hole swallowed would wait for minutes. */
  readonly reopen: () => void
}

export function createPulse({ prepare, hear, reopen }: PulseOptions): Pulse {
  const run = prepare(BEAT)
  const id = randomUUID()
  const state = { born: '', last: '0', replicas: 1, away: true, doubted: true, missed: 0, stopped: false }
  let timer: NodeJS.Timeout | undefined

  async function beat(): Promise<void> {
    const again = state.doubted
    state.doubted = false
    const reply = (await run(KEYS, [id, SILENT, randomUUID(), state.born, state.last, AT_ONCE])) as Reply
    const [born, replicas, now, news, blocked] = reply
    const forgotten = again || born !== state.born
    state.born = born
    state.replicas = Math.max(1, replicas)
    state.last = news.at(-1)?.[2] ?? state.last
    await hear({ forgotten, news: news.map(readNews), blocked: readBlocked(blocked, now) })
    state.away = false
    state.missed = 0
    if (news.length === AT_ONCE) await beat()
  }

  async function tick(): Promise<void> {
    try {
      await beat()
    } catch {
      state.away = true
      state.doubted = true
      state.missed += 1
      if (state.missed % STUCK === 0) reopen()
    }
    if (state.stopped) return
    timer = setTimeout(() => void tick(), EVERY)
    timer.unref()
  }

  return {
    replicas: () => state.replicas,
    away: () => state.away,
    start: tick,
    doubt() {
      state.doubted = true
    },
    stop() {
      state.stopped = true
      clearTimeout(timer)
    },
  }
}

type News = readonly [of: string, fact: string, place: string]
type Reply = readonly [born: string, replicas: number, now: number, news: readonly News[], blocked: readonly string[]]

function readNews([of, fact]: News): Revocation {
  const [moment = 0, until = 0] = fact.split(' ').map(Number)
  return { key: of, moment: finite(moment), until: finite(until) }
}

/** Whoever can write to Redis can write anything. */
function finite(value: number): number {
  return Number.isFinite(value) ? value : 0
}

function readBlocked(blocked: readonly string[], now: number): (readonly [string, number])[] {
  const pairs: (readonly [string, number])[] = []
  for (let at = 0; at + 1 < blocked.length; at += 2) {
    pairs.push([blocked[at] ?? '', Math.max(0, finite(Number(blocked[at + 1])) - now)])
  }
  return pairs
}
