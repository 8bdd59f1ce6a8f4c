/** JSON bodies of purges through the console API. Times are milliseconds unless named otherwise, sizes are bytes. */

/** What a purge names. Without any name: all entries. At most one name is present. */
export interface PurgeNames {
  readonly group?: string
  readonly endpoint?: string
  readonly tag?: string
  /** At most `maxKeys` of the selection. */
  readonly keys?: readonly string[]
}

/** Body of `POST /api/purge`. */
export interface PurgeRequest extends PurgeNames {
  /** Mark the entries as stale instead of removing them. */
  readonly soft: boolean
  /** Only report what the purge would cost. */
  readonly preview: boolean
  /** Time since the preview whose keys these are. The result counts the entries that were stored after it. */
  readonly previewAge?: number
}

/** What a purge would remove. */
export interface PurgeCost {
  readonly entries: number
  readonly bytes: number
  /** Node time, in seconds, that fetching the entries again would take. */
  readonly seconds: number
  /** Entries that are never served stale: after a soft purge, the next request waits for a node. */
  readonly neverStale: { readonly entries: number; readonly urls: readonly string[] }
}

/** Response of `POST /api/purge`. Of a purge, the cost is that of the entries when it began. */
export interface PurgeResult extends PurgeCost {
  /** Redis is unreachable. The purge is carried out when this replica reaches Redis again. */
  readonly pending: boolean
  /** Named keys without an entry: the entry has expired or was removed. */
  readonly missing: number
  /** Named keys whose entry was stored after the preview. It is purged too. */
  readonly newer: number
}

/** `GET /api/selection`: the entries that match a search, to be purged by key. Takes the filters of `GET /api/entries`. */
export interface Selection {
  /** Number of entries that match. */
  readonly total: number
  /** Number of entries that one selection may have. */
  readonly limit: number
  /** Number of keys that one request may purge. */
  readonly maxKeys: number
  /** Absent if more than `limit` entries match. The cost includes the snapshots that are purged with them. */
  readonly chosen?: { readonly keys: readonly string[]; readonly cost: PurgeCost }
}
