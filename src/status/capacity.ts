/** How full the cache is: the local tier of this replica, and Redis, which is asked at a slow pace. */
import type { LocalState } from '../core/cache.ts'
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
}

const SAMPLE_INTERVAL_MS = 15_000

/** Asks Redis at intervals until `stop`. */
export class CapacityMonitor {
  readonly #sources: CapacitySources
  #redis: RedisCapacity = {}
  readonly #timer: NodeJS.Timeout

  constructor(sources: CapacitySources, interval = SAMPLE_INTERVAL_MS) {
    this.#sources = sources
    this.#timer = setInterval(() => void this.sample(), interval).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  async sample(): Promise<void> {
    const { readRedis } = this.#sources
    if (readRedis !== undefined) this.#redis = await readRedis()
  }

  readonly current = (): CapacityState => {
    const { local, readRedis } = this.#sources
    return { ...(local && { local: local() }), ...(readRedis && { redis: this.#redis }) }
  }
}
