/**
 * What a replica may occupy, in bytes: the process, the local tier, and the rows of the index that the console or
 * `GET /cache` reads. docs/operations.md states it, the Kubernetes manifest has twice the result for the default settings,
 * and `npm run bench:memory` checks it.
 */
export const MiB = 1 << 20

/** The process under load without stored responses. */
export const PROCESS_BYTES = 256 * MiB
/** Bodies in the local tier or rows of snapshots, their overhead, and garbage that is not collected yet. */
export const LOCAL_FACTOR = 2
/** A row of the index in a listing with its search results, and garbage. */
export const ROW_BYTES = 2048

export interface Occupied {
  /** `cache.localBytes`. */
  readonly localBytes: number
  /** `cache.snapshots.localBytes`; 0 without snapshots. */
  readonly snapshotBytes: number
  /** Stored responses of all replicas. */
  readonly rows: number
}

export function residentBytes({ localBytes, snapshotBytes, rows }: Occupied): number {
  return PROCESS_BYTES + LOCAL_FACTOR * (localBytes + snapshotBytes) + ROW_BYTES * rows
}
