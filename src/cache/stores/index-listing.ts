/**
 * One listing of the index. There may be a hundred thousand rows. They are read in pages that block neither Redis nor
 * this process, each requested while the page before is processed.
 */
import type { IndexEntry } from '../../core/response.ts'
import { NOW, script } from '../../redis/scripts.ts'
import {
  APPEND_ROWS,
  IndexRows,
  type IndexRowsOptions,
  ROWS_PER_COMMAND,
  type RowValues,
  VALUES_PER_ROW,
} from './index-rows.ts'

/**
 * Reads a page of rows in the order of their expiry. A row that is added or replaced meanwhile is read (again) later,
 * and no other row is left out because of it. KEYS (of one group): keys by expiry, rows, hits. ARGV: expiry at which
 * the page begins, number of rows with just that expiry to skip, count. Returns a flat list of key, expiry,
 * milliseconds left, row and hits. Fewer rows than `count`: the last page.
 */
const READ_PAGE = script(
  NOW,
  APPEND_ROWS,
  `
local from, past = tonumber(ARGV[1]), ARGV[2]
if from <= now then from, past = '(' .. now, 0 end
return appendRows({}, redis.call('ZRANGEBYSCORE', KEYS[1], from, '+inf', 'WITHSCORES', 'LIMIT', past, ARGV[3]), now)`,
)

/** Where a page begins: at the rows with this expiry, except those that were read already. */
interface PageStart {
  readonly expiry: string
  readonly skip: number
}

export class IndexListing {
  readonly entries: IndexEntry[] = []
  readonly #rows: IndexRows
  /** The place of each key in `entries`: one that is replaced during the listing is read twice. */
  readonly #places = new Map<string, number>()

  constructor(options: IndexRowsOptions, generation: string) {
    this.#rows = new IndexRows(options, generation)
  }

  async read(group: string, onProgress?: (entries: readonly IndexEntry[]) => void): Promise<void> {
    let start: PageStart = { expiry: '0', skip: 0 }
    let next: Promise<RowValues> | undefined = this.#readPage(group, start)
    while (next !== undefined) {
      const values: RowValues = await next
      start = startAfter(start, values)
      next = values.length < VALUES_PER_ROW * ROWS_PER_COMMAND ? undefined : this.#readPage(group, start)
      const { valid } = await this.#rows.check(values)
      for (const entry of valid) this.#put(entry)
      onProgress?.(this.entries)
    }
  }

  #readPage(group: string, { expiry, skip }: PageStart): Promise<RowValues> {
    return this.#rows.read(READ_PAGE, group, [expiry, skip, ROWS_PER_COMMAND])
  }

  #put(entry: IndexEntry): void {
    const place = this.#places.get(entry.key)
    if (place === undefined) this.#places.set(entry.key, this.entries.push(entry) - 1)
    else this.entries[place] = entry
  }
}

/** Many rows may have the expiry of the last one. */
function startAfter({ expiry, skip }: PageStart, values: RowValues): PageStart {
  const last = String(values.at(1 - VALUES_PER_ROW))
  let same = 0
  for (let at = values.length - VALUES_PER_ROW; at >= 0 && String(values[at + 1]) === last; at -= VALUES_PER_ROW) {
    same += 1
  }
  return { expiry: last, skip: last === expiry ? skip + same : same }
}
