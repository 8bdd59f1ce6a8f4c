import type { DivergenceCheckSettings } from './compare-responses.ts'
import type { SnapshotSettings } from './snapshots/build.ts'

/** What the cache reads of the section `cache` of the settings. A reload may change each of them. */
export interface CacheSettings {
  /** Milliseconds after a write for which reads of replicated data go to the master only. */
  readonly replicationLag: number
  readonly divergenceCheck: DivergenceCheckSettings
  readonly snapshots: SnapshotSettings
}
