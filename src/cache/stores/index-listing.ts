/**
 * One reading of the index. There may be a hundred thousand rows: they come in steps that hold neither Redis nor this
 * process up, each one asked for while the one before is looked through.
 */
import type { Tag } from '../../catalogue/endpoint.ts'
import type { IndexEntry } from '../../core/response.ts'
import type { Link, Reply } from '../../redis/connection.ts'
import { names, type Times } from '../../redis/options.ts'
import type { EntryCodec } from './entry-codec.ts'
import { compareMarks, UNRAISED } from './epochs.ts'
import { isListed, isNumber, isRecord, isTexts } from './redis-tier.ts'
import { pageRows } from './response-index.ts'
import { epochsOf } from './scripts.ts'

export interface ListingOptions {
  readonly link: Link
  readonly codec: EntryCodec
  readonly times: Times
}

/** What no command may exceed: rows and tags of one step, some tenths of a millisecond of Redis. */
const PAGE = 256
const TAGS = 1024
/** Times that a step is tried: one that is late says nothing of those behind it. */
const TRIES = 3
/** Values of a row in a reply: key, end, time left, row, hits. */
const WIDTH = 5

type Values = readonly (Buffer | number)[]

/** Where a page begins: with the rows that end then, but for those that were read already. */
interface Place {
  readonly from: string
  readonly past: number
}

interface Found {
  readonly row: IndexEntry
  readonly generation: string
  readonly epochs: readonly string[]
}

export class Listing {
  readonly rows: IndexEntry[] = []
  readonly #options: ListingOptions
  readonly #generation: string
  /** Where each key stands among the rows: one that was kept anew meanwhile comes twice. */
  readonly #places = new Map<string, number>()

  constructor(options: ListingOptions, generation: string) {
    this.#options = options
    this.#generation = generation
  }

  async read(group: string, heard?: (rows: readonly IndexEntry[]) => void): Promise<void> {
    let place: Place = { from: '0', past: 0 }
    let next: Promise<Values> | undefined = this.#page(group, place)
    while (next !== undefined) {
      const values: Values = await next
      place = behind(place, values)
      next = values.length < WIDTH * PAGE ? undefined : this.#page(group, place)
      await this.#take(values)
      heard?.(this.rows)
    }
  }

  /** Empty where Redis is away. */
  async #page(group: string, { from, past }: Place): Promise<Values> {
    const { link, times } = this.#options
    const reply = await patiently(() =>
      link.runForBytes<Values>(pageRows, names.index(group), [from, past, PAGE], times.slow),
    )
    return reply.ok ? reply.value : []
  }

  async #take(values: Values): Promise<void> {
    const found: Found[] = []
    const tags = new Set<Tag>()
    for (let at = 0; at < values.length; at += WIDTH) {
      const bytes = values[at + 3]
      const left = Number(values[at + 2])
      const hits = Number(values[at + 4])
      const one = Buffer.isBuffer(bytes) ? this.#found(String(values[at]), left, bytes, hits) : undefined
      if (one === undefined) continue
      found.push(one)
      for (const tag of one.row.tags) tags.add(tag)
    }
    const epochs = await this.#epochsOf([...tags])
    for (const one of found) if (this.#isValid(one, epochs)) this.#put(one.row)
  }

  #put(row: IndexEntry): void {
    const place = this.#places.get(row.key)
    if (place === undefined) this.#places.set(row.key, this.rows.push(row) - 1)
    else this.rows[place] = row
  }

  #found(key: string, timeLeft: number, bytes: Buffer, hits: number): Found | undefined {
    const head = this.#options.codec.decode(`row:${key}`, bytes)?.head
    if (!isRecord(head) || !isListed(head.listed) || typeof head.generation !== 'string') return undefined
    const { listed, generation, epochs, whole, size, cost } = head
    if (!isTexts(epochs) || !isNumber(whole) || !isNumber(size) || !isNumber(cost)) return undefined
    // Written out: a spread of what JSON made costs several times as much.
    const { url, group, endpoint, scope, tags } = listed
    const age = Math.max(0, whole - timeLeft)
    return {
      row: { key, url, group, endpoint, scope, tags, size, age, timeLeft, hits, fetchTime: cost },
      generation,
      epochs,
    }
  }

  /** Epochs of those tags. What requests know of epochs is left alone: so many would displace it. */
  async #epochsOf(tags: readonly Tag[]): Promise<ReadonlyMap<Tag, string>> {
    const { link, times } = this.#options
    const epochs = new Map<Tag, string>()
    for (let at = 0; at < tags.length; at += TAGS) {
      const some = tags.slice(at, at + TAGS)
      const args = [JSON.stringify(some)]
      const reply = await patiently(() => link.run<(string | null)[]>(epochsOf, [names.coherence], args, times.slow))
      // Of what is not known nothing is shown.
      if (!reply.ok) break
      for (const [index, tag] of some.entries()) epochs.set(tag, reply.value[index] ?? UNRAISED)
    }
    return epochs
  }

  /** Its tags are as they were. The key's own epoch is not asked for: dropping a key takes its row. */
  #isValid({ row, generation, epochs }: Found, current: ReadonlyMap<Tag, string>): boolean {
    const before = { generation, epochs: epochs.map(withoutOwn) }
    const now = { generation: this.#generation, epochs: row.tags.map((tag) => current.get(tag) ?? ''), fenced: false }
    return compareMarks(before, now) !== 'changed'
  }
}

/** The end of the last row; many may end just then. */
function behind({ from, past }: Place, values: Values): Place {
  const last = String(values.at(1 - WIDTH))
  let same = 0
  for (let at = values.length - WIDTH; at >= 0 && String(values[at + 1]) === last; at -= WIDTH) same += 1
  return { from: last, past: last === from ? past + same : same }
}

function withoutOwn(epoch: string): string {
  const slash = epoch.indexOf('/')
  return slash < 0 ? epoch : epoch.slice(0, slash)
}

async function patiently<Value>(step: () => Promise<Reply<Value>>): Promise<Reply<Value>> {
  let reply = await step()
  for (let tries = 1; !reply.ok && tries < TRIES; tries += 1) reply = await step()
  return reply
}
