/** How full the cache is: the local tier of this replica, and Redis, which is asked at a slow pace. */
import type { LocalState } from '../core/cache.ts'
import type { RedisCapacity } from './problem-types.ts'

export interface CapacityState {
  /** Absent: nothing is stored. */
  readonly local?: LocalState
  /** Absent: there is no Redis. */
  readonly redis?: RedisCapacity
}

export type Capacity = ReturnType<typeof watchCapacity>

const SAMPLE_INTERVAL_MS = 15_000

/** Asks Redis at intervals until `stop`. An absent function: nothing is stored, or there is no Redis. */
export function watchCapacity(
  local: (() => LocalState) | undefined,
  readRedis: (() => Promise<RedisCapacity>) | undefined,
  interval: number = SAMPLE_INTERVAL_MS,
) {
  let redis: RedisCapacity = {}
  const sample = async (): Promise<void> => {
    if (readRedis !== undefined) redis = await readRedis()
  }
  const timer = setInterval(() => void sample(), interval).unref()
  return {
    sample,
    current: (): CapacityState => ({ ...(local && { local: local() }), ...(readRedis && { redis }) }),
    stop: () => clearInterval(timer),
  }
}
