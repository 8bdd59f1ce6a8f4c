/**
 * One listing of the index. There may be a hundred thousand rows. They are read in pages that block neither Redis nor
 * this process, each requested while the page before is processed.
 */
import type { Tag } from '../../catalogue/endpoint.ts'
import type { IndexEntry } from '../../core/response.ts'
import type { RedisReply } from '../../redis/connection.ts'
import { redisKeys } from '../../redis/options.ts'
import type { RedisReplica } from '../../redis/replica.ts'
import { NOW, script } from '../../redis/scripts.ts'
import type { EntryCodec } from './entry-codec.ts'
import { compareEpochs, INITIAL_EPOCH } from './epochs.ts'
import { isNumber, isRecord, isResponseInfo, isStringArray } from './redis-entries.ts'
import { READ_EPOCHS_OF_TAGS } from './scripts.ts'

/**
 * Reads a page of rows in the order of their expiry. A row that is added or replaced meanwhile is read (again) later,
 * and no other row is left out because of it. KEYS (of one group): keys by expiry, rows, hits. ARGV: expiry at which
 * the page begins, number of rows with just that expiry to skip, count. Returns a flat list of key, expiry,
 * milliseconds left, row and hits. Fewer rows than `count`: the last page.
 */
const READ_PAGE = script(
  NOW,
  `
local from, past = tonumber(ARGV[1]), ARGV[2]
if from <= now then from, past = '(' .. now, 0 end
local keys = redis.call('ZRANGEBYSCORE', KEYS[1], from, '+inf', 'WITHSCORES', 'LIMIT', past, ARGV[3])
if #keys == 0 then return keys end
local names, out = {}, {}
for at = 1, #keys, 2 do names[#names + 1] = keys[at] end
local rows = redis.call('HMGET', KEYS[2], unpack(names))
local hits = redis.call('HMGET', KEYS[3], unpack(names))
for at = 1, #names do
  out[#out + 1] = names[at]
  out[#out + 1] = keys[at * 2]
  out[#out + 1] = keys[at * 2] - now
  out[#out + 1] = rows[at] or ''
  out[#out + 1] = hits[at] or '0'
end
return out`,
)

/** Rows and tags of one command, which takes Redis some tenths of a millisecond. */
const ROWS_PER_PAGE = 256
const TAGS_PER_COMMAND = 1024
/** How often a command is tried: without one page, all pages after it would be missing. */
const MAX_TRIES = 3
/** Values of a row in a reply: key, expiry, time left, row, hits. */
const VALUES_PER_ROW = 5

export interface IndexListingOptions {
  readonly replica: RedisReplica
  readonly codec: EntryCodec
}

type PageValues = readonly (Buffer | number)[]

/** Where a page begins: at the rows with this expiry, except those that were read already. */
interface PageStart {
  readonly expiry: string
  readonly skip: number
}

interface DecodedRow {
  readonly entry: IndexEntry
  readonly generation: string
  readonly epochs: readonly string[]
}

export class IndexListing {
  readonly entries: IndexEntry[] = []
  readonly #options: IndexListingOptions
  readonly #generation: string
  /** The place of each key in `entries`: one that is replaced during the listing is read twice. */
  readonly #places = new Map<string, number>()

  constructor(options: IndexListingOptions, generation: string) {
    this.#options = options
    this.#generation = generation
  }

  async read(group: string, onProgress?: (entries: readonly IndexEntry[]) => void): Promise<void> {
    let start: PageStart = { expiry: '0', skip: 0 }
    let next: Promise<PageValues> | undefined = this.#readPage(group, start)
    while (next !== undefined) {
      const values: PageValues = await next
      start = startAfter(start, values)
      next = values.length < VALUES_PER_ROW * ROWS_PER_PAGE ? undefined : this.#readPage(group, start)
      await this.#addPage(values)
      onProgress?.(this.entries)
    }
  }

  /** Returns no values if Redis is unreachable. */
  async #readPage(group: string, { expiry, skip }: PageStart): Promise<PageValues> {
    const { bodies, times } = this.#options.replica
    const args = [expiry, skip, ROWS_PER_PAGE]
    const reply = await retried(() =>
      bodies.runScriptForBuffers<PageValues>(READ_PAGE, redisKeys.index(group), args, times.bulkTimeout),
    )
    return reply.ok ? reply.value : []
  }

  async #addPage(values: PageValues): Promise<void> {
    const rows: DecodedRow[] = []
    const tags = new Set<Tag>()
    for (let at = 0; at < values.length; at += VALUES_PER_ROW) {
      const bytes = values[at + 3]
      const timeLeft = Number(values[at + 2])
      const hits = Number(values[at + 4])
      const row = Buffer.isBuffer(bytes) ? this.#decode(String(values[at]), timeLeft, bytes, hits) : undefined
      if (row === undefined) continue
      rows.push(row)
      for (const tag of row.entry.tags) tags.add(tag)
    }
    const epochs = await this.#readEpochs([...tags])
    for (const row of rows) if (this.#isValid(row, epochs)) this.#put(row.entry)
  }

  #put(entry: IndexEntry): void {
    const place = this.#places.get(entry.key)
    if (place === undefined) this.#places.set(entry.key, this.entries.push(entry) - 1)
    else this.entries[place] = entry
  }

  #decode(key: string, timeLeft: number, bytes: Buffer, hits: number): DecodedRow | undefined {
    const head = this.#options.codec.decode(`row:${key}`, bytes)?.head
    if (!isRecord(head) || !isResponseInfo(head.listed) || typeof head.generation !== 'string') return undefined
    const { listed, generation, epochs, whole: lifetime, size, cost: fetchTime } = head
    if (!isStringArray(epochs) || !isNumber(lifetime) || !isNumber(size) || !isNumber(fetchTime)) return undefined
    // Written out: a spread of an object that JSON.parse made costs several times as much.
    const { url, group, endpoint, scope, tags } = listed
    const age = Math.max(0, lifetime - timeLeft)
    return {
      entry: { key, url, group, endpoint, scope, tags, size, age, timeLeft, hits, fetchTime },
      generation,
      epochs,
    }
  }

  /** Reads current epochs without remembering them: they are so many that they would evict those of requests. */
  async #readEpochs(tags: readonly Tag[]): Promise<ReadonlyMap<Tag, string>> {
    const { bodies, times } = this.#options.replica
    const epochs = new Map<Tag, string>()
    for (let at = 0; at < tags.length; at += TAGS_PER_COMMAND) {
      const some = tags.slice(at, at + TAGS_PER_COMMAND)
      const args = [JSON.stringify(some)]
      const reply = await retried(() =>
        bodies.runScript<(string | null)[]>(READ_EPOCHS_OF_TAGS, [redisKeys.epochs], args, times.bulkTimeout),
      )
      // Rows with unknown epochs are left out.
      if (!reply.ok) break
      for (const [index, tag] of some.entries()) epochs.set(tag, reply.value[index] ?? INITIAL_EPOCH)
    }
    return epochs
  }

  /** Compares the epochs of the tags. That of the key is not needed: a purge of a key removes its row. */
  #isValid({ entry, generation, epochs }: DecodedRow, current: ReadonlyMap<Tag, string>): boolean {
    const before = { generation, epochs: epochs.map(withoutKeyEpoch) }
    const now = { generation: this.#generation, epochs: entry.tags.map((tag) => current.get(tag) ?? ''), fenced: false }
    return compareEpochs(before, now) !== 'changed'
  }
}

/** Many rows may have the expiry of the last one. */
function startAfter({ expiry, skip }: PageStart, values: PageValues): PageStart {
  const last = String(values.at(1 - VALUES_PER_ROW))
  let same = 0
  for (let at = values.length - VALUES_PER_ROW; at >= 0 && String(values[at + 1]) === last; at -= VALUES_PER_ROW) {
    same += 1
  }
  return { expiry: last, skip: last === expiry ? skip + same : same }
}

function withoutKeyEpoch(epoch: string): string {
  const slash = epoch.indexOf('/')
  return slash < 0 ? epoch : epoch.slice(0, slash)
}

async function retried<Value>(run: () => Promise<RedisReply<Value>>): Promise<RedisReply<Value>> {
  let reply = await run()
  for (let tries = 1; !reply.ok && tries < MAX_TRIES; tries += 1) reply = await run()
  return reply
}
