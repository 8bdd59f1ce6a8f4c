/**
 * What a replica may occupy, in bytes: the process, the local tier, the rows of the index that the console or `GET /cache`
 * reads, and open connections; and what a stored response occupies in Redis. docs/operations.md states it, the Kubernetes
 * manifest has twice the result for the default settings, and `npm run bench:memory` checks it.
 */
export const MiB = 1 << 20

/** The process under load without stored responses. */
export const PROCESS_BYTES = 256 * MiB
/** Bodies in the local tier or rows of snapshots, their overhead, and garbage that is not collected yet. */
export const LOCAL_FACTOR = 2
/** The same where bodies have less than 1 KiB on average: `cache.localBytes` counts less than half of their overhead. */
export const SMALL_BODIES_FACTOR = 3
/** A row of the index in a listing with its search results, and garbage. */
export const ROW_BYTES = 2048
/** An idle keep-alive connection of a client, without and with TLS. */
export const CONNECTION_BYTES = 16 * 1024
export const TLS_CONNECTION_BYTES = 64 * 1024
/** A prepared hit, beside its stored response: what its URL was validated to, and how it is looked up again. */
export const HIT_BYTES = 4 * 1024
/** A stored response in Redis beside its body: its key and its head, its row and its place in the index. */
export const REDIS_ENTRY_BYTES = 2048

export interface Occupied {
  /** `cache.localBytes`. */
  readonly localBytes: number
  /** `cache.snapshots.localBytes`; 0 without snapshots. */
  readonly snapshotBytes: number
  /** Stored responses of all replicas. */
  readonly rows: number
  /** Open connections of clients; absent: few. */
  readonly connections?: number
  readonly tlsConnections?: number
}

export function residentBytes(occupied: Occupied): number {
  const { localBytes, snapshotBytes, rows, connections = 0, tlsConnections = 0 } = occupied
  const stored = LOCAL_FACTOR * (localBytes + snapshotBytes) + ROW_BYTES * rows
  return PROCESS_BYTES + stored + CONNECTION_BYTES * connections + TLS_CONNECTION_BYTES * tlsConnections
}

/** Returns what stored responses occupy in Redis. `bytes`: of a body. */
export function redisBytes(responses: number, bytes: number): number {
  return responses * (bytes + REDIS_ENTRY_BYTES)
}
