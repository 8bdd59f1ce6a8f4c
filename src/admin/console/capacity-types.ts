/** JSON body of `GET /api/capacity`: how full the cache is. Sizes are bytes. */
import type { LocalState, RedisMemory } from '../../core/cache-index.ts'

export interface Capacity {
  /** The local tier of each replica that reports one, this replica first. */
  readonly replicas: readonly { readonly name: string; readonly local: LocalState }[]
  /** Absent: there is no Redis. */
  readonly redis?: RedisCapacity
}

/** What Redis reported in the last seconds. Empty: Redis has not replied. */
export interface RedisCapacity {
  readonly memory?: RedisMemory
  /** Stored responses of all replicas. Those that Redis has evicted are counted until they expire. */
  readonly entries?: number
}
