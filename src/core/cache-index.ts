/** The index of stored responses. */
import type { Tag } from '../contracts/endpoint.ts'
import type { IndexEntry, IndexPage, IndexWindow, PurgeOutcome, PurgeScope } from './cache-entries.ts'
import type { Lookup } from './stored-response.ts'

/** The index of stored responses, the same through every replica and after a restart. */
export interface CacheIndex {
  /** As a lookup, but neither counted as a hit nor as a use of the stored response. */
  peek(key: string, tags: readonly Tag[]): Promise<Lookup>
  /** Rows of one group, or all, without expired ones. `onProgress` receives the rows that were read so far. */
  list(group?: string, onProgress?: (rows: readonly IndexEntry[]) => void): Promise<readonly IndexEntry[]>
  /**
   * Stored responses by group, in the order of their names, at a cost that does not depend on their number. Responses that
   * a write has invalidated, and a few that have expired, are counted until they are found and removed.
   */
  count(): Promise<ReadonlyMap<string, number>>
  /** Rows without expired and invalidated ones; those of a group have an order of the store. Costs as much as its rows. */
  page(window: IndexWindow): Promise<IndexPage>
  find(key: string): Promise<IndexEntry | undefined>
  /** Removes stored responses. Resolves when no replica serves them any more. */
  purge(what: PurgeScope): Promise<PurgeOutcome>
  /** Returns how many purges, of any replica, this process has received. What it listed before one is outdated. */
  purgeCount(): number
}

/** A stored response as the console shows it. */
export type EntryContents =
  | {
      readonly kind: 'stored'
      readonly etag: string
      readonly encodings: Readonly<Record<string, number>>
      readonly freshFor: number
      readonly fenced: boolean
      readonly local: boolean
      readonly bytes: Buffer
    }
  /** The entry belongs to callers with other permissions. */
  | { readonly kind: 'otherPermissions' }
  | { readonly kind: 'missing' }
