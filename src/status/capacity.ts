/** How full the cache is: the local tier of this replica, and Redis, which is asked at a slow pace. */
import type { LocalState, RedisMemory } from '../core/cache.ts'
import { EvictionTrend } from './eviction-trend.ts'
import type { RedisCapacity } from './problem-types.ts'

interface CapacitySources {
  /** Absent: nothing is stored. */
  readonly local?: (() => LocalState) | undefined
  /** Absent: there is no Redis. */
  readonly readRedis?: (() => Promise<RedisCapacity>) | undefined
}

export interface CapacityState {
  readonly local?: LocalState
  /** Absent: there is no Redis. */
  readonly redis?: RedisCapacity
  /** What is too small: the local tier evicts steadily, Redis does, or Redis will soon refuse to store. */
  readonly shortages: readonly ('localTierEvicting' | 'redisEvicting' | 'redisNearlyFull')[]
}

export interface CapacityMonitor {
  current(): CapacityState
  /** Samples now, and not only with the next interval. */
  sample(): void
  stop(): void
}

const SAMPLE_INTERVAL_MS = 15_000
/** Shares of `maxmemory` with which a Redis that evicts nothing counts as nearly full, and no longer does. */
const NEARLY_FULL_SHARE = 0.9
const NOT_FULL_SHARE = 0.85

/** Samples the counts until `stop`. */
export function createCapacityMonitor(sources: CapacitySources, interval = SAMPLE_INTERVAL_MS): CapacityMonitor {
  const table = new CapacityTable(sources)
  const timer = setInterval(() => void table.sample(), interval).unref()
  return { current: () => table.current, sample: () => void table.sample(), stop: () => clearInterval(timer) }
}

class CapacityTable {
  readonly #sources: CapacitySources
  readonly #localTrend = new EvictionTrend()
  readonly #redisTrend = new EvictionTrend()
  #redis: RedisCapacity = {}
  #isNearlyFull = false

  constructor(sources: CapacitySources) {
    this.#sources = sources
  }

  async sample(): Promise<void> {
    const { local, readRedis } = this.#sources
    if (local !== undefined) this.#sampleLocal(local())
    if (readRedis === undefined) return
    this.#redis = await readRedis()
    if (this.#redis.memory !== undefined) this.#sampleRedis(this.#redis.memory)
  }

  get current(): CapacityState {
    const { local, readRedis } = this.#sources
    return {
      ...(local && { local: local() }),
      ...(readRedis && { redis: this.#redis }),
      shortages: [
        ...(this.#localTrend.isSteady ? (['localTierEvicting'] as const) : []),
        ...(this.#redisTrend.isSteady ? (['redisEvicting'] as const) : []),
        ...(this.#isNearlyFull ? (['redisNearlyFull'] as const) : []),
      ],
    }
  }

  #sampleLocal({ entries, evictions }: LocalState): void {
    const removed = Object.values(evictions).reduce((sum, count) => sum + count, 0)
    this.#localTrend.sample({ evicted: evictions.limit, added: entries + removed })
  }

  /** Redis does not count the keys that are added. Each eviction of the last five minutes counts. */
  #sampleRedis({ policy, fullest = 0, evictions: { limit } }: RedisMemory): void {
    this.#redisTrend.sample({ evicted: limit, added: limit })
    const share = this.#isNearlyFull ? NOT_FULL_SHARE : NEARLY_FULL_SHARE
    this.#isNearlyFull = policy.includes('noeviction') && fullest >= share
  }
}
