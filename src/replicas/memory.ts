/** Reads how full Redis is. */
import type { RedisMemory } from '../core/cache.ts'
import type { RedisReplica } from './replica.ts'

/** Returns the memory of Redis; of a Redis Cluster, the sums over its primaries. Undefined: a primary has not replied. */
export async function readMemory({
  bodies,
  times,
}: Pick<RedisReplica, 'bodies' | 'times'>): Promise<RedisMemory | undefined> {
  const reply = await bodies.send(times.bulkTimeout, () =>
    Promise.all(bodies.primaries.map((primary) => primary.info('memory', 'stats'))),
  )
  return reply.ok ? sumOf(reply.value.map(memoryOf)) : undefined
}

type PrimaryMemory = Omit<RedisMemory, 'fullest'>

function memoryOf(info: string): PrimaryMemory {
  const fields = new Map(info.split('\r\n').map((line) => [line.split(':', 1)[0], line.slice(line.indexOf(':') + 1)]))
  const count = (name: string) => Number(fields.get(name) ?? 0)
  const limit = count('maxmemory')
  return {
    bytes: count('used_memory'),
    ...(limit > 0 && { limit }),
    policy: fields.get('maxmemory_policy') ?? 'unknown',
    evictions: { limit: count('evicted_keys'), expired: count('expired_keys') },
  }
}

function sumOf(primaries: readonly PrimaryMemory[]): RedisMemory {
  const sum = (of: (primary: PrimaryMemory) => number) => primaries.reduce((all, each) => all + of(each), 0)
  const shares = primaries.flatMap(({ bytes, limit }) => (limit === undefined ? [] : [bytes / limit]))
  return {
    bytes: sum(({ bytes }) => bytes),
    ...(shares.length === primaries.length && { limit: sum(({ limit = 0 }) => limit) }),
    ...(shares.length > 0 && { fullest: Math.max(...shares) }),
    policy: [...new Set(primaries.map(({ policy }) => policy))].join(', '),
    evictions: {
      limit: sum(({ evictions }) => evictions.limit),
      expired: sum(({ evictions }) => evictions.expired),
    },
  }
}
