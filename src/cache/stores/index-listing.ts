/**
 * One listing of the index. There may be a hundred thousand rows. They are read in pages that block neither Redis nor
 * this process, each requested while the page before is processed.
 */
import type { IndexEntry } from '../../core/cache-index.ts'
import { NOW, script } from '../../redis/scripts.ts'
import {
  compareWithCurrent,
  type IndexRow,
  type IndexRowsOptions,
  type InvalidationSequence,
  type RememberedRow,
  type RememberedRows,
  readIndex,
  toIndexEntry,
} from './index-rows.ts'

/** Rows of one command, which takes Redis some tenths of a millisecond. */
const KEYS_PER_COMMAND = 256

/**
 * Reads a page of keys in the order of their expiry. A row that is added or replaced meanwhile is read (again) later,
 * and no other row is left out because of it. KEYS (of one group): keys by expiry, rows, hits. ARGV: expiry at which
 * the page begins, number of rows with just that expiry to skip, count. Returns the time, and key, expiry and hits of
 * each row as one JSON text, since the client takes much longer for many values. Fewer rows than `count`: the last page.
 */
const READ_KEYS = script(
  NOW,
  `
local from, past = tonumber(ARGV[1]), ARGV[2]
if from <= now then from, past = '(' .. now, 0 end
local found = redis.call('ZRANGEBYSCORE', KEYS[1], from, '+inf', 'WITHSCORES', 'LIMIT', past, ARGV[3])
if #found == 0 then return {now, '[]'} end
local keys = {}
for at = 1, #found, 2 do keys[#keys + 1] = found[at] end
local hits = redis.call('HMGET', KEYS[3], unpack(keys))
local out = {}
for at = 1, #keys do
  out[#out + 1] = keys[at]
  out[#out + 1] = found[at * 2]
  out[#out + 1] = hits[at] or '0'
end
return {now, cjson.encode(out)}`,
)

/** KEYS as above. ARGV: keys as one JSON text, for the same reason. Returns their rows. */
const READ_ROWS = script(`
return redis.call('HMGET', KEYS[2], unpack(cjson.decode(ARGV[1])))`)

/** Where a page begins: at the rows with this expiry, except those that were read already. */
interface PageStart {
  readonly expiry: string
  readonly skip: number
}

/** A row of a page. `expiry`: milliseconds since 1970 by the clock of Redis. */
interface ListedKey {
  readonly key: string
  readonly expiry: string
  readonly timeLeft: number
  readonly hits: number
  /** Absent if the row was removed meanwhile, or Redis is unreachable. */
  remembered?: RememberedRow
}

export class IndexListing {
  readonly entries: IndexEntry[] = []
  readonly #options: IndexRowsOptions
  readonly #generation: string
  readonly #sequence: string
  readonly #remembered: RememberedRows
  readonly #listing: number

  constructor(options: IndexRowsOptions, { generation, sequence }: InvalidationSequence, remembered: RememberedRows) {
    this.#options = options
    this.#generation = generation
    this.#sequence = `${generation} ${sequence}`
    this.#remembered = remembered
    this.#listing = remembered.beginListing()
  }

  async read(group: string, onProgress?: (entries: readonly IndexEntry[]) => void): Promise<void> {
    let start: PageStart = { expiry: '0', skip: 0 }
    let next: Promise<readonly ListedKey[]> | undefined = this.#readKeys(group, start)
    while (next !== undefined) {
      const page: readonly ListedKey[] = await next
      start = startAfter(start, page)
      next = page.length < KEYS_PER_COMMAND ? undefined : this.#readKeys(group, start)
      await this.#add(group, page)
      onProgress?.(this.entries)
    }
    this.#remembered.forgetOthers(group, this.#listing)
  }

  async #readKeys(group: string, { expiry, skip }: PageStart): Promise<readonly ListedKey[]> {
    const [now, list] = await readIndex(this.#options, READ_KEYS, group, [expiry, skip, KEYS_PER_COMMAND])
    const values: readonly string[] = list === undefined ? [] : JSON.parse(String(list))
    const page: ListedKey[] = []
    for (let at = 0; at < values.length; at += 3) {
      const [key = '', ends = '', hits] = [values[at], values[at + 1], values[at + 2]]
      page.push({ key, expiry: ends, timeLeft: Number(ends) - Number(now), hits: Number(hits) })
    }
    return page
  }

  async #add(group: string, page: readonly ListedKey[]): Promise<void> {
    const rows = this.#remembered.of(group)
    const missing: ListedKey[] = []
    for (const listed of page) {
      const remembered = rows.get(listed.key)
      if (remembered?.expiry === listed.expiry) listed.remembered = remembered
      else missing.push(listed)
    }
    if (missing.length > 0) await this.#readRows(group, missing)
    await this.#compareEpochs(page)
    for (const { remembered, timeLeft, hits } of page) {
      if (remembered === undefined) continue
      if (remembered.listing !== this.#listing) remembered.place = -1
      remembered.listing = this.#listing
      if (remembered.row !== undefined && remembered.comparedAt === this.#sequence) {
        this.#put(remembered, toIndexEntry(remembered.row, timeLeft, hits))
      }
    }
  }

  async #readRows(group: string, missing: readonly ListedKey[]): Promise<void> {
    const rows = this.#remembered.of(group)
    const keys = JSON.stringify(missing.map(({ key }) => key))
    const found = await readIndex(this.#options, READ_ROWS, group, [keys])
    for (const [at, listed] of missing.entries()) {
      const bytes = found[at]
      if (!Buffer.isBuffer(bytes)) continue
      const { key, expiry } = listed
      const row = this.#remembered.decoder.decode(key, bytes)
      const before = rows.get(key)
      // A row that is replaced during the listing keeps its place.
      const place = before === undefined ? { listing: 0, place: -1 } : { listing: before.listing, place: before.place }
      listed.remembered = { expiry, row, comparedAt: '', ...place }
      rows.set(key, listed.remembered)
    }
  }

  /** Compares the rows that were not compared since the last invalidation. Those of unknown epochs remain as they are. */
  async #compareEpochs(page: readonly ListedKey[]): Promise<void> {
    const rows: IndexRow[] = []
    for (const { remembered } of page) {
      if (remembered?.row !== undefined && remembered.comparedAt !== this.#sequence) rows.push(remembered.row)
    }
    if (rows.length === 0) return
    const validityOf = await compareWithCurrent(this.#options, this.#generation, rows)
    for (const { remembered } of page) {
      if (remembered?.row === undefined || remembered.comparedAt === this.#sequence) continue
      const validity = validityOf(remembered.row)
      if (validity === 'valid') remembered.comparedAt = this.#sequence
      if (validity === 'invalidated') remembered.row = undefined
    }
  }

  #put(remembered: RememberedRow, entry: IndexEntry): void {
    if (remembered.place < 0) remembered.place = this.entries.push(entry) - 1
    else this.entries[remembered.place] = entry
  }
}

/** Many rows may have the expiry of the last one. */
function startAfter({ expiry, skip }: PageStart, page: readonly ListedKey[]): PageStart {
  const last = page.at(-1)?.expiry ?? expiry
  let same = 0
  for (let at = page.length - 1; at >= 0 && page[at]?.expiry === last; at -= 1) same += 1
  return { expiry: last, skip: last === expiry ? skip + same : same }
}
