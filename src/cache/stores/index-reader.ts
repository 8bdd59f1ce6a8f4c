/** Reads the index in Redis: all rows, windows and single rows, each at the cost of what is asked. */

import type { IndexEntry, IndexPage, IndexWindow } from '../../core/cache-entries.ts'
import { redisKeys } from '../../replicas/options.ts'
import type { RedisReplica } from '../../replicas/replica.ts'
import type { EntryCodec } from './entry-codec.ts'
import type { InvalidationSequence } from './epoch-reader.ts'
import { countRows, type FoundRow, IndexPages, ROWS_PER_COMMAND } from './index-pages.ts'
import { type RememberedRow, type RememberedRows, RowDecoder } from './index-rows.ts'

/** Commands of one page beyond those for its rows: outdated rows are removed, and the next ones read instead. */
const MAX_FURTHER_READS = 32

interface IndexReaderOptions {
  readonly replica: RedisReplica
  readonly codec: EntryCodec
}

export class IndexReader {
  readonly #options: IndexReaderOptions
  readonly #pages: IndexPages

  constructor(options: IndexReaderOptions, sequence: InvalidationSequence) {
    this.#options = options
    this.#pages = new IndexPages(options.replica, sequence)
  }

  /** Returns all rows of the groups. Each page of keys is requested while the page before is processed. */
  async list(
    groups: readonly string[],
    remembered: RememberedRows,
    onProgress?: (entries: readonly IndexEntry[]) => void,
  ): Promise<readonly IndexEntry[]> {
    const entries: IndexEntry[] = []
    for (const group of groups) {
      const known = remembered.of(group)
      const found = new Map<string, RememberedRow>()
      const places = new Map<string, number>()
      let start = { expiry: '0', skip: 0 }
      const readKeys = () => this.#pages.readKeys(group, start.expiry, start.skip, ROWS_PER_COMMAND)
      let next: Promise<readonly FoundRow[]> | undefined = readKeys()
      while (next !== undefined) {
        const page: readonly FoundRow[] = await next
        start = startAfter(start, page)
        next = page.length < ROWS_PER_COMMAND ? undefined : readKeys()
        await this.#pages.complete(group, page, remembered.decoder, (key) => found.get(key) ?? known?.get(key))
        for (const row of page) {
          if (row.remembered !== undefined) found.set(row.key, row.remembered)
          const entry = this.#pages.entryOf(row)
          if (entry === undefined) continue
          // A row that is replaced during the listing keeps its place.
          const place = places.get(row.key)
          if (place === undefined) places.set(row.key, entries.push(entry) - 1)
          else entries[place] = entry
        }
        onProgress?.(entries)
      }
      remembered.set(group, found)
    }
    return entries
  }

  /**
   * Reads the groups one after the other; the rows of a group are in the order of their expiry. Rows that a write has
   * invalidated are removed.
   */
  async page({ offset, limit }: IndexWindow, groups: readonly string[]): Promise<IndexPage> {
    const counts = await countRows(this.#options.replica, groups)
    const decoder = new RowDecoder(this.#options.codec)
    const rows: IndexEntry[] = []
    let total = [...counts.values()].reduce((sum, count) => sum + count, 0)
    let skip = offset
    let reads = Math.ceil(limit / ROWS_PER_COMMAND) + counts.size + MAX_FURTHER_READS
    for (const [group, count] of counts) {
      let at = skip
      skip = Math.max(0, skip - count)
      for (let isLast = at >= count; !isLast && rows.length < limit && reads > 0; reads -= 1) {
        const wanted = Math.min(ROWS_PER_COMMAND, limit - rows.length)
        const found = await this.#pages.readKeys(group, '0', at, wanted)
        const outdated = await this.#pages.complete(group, found, decoder)
        rows.push(...found.flatMap((row) => this.#pages.entryOf(row) ?? []))
        await this.#pages.remove(group, outdated)
        total -= outdated.length
        at += found.length - outdated.length
        isLast = found.length < wanted
      }
    }
    return { rows, total }
  }

  async find(key: string, groups: readonly string[]): Promise<IndexEntry | undefined> {
    const { bodies, times } = this.#options.replica
    const left = await bodies.send(times.bulkTimeout, (client) => client.pttl(redisKeys.entry(key)))
    if (!left.ok || left.value <= 0) return undefined
    const decoder = new RowDecoder(this.#options.codec)
    const found = await Promise.all(
      groups.map(async (group) => {
        const rows = await this.#pages.readKeys(group, String(left.value), 0, 0, key)
        await this.#pages.complete(group, rows, decoder)
        return rows.flatMap((row) => this.#pages.entryOf(row) ?? [])
      }),
    )
    return found.flat()[0]
  }
}

/** Many rows may have the expiry of the last one. */
function startAfter({ expiry, skip }: { readonly expiry: string; readonly skip: number }, page: readonly FoundRow[]) {
  const last = page.at(-1)?.expiry ?? expiry
  let same = 0
  for (let at = page.length - 1; at >= 0 && page[at]?.expiry === last; at -= 1) same += 1
  return { expiry: last, skip: last === expiry ? skip + same : same }
}
