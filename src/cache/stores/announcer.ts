/**
 * Sends changes of epochs and fences to Redis, and waits until no replica can serve older data: every replica has
 * acknowledged the invalidation, or its lease has expired.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Tag } from '../../contracts/endpoint.ts'
import { type RedisReply, TIMED_OUT } from '../../replicas/connection.ts'
import { type OnStoreEvent, type RedisTimes, redisChannels, redisKeys } from '../../replicas/options.ts'
import type { RedisReplica } from '../../replicas/replica.ts'
import { GENERATION, GENERATION_AGE, LEASES, NOW, script } from '../../replicas/scripts.ts'
import type { Acknowledgements } from './acknowledgements.ts'
import type { KnownEpochs } from './known-epochs.ts'

/** A lease may last this many times longer by the clock of another machine. */
const CLOCK_DRIFT = 1.05

/** One atomic change: tags to invalidate, and tags to fence or to free from the fence `id`. */
export interface EpochChange {
  readonly bump: readonly Tag[]
  readonly fence?: readonly Tag[]
  readonly lift?: readonly Tag[]
  readonly id?: string
  /** Milliseconds that the fence lasts. */
  readonly lease?: number
  readonly soft?: boolean
}

export interface AnnounceOptions {
  readonly replica: RedisReplica
  readonly known: KnownEpochs
  readonly acknowledgements: Acknowledgements
  readonly onEvent: OnStoreEvent
}

/** Milliseconds after which the local tier of every replica that cannot reach Redis has expired. */
export function lastLeaseOf({ lease }: RedisTimes): number {
  return lease * CLOCK_DRIFT
}

/**
 * Sends a change for at most `ms` milliseconds, then waits for the other replicas. A late reply is awaited all the
 * time. Without a connection, or while Redis refuses commands, the change is sent again for one lease. Returns false
 * if Redis has not confirmed the change; it may have recorded it.
 */
export async function announce(options: AnnounceOptions, change: EpochChange, ms: number): Promise<boolean> {
  const { onEvent, replica } = options
  const { elapsed, times, contact } = replica
  const deadline = elapsed() + ms
  let refusedSince: number | undefined
  for (;;) {
    const sentAt = elapsed()
    const reply = await sendChange(options, change, Math.max(1, deadline - sentAt))
    if (reply.ok) {
      if (change.bump.length > 0) await waitForReplicas(options, reply.value)
      return true
    }
    // A connection that was cut while the reply was awaited is another fault than one that is refused.
    if (elapsed() - sentAt > times.lease) refusedSince = undefined
    refusedSince ??= contact.refusedSince ?? elapsed()
    const until = reply === TIMED_OUT ? deadline : Math.min(deadline, refusedSince + lastLeaseOf(times))
    const left = until - elapsed()
    if (left <= 0) {
      onEvent('unconfirmed', reply.error)
      return false
    }
    await sleep(Math.min(left, times.retryInterval / 2))
  }
}

/** Sends a change once, and waits at most `ms` milliseconds for the reply of BUMP_EPOCHS. */
export async function sendChange(
  { known, replica }: AnnounceOptions,
  change: EpochChange,
  ms: number,
): Promise<RedisReply<(string | number)[]>> {
  const { contact } = replica
  known.invalidate(change.bump)
  const whole = { fence: [], lift: [], id: '', lease: 0, soft: false, ...change }
  // A node may name half a surrogate pair. cjson rejects it: the script would fail forever.
  const args = [randomUUID(), redisChannels.invalidations, replica.id, JSON.stringify(whole, toWellFormed)]
  const reply = await replica.commands.runScript<(string | number)[]>(BUMP_EPOCHS, [redisKeys.epochs], args, ms)
  // Reads that Redis answered before this script may have ended meanwhile, with older epochs.
  known.invalidate(change.bump)
  if (reply.ok) contact.observeGeneration(String(reply.value[0]))
  else contact.reportReply(reply)
  return reply
}

/** `value`: the reply of BUMP_EPOCHS. */
async function waitForReplicas(
  { replica, acknowledgements, onEvent }: AnnounceOptions,
  [generation, sequence, age, ...leases]: readonly (string | number)[],
): Promise<void> {
  const { elapsed, times } = replica
  // When Redis loses its data, registrations are lost at once, but local tiers are served until their leases expire.
  const unregisteredUntil = elapsed() + (times.lease - Number(age)) * CLOCK_DRIFT
  const others = new Map<string, number>()
  for (let at = 0; at < leases.length; at += 2) others.set(String(leases[at]), Number(leases[at + 1]) * CLOCK_DRIFT)
  others.delete(replica.id)
  const invalidation = { generation: String(generation), sequence: Number(sequence) }
  if (!(await acknowledgements.wait(invalidation, others))) onEvent('unacknowledged')
  const left = unregisteredUntil - elapsed()
  if (left > 0) await sleep(left)
}

function toWellFormed(_: string, value: unknown): unknown {
  return typeof value === 'string' ? Buffer.from(value).toString() : value
}

/**
 * Increments epochs, adds and removes write fences, and publishes the invalidation. KEYS: hash. ARGV: new random part
 * of the generation, channel, id of the writer, JSON of {bump, fence, lift, id, lease, soft}. Returns generation,
 * sequence, age of the generation in milliseconds, then the id and the remaining lease of each other replica.
 */
const BUMP_EPOCHS = script(
  NOW,
  GENERATION,
  GENERATION_AGE,
  LEASES,
  `
local want = cjson.decode(ARGV[4])
local known = redis.call('HMGET', KEYS[1], 'g', 'b')
local current = generation(known[1])
local age = generationAge(current, known[2])
for _, tag in ipairs(want.bump) do
  local writes, soft = string.match(redis.call('HGET', KEYS[1], 't:' .. tag) or '', '^(%d+)~(%d+)$')
  writes, soft = tonumber(writes or '0'), tonumber(soft or '0')
  if want.soft then soft = soft + 1 else writes = writes + 1 end
  redis.call('HSET', KEYS[1], 't:' .. tag, string.format('%.0f~%.0f', writes, soft))
end
local function fence(tag, more)
  local field = 'f:' .. tag
  local text = unexpired(redis.call('HGET', KEYS[1], field), want.id, now) .. more
  if text == '' then redis.call('HDEL', KEYS[1], field) else redis.call('HSET', KEYS[1], field, text) end
end
for _, tag in ipairs(want.lift) do fence(tag, '') end
for _, tag in ipairs(want.fence) do fence(tag, want.id .. '=' .. string.format('%.0f', now + want.lease) .. ';') end
local sequence = redis.call('HGET', KEYS[1], 'q') or '0'
if #want.bump > 0 then
  sequence = redis.call('HINCRBY', KEYS[1], 'q', 1)
  redis.call('PUBLISH', ARGV[2], cjson.encode({g = current, q = tostring(sequence), w = ARGV[3], tags = want.bump}))
end
local out = {current, tostring(sequence), age}
for name, till in string.gmatch(redis.call('HGET', KEYS[1], 'r') or '', '([^=;]+)=(%d+);') do
  if name ~= ARGV[3] and tonumber(till) > now then
    out[#out + 1] = name
    out[#out + 1] = tonumber(till) - now
  end
end
return out`,
)
