/**
 * The index in Redis: for each group the keys by their end, their rows and their hits. Nothing is scanned: a row ends
 * with its time, trimmed as others are added, and a row whose tags were raised since is left out when it is read.
 */
import type { Tag } from '../../catalogue/endpoint.ts'
import type { IndexRow, Mark } from '../../pipeline/kept.ts'
import type { EntryCodec } from '../entry.ts'
import { type Held, lifetime } from '../held.ts'
import { compareMarks } from '../marks.ts'
import { isListed, isNumber, isRecord, isTexts } from './entries.ts'
import type { Link } from './link.ts'
import { names, type Times } from './options.ts'
import { addRow, countHits, forgetRow, pageRows } from './row-scripts.ts'

export interface RowsOptions {
  readonly link: Link
  readonly codec: EntryCodec
  readonly times: Times
  readonly elapsed: () => number
  /** Marks of tags as they are now, for a few tags at a time; undefined: Redis is away. */
  readonly marks: (tags: readonly Tag[]) => Promise<Mark | undefined>
}

/** What no command may exceed: keys of one reply, tags of one look. */
const PAGE = 64
const TAGS = 30
/** Keys whose hits are counted before they are written at once. */
const MOST_HITS = 5000

interface Found {
  readonly row: IndexRow
  readonly generation: string
  readonly epochs: readonly string[]
}

export class Rows {
  readonly #options: RowsOptions
  readonly #hits = new Map<string, Map<string, number>>()
  readonly #timer: NodeJS.Timeout
  #counted = 0

  constructor(options: RowsOptions) {
    this.#options = options
    this.#timer = setInterval(() => void this.flush(), options.times.slow)
    this.#timer.unref()
  }

  async add(key: string, held: Held): Promise<void> {
    const { link, codec, times, elapsed } = this.#options
    const { answer, listed, generation, epochs } = held
    const whole = lifetime(answer)
    const head = { listed, generation, epochs, whole, size: answer.bytes.length, cost: answer.cost }
    const row = codec.encode(`row:${key}`, head, Buffer.alloc(0))
    const left = Math.floor(whole - (elapsed() - held.begun))
    if (left < 1) return
    await Promise.all([
      link.step(times.slow, (client) => client.sadd(names.groups, listed.group)),
      link.run(addRow, names.index(listed.group), [key, row, left], times.slow),
    ])
  }

  count(key: string, group: string): void {
    const hits = this.#hits.get(group) ?? new Map<string, number>()
    const before = hits.get(key)
    this.#hits.set(group, hits.set(key, (before ?? 0) + 1))
    if (before !== undefined) return
    this.#counted += 1
    if (this.#counted > MOST_HITS) void this.flush()
  }

  /** Writes the hits that were counted; those that cannot be written are lost. */
  async flush(): Promise<void> {
    const { link, times } = this.#options
    const counted = [...this.#hits]
    this.#hits.clear()
    this.#counted = 0
    for (const [group, hits] of counted) {
      const pairs = [...hits].flat()
      for (let at = 0; at < pairs.length; at += 2 * PAGE) {
        const reply = await link.run(countHits, names.index(group), pairs.slice(at, at + 2 * PAGE), times.slow)
        if (!reply.ok) return
      }
    }
  }

  async list(group?: string): Promise<IndexRow[]> {
    await this.flush()
    const groups = group === undefined ? await this.#groups() : [group]
    const found = new Map<string, Found>()
    for (const each of groups) for await (const one of this.#pages(each)) found.set(one.row.key, one)
    return this.#valid([...found.values()])
  }

  /** Takes rows out; those of a group that is not known are looked for in each. */
  async drop({ group, key }: { readonly group?: string; readonly key?: string }): Promise<void> {
    const { link, times } = this.#options
    const groups = group === undefined ? await this.#groups() : [group]
    for (const each of groups) {
      if (key !== undefined) await link.run(forgetRow, names.index(each), [key], times.slow)
      else await link.step(times.slow, (client) => client.unlink(...names.index(each)))
    }
  }

  close(): void {
    clearInterval(this.#timer)
  }

  async #groups(): Promise<string[]> {
    const { link, times } = this.#options
    const reply = await link.step(times.slow, (client) => client.smembers(names.groups))
    return reply.ok ? reply.value.sort() : []
  }

  async *#pages(group: string): AsyncGenerator<Found> {
    const { link, times } = this.#options
    for (let offset = 0; ; offset += PAGE) {
      const reply = await link.runForBytes<(Buffer | number)[]>(
        pageRows,
        names.index(group),
        [offset, PAGE],
        times.slow,
      )
      if (!reply.ok || reply.value.length === 0) return
      for (let at = 0; at < reply.value.length; at += 4) {
        const [key, left, row, hits] = reply.value.slice(at, at + 4)
        const found = Buffer.isBuffer(row) ? this.#found(String(key), Number(left), row, Number(hits)) : undefined
        if (found !== undefined) yield found
      }
      if (reply.value.length < 4 * PAGE) return
    }
  }

  #found(key: string, timeLeft: number, bytes: Buffer, hits: number): Found | undefined {
    const head = this.#options.codec.decode(`row:${key}`, bytes)?.head
    if (!isRecord(head) || !isListed(head.listed) || typeof head.generation !== 'string') return undefined
    const { listed, generation, epochs, whole, size, cost } = head
    if (!isTexts(epochs) || !isNumber(whole) || !isNumber(size) || !isNumber(cost)) return undefined
    const row = { ...listed, key, size, age: Math.max(0, whole - timeLeft), timeLeft, hits, cost }
    return { row, generation, epochs }
  }

  /** Those whose tags are as they were. The key's own epoch is not asked for: dropping a key takes its row. */
  async #valid(found: readonly Found[]): Promise<IndexRow[]> {
    const tags = [...new Set(found.flatMap((each) => each.row.tags))]
    const current = new Map<Tag, string>()
    let generation: string | undefined
    for (let at = 0; at < tags.length; at += TAGS) {
      const some = tags.slice(at, at + TAGS)
      const mark = await this.#options.marks(some)
      if (mark === undefined) return []
      generation = mark.generation
      for (const [index, tag] of some.entries()) current.set(tag, mark.epochs[index] ?? '')
    }
    return found.flatMap((each) => {
      const epochs = each.row.tags.map((tag) => current.get(tag) ?? '')
      const before = { generation: each.generation, epochs: each.epochs.map((epoch) => epoch.replace(/\/.*$/, '')) }
      const now = { generation: generation ?? '', epochs, fenced: false }
      return compareMarks(before, now) === 'changed' ? [] : [each.row]
    })
  }
}
