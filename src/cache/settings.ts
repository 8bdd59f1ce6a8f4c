/** What the cache reads of the section `cache` of the settings. A reload may change each of them. */
import type { CacheGroup } from '../contracts/endpoint.ts'

export interface CacheSettings {
  /** Milliseconds after a write for which reads of replicated data go to the master only. */
  readonly replicationLag: number
  readonly divergenceCheck: DivergenceCheckSettings
  readonly snapshots: SnapshotSettings
}

interface DivergenceCheckSettings {
  /** Share of the fresh hits, 0 to 1. */
  readonly sampleRatio: number
  /** Greatest number of comparisons a second; may be below 1. */
  readonly maxPerSecond: number
}

/** Larger collections have no snapshot. */
export interface SnapshotLimits {
  readonly maxRows: number
  readonly maxBytes: number
}

interface SnapshotSettings extends SnapshotLimits {
  /** The cache groups whose collections have snapshots. */
  readonly groups: readonly CacheGroup[]
  /** The maximum of the bytes of all rows in this process, as text. */
  readonly localBytes: number
}
