/** What each replica tells of itself for those who look after them all: one short text each, gone soon after its writer. */

import { openClient, RedisConnection } from './connection.ts'
import { DEFAULT_TIMES, type RedisConnectionOptions } from './options.ts'
import { NOW, script } from './scripts.ts'

export interface ReplicaLines {
  /** Writes the text of this replica and gives those of the others, with the milliseconds since; undefined: Redis is away. */
  tell(name: string, text: string): Promise<readonly { readonly text: string; readonly ago: number }[] | undefined>
  close(): void
}

/** Milliseconds that a text lives without its writer. */
const LIFE = 10_000
/** Replicas that are listed at most. */
const MOST = 100
const keys = ['edge:{o}:told', 'edge:{o}:lines']

/** KEYS: names by the time they told, texts. ARGV: name, text, life, most. Gives text and age, in turn, of the others. */
const tellAll = script(
  NOW,
  `
local gone = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[3], 'LIMIT', 0, 64)
if #gone > 0 then
  redis.call('ZREM', KEYS[1], unpack(gone))
  redis.call('HDEL', KEYS[2], unpack(gone))
end
redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2])
for at = 1, 2 do redis.call('PEXPIRE', KEYS[at], 6 * ARGV[3]) end
local names = redis.call('ZRANGEBYSCORE', KEYS[1], now - ARGV[3], '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[4])
local told = {}
for at = 1, #names, 2 do
  if names[at] ~= ARGV[1] then
    told[#told + 1] = redis.call('HGET', KEYS[2], names[at]) or ''
    told[#told + 1] = now - names[at + 1]
  end
end
return told`,
)

/** A connection of its own, so that looking around holds nothing else up. */
export function createReplicaLines(redis: RedisConnectionOptions, time: number): ReplicaLines {
  const link = new RedisConnection(openClient(redis, { ...DEFAULT_TIMES, commandTimeout: time }))
  return {
    async tell(name, text) {
      const reply = await link.runScript<(string | number)[]>(tellAll, keys, [name, text, LIFE, MOST], 5 * time)
      if (!reply.ok) return undefined
      const { value } = reply
      return value.flatMap((each, at) => (at % 2 === 0 ? [{ text: String(each), ago: Number(value[at + 1]) }] : []))
    },
    close: () => link.close(),
  }
}
