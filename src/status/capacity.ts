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

const SAMPLE_INTERVAL_MS = 15_000
/** Shares of `maxmemory` with which a Redis that evicts nothing counts as nearly full, and no longer does. */
const NEARLY_FULL_SHARE = 0.9
const NOT_FULL_SHARE = 0.85

/** Samples the counts at intervals until `stop`. */
export class CapacityMonitor {
  readonly #sources: CapacitySources
  readonly #localTrend = new EvictionTrend()
  readonly #redisTrend = new EvictionTrend()
  #redis: RedisCapacity = {}
  #isNearlyFull = false
  readonly #timer: NodeJS.Timeout

  constructor(sources: CapacitySources, interval = SAMPLE_INTERVAL_MS) {
    this.#sources = sources
    this.#timer = setInterval(() => void this.sample(), interval).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  async sample(): Promise<void> {
    const { local, readRedis } = this.#sources
    if (local !== undefined) this.#sampleLocal(local())
    if (readRedis === undefined) return
    this.#redis = await readRedis()
    if (this.#redis.memory !== undefined) this.#sampleRedis(this.#redis.memory)
  }

  readonly current = (): CapacityState => {
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
