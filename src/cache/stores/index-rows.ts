/** Rows of the index in Redis: decoding them, and telling those whose tags were invalidated. */
import type { Tag } from '../../catalogue/endpoint.ts'
import type { IndexEntry } from '../../core/response.ts'
import type { RedisReply } from '../../redis/connection.ts'
import { redisKeys } from '../../redis/options.ts'
import type { RedisReplica } from '../../redis/replica.ts'
import type { Script } from '../../redis/scripts.ts'
import type { EntryCodec } from './entry-codec.ts'
import { compareEpochs, INITIAL_EPOCH } from './epochs.ts'
import { isNumber, isRecord, isResponseInfo, isStringArray } from './redis-entries.ts'
import { READ_EPOCHS_OF_TAGS } from './scripts.ts'

/** Rows and tags of one command, which takes Redis some tenths of a millisecond. */
export const ROWS_PER_COMMAND = 256
const TAGS_PER_COMMAND = 1024
/** How often a command is tried: without one page, all pages after it would be missing. */
const MAX_TRIES = 3
/** Values of a row in a reply: key, expiry, time left, row, hits. */
export const VALUES_PER_ROW = 5
/** Texts that are remembered, so that rows share them. Most rows have the same group, endpoint, scope and tags. */
const MAX_SHARED_TEXTS = 4096

/** Lua: appends the five values of each row to `out`. `keys`: keys and expiries in turn. */
export const APPEND_ROWS = `
local function appendRows(out, keys, now)
  if #keys == 0 then return out end
  local names = {}
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
  return out
end`

export type RowValues = readonly (Buffer | number)[]

export interface IndexRowsOptions {
  readonly replica: RedisReplica
  readonly codec: EntryCodec
}

interface DecodedRow {
  readonly entry: IndexEntry
  readonly bytes: Buffer
  readonly generation: string
  readonly epochs: readonly string[]
}

export interface CheckedRows {
  readonly valid: readonly IndexEntry[]
  /** Keys and bytes of the rows that a write has invalidated: they are never valid again. */
  readonly outdated: readonly (readonly [key: string, bytes: Buffer])[]
}

export class IndexRows {
  readonly #options: IndexRowsOptions
  readonly #generation: string
  readonly #shared = new Map<string, string>()

  constructor(options: IndexRowsOptions, generation: string) {
    this.#options = options
    this.#generation = generation
  }

  /** Runs a script on the index of a group. Returns no values if Redis is unreachable. */
  async read(script: Script, group: string, args: readonly (string | number)[]): Promise<RowValues> {
    const { bodies, times } = this.#options.replica
    const reply = await retried(() =>
      bodies.runScriptForBuffers<RowValues>(script, redisKeys.index(group), args, times.bulkTimeout),
    )
    return reply.ok ? reply.value : []
  }

  /** Decodes the values of a reply and reads the current epochs of all tags. Damaged rows are left out. */
  async check(values: RowValues): Promise<CheckedRows> {
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
    const valid: IndexEntry[] = []
    const outdated: [string, Buffer][] = []
    for (const row of rows) {
      // Rows whose epochs could not be read are left out.
      if (!row.entry.tags.every((tag) => epochs.has(tag))) continue
      if (this.#isValid(row, epochs)) valid.push(row.entry)
      else outdated.push([row.entry.key, row.bytes])
    }
    return { valid, outdated }
  }

  #decode(key: string, timeLeft: number, bytes: Buffer, hits: number): DecodedRow | undefined {
    const head = this.#options.codec.decode(`row:${key}`, bytes)?.head
    if (!isRecord(head) || !isResponseInfo(head.listed) || typeof head.generation !== 'string') return undefined
    const { listed, generation, epochs, whole: lifetime, size, cost: fetchTime } = head
    if (!isStringArray(epochs) || !isNumber(lifetime) || !isNumber(size) || !isNumber(fetchTime)) return undefined
    // Written out: a spread of an object that JSON.parse made costs several times as much.
    const { url } = listed
    const group = this.#share(listed.group)
    const endpoint = this.#share(listed.endpoint)
    const scope = this.#share(listed.scope)
    const tags = listed.tags.map((tag) => this.#share(tag))
    const age = Math.max(0, lifetime - timeLeft)
    return {
      entry: { key, url, group, endpoint, scope, tags, size, age, timeLeft, hits, fetchTime },
      bytes,
      generation,
      epochs,
    }
  }

  #share(text: string): string {
    const known = this.#shared.get(text)
    if (known !== undefined) return known
    if (this.#shared.size < MAX_SHARED_TEXTS) this.#shared.set(text, text)
    return text
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

function withoutKeyEpoch(epoch: string): string {
  const slash = epoch.indexOf('/')
  return slash < 0 ? epoch : epoch.slice(0, slash)
}

export async function retried<Value>(run: () => Promise<RedisReply<Value>>): Promise<RedisReply<Value>> {
  let reply = await run()
  for (let tries = 1; !reply.ok && tries < MAX_TRIES; tries += 1) reply = await run()
  return reply
}
