/**
 * The `/cache` endpoints over whatever keeps answers. Shapes are the seed's; the store's client is named
 * `redisClient` on the wire, as the real API does.
 */
import type { Answer, Handle } from '../ports.ts'

/** What the operations need to know of kept answers. */
export interface KeptAnswers {
  index(): Promise<{ readonly all: readonly string[]; readonly groups: Readonly<Record<string, readonly string[]>> }>
  /** Absent: everything. An unknown group is no error. */
  clear(group?: string): Promise<void>
  /** Milliseconds. */
  readonly defaultDuration: number
  readonly enabled: boolean
  readonly sharedThroughRedis: boolean
}

/** Keeps nothing: what stands here while no cache is configured. */
export const nothingKept: KeptAnswers = {
  index: async () => ({ all: [], groups: {} }),
  clear: async () => {},
  defaultDuration: 0,
  enabled: false,
  sharedThroughRedis: false,
}

type CacheOperation = 'cacheIndex' | 'cacheClear' | 'cacheClearGroup' | 'cacheConfig'

export function cacheOperations(kept: KeptAnswers): Readonly<Record<CacheOperation, Handle>> {
  const index: Handle = async () => json(await kept.index())
  return {
    cacheIndex: index,
    cacheClear: async (ask) => {
      await kept.clear()
      return index(ask)
    },
    cacheClearGroup: async (ask) => {
      await kept.clear(ask.params.group ?? '')
      return index(ask)
    },
    cacheConfig: async () =>
      json({
        debug: false,
        defaultDuration: kept.defaultDuration,
        enabled: kept.enabled,
        appendKey: [],
        jsonp: false,
        redisClient: kept.sharedThroughRedis,
      }),
  }
}

function json(data: unknown): Answer {
  return { kind: 'json', status: 200, bytes: Buffer.from(JSON.stringify({ error: 0, data })) }
}
