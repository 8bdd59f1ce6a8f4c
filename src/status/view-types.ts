/** What the view of the edge takes and returns. Times are milliseconds unless named otherwise, sizes are bytes. */

import type { PurgeCost, PurgeScope } from '../core/cache-entries.ts'

/** A port for clients, and the contract that they speak there. */
export interface ClientPort {
  readonly contract: 'v3' | 'v4'
  readonly url: string
}

/** `GET /api/explain`, the fields of the public `GET /cache/explain`. */
export type { CacheExplanation } from '../core/cache.ts'

/** What a purge names. Without any name: all entries. At most one name is present. */
export type PurgeNames = Omit<PurgeScope, 'soft'>

/** Body of `POST /api/purge`. */
export interface PurgeRequest extends PurgeNames {
  /** Mark the entries as stale instead of removing them. */
  readonly soft: boolean
  /** Only report what the purge would cost. */
  readonly preview: boolean
}

/** Response of `POST /api/purge`. Of a purge, the cost is that of the entries when it began. */
export interface PurgeResult extends PurgeCost {
  /** Redis is unreachable. The purge is carried out when this replica reaches Redis again. */
  readonly pending: boolean
  /** Named keys without an entry: the entry has expired or was removed. */
  readonly missing: number
}
