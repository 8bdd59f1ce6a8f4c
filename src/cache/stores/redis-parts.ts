/** Values in Redis: written until a time of this replica, and the parts of those that are too long for one key. */
import { isObject } from '../../core/values.ts'
import { type OnStoreEvent, redisChannels, redisKeys } from '../../replicas/options.ts'
import type { RedisReplica } from '../../replicas/replica.ts'
import { scriptWithinMemory } from '../../replicas/scripts.ts'
import type { SharedLock, SharedParts } from './contract.ts'
import type { EntryCodec } from './entry-codec.ts'
import { RELEASE } from './locks.ts'

export interface RedisValuesOptions {
  readonly replica: RedisReplica
  readonly codec: EntryCodec
  readonly onEvent: OnStoreEvent
}

/**
 * KEYS: a value, and the lock to be released, if any. ARGV: bytes, milliseconds; of an entry also the channel and message to be
 * published, then token, channel and name of its lock.
 */
const WRITE_VALUE = scriptWithinMemory(
  RELEASE,
  `
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
if ARGV[3] then redis.call('PUBLISH', ARGV[3], ARGV[4]) end
if KEYS[2] then release(KEYS[2], unpack(ARGV, 5)) end
return 1`,
)

/** The other replicas receive the key of the entry. `lock`: the script that stores the entry releases it, if both are in one slot. */
interface WrittenEntry {
  readonly key: string
  readonly lock?: SharedLock | undefined
}

/** Stores a value until this time of the replica, in milliseconds. Returns whether Redis stored it. */
export async function writeValue(
  { replica: { bodies, times, elapsed, id }, onEvent }: RedisValuesOptions,
  name: string,
  bytes: Buffer,
  until: number,
  entry?: WrittenEntry,
): Promise<boolean> {
  const left = Math.floor(until - elapsed())
  if (left < 1) return false
  const lock = entry?.lock?.entry === name ? entry.lock : undefined
  const message = entry === undefined ? [] : [redisChannels.replacements, `${id} ${entry.key}`]
  const keys = lock === undefined ? [name] : [name, lock.key]
  const released = lock === undefined ? [] : [lock.token, redisChannels.locks, lock.name]
  const reply = await bodies.runScript(WRITE_VALUE, keys, [bytes, left, ...message, ...released], times.bulkTimeout)
  if (reply.ok) lock?.end()
  if (!reply.ok && reply.error.startsWith('OOM')) onEvent('full', reply.error)
  return reply.ok
}

/**
 * A long value would delay all other commands, and the connection would copy it in one turn of the event loop. A part that is
 * missing, damaged or of another value is not there.
 */
export function createRedisParts(options: RedisValuesOptions) {
  const { replica, codec, onEvent } = options
  const { bodies, times, elapsed } = replica
  const read = async (key: string, id: string, ms: number): Promise<Buffer | undefined> => {
    const reply = await bodies.send(ms, (client) => client.getBuffer(key))
    if (!reply.ok || reply.value === null) return undefined
    const decoded = await codec.decode(key, reply.value)
    if (decoded === undefined) onEvent('corrupt')
    return isObject(decoded?.head) && decoded.head.id === id ? decoded.body : undefined
  }
  const shared: SharedParts = {
    async set(name, id, parts, ms) {
      const until = elapsed() + ms
      for (const [at, part] of parts.entries()) {
        const key = partKey(name, at)
        if (!(await writeValue(options, key, await codec.encode(key, { id }, part), until))) return false
      }
      return true
    },
    async get(name, id, count, { timeout = times.bulkTimeout, atOnce = 1 } = {}) {
      const parts: Buffer[] = []
      for (let at = 0; at < count; at += atOnce) {
        const keys = Array.from({ length: Math.min(atOnce, count - at) }, (_, next) => partKey(name, at + next))
        for (const part of await Promise.all(keys.map((key) => read(key, id, timeout)))) {
          if (part === undefined) return undefined
          parts.push(part)
        }
      }
      return parts
    },
  }
  /** Deletes the parts with this name, up to the first that is missing. On a Redis Cluster, each is in another slot. */
  const remove = async (name: string): Promise<void> => {
    for (let at = 0; ; at += 1) {
      const reply = await bodies.send(times.bulkTimeout, (client) => client.unlink(partKey(name, at)))
      if (!reply.ok || reply.value === 0) return
    }
  }
  return { ...shared, remove }
}

function partKey(name: string, at: number): string {
  return redisKeys.part(`${name}:${at}`)
}
