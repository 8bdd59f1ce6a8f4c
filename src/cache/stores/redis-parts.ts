/** Parts of values that are too large for one entry in Redis: one long value would delay all other commands. */
import { redisKeys } from '../../redis/options.ts'
import type { SharedParts } from './contract.ts'
import { isRecord, type RedisEntriesOptions } from './redis-entries.ts'

/** A part that is missing, damaged or of another value is not there. */
export function createRedisParts({ replica, codec, onEvent }: RedisEntriesOptions): SharedParts {
  const { bodies, times } = replica
  return {
    async set(name, id, bytes, ms) {
      const left = Math.floor(ms)
      if (left < 1) return false
      const key = redisKeys.part(name)
      const part = codec.encode(key, { id }, bytes)
      const reply = await bodies.send(times.bulkTimeout, (client) => client.set(key, part, 'PX', left))
      if (!reply.ok && reply.error.startsWith('OOM')) onEvent('full', reply.error)
      return reply.ok
    },
    async get(name, id) {
      const key = redisKeys.part(name)
      const reply = await bodies.send(times.bulkTimeout, (client) => client.getBuffer(key))
      if (!reply.ok || reply.value === null) return undefined
      const decoded = codec.decode(key, reply.value)
      if (decoded === undefined) onEvent('corrupt')
      return isRecord(decoded?.head) && decoded.head.id === id ? decoded.body : undefined
    },
  }
}
