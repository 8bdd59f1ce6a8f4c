/** Rows of the index in Redis, as Redis stores them and as this process remembers them. */

import { isObject, isStringArray } from '../../core/values.ts'
import type { StoredResponseInfo } from './contract.ts'
import type { EntryCodec } from './entry-codec.ts'
import { isNumber, isResponseInfo } from './redis-entries.ts'

/** Texts that are remembered, so that rows share them. Most rows have the same group, endpoint, scope and tags. */
const MAX_SHARED_TEXTS = 4096

/** What Redis stores of a response in the index. Ages follow from its lifetime and the time that it has left. */
export interface IndexRow extends StoredResponseInfo {
  readonly key: string
  /** Bytes of the body. */
  readonly size: number
  /** Milliseconds. */
  readonly fetchTime: number
  /** Milliseconds for which the response is stored. */
  readonly lifetime: number
  readonly generation: string
  /** The epochs of the tags, without that of the key: a purge of a key removes its row. */
  readonly epochs: readonly string[]
}

/** Decodes rows. Equal texts and lists of decoded rows are one object. */
export class RowDecoder {
  readonly #codec: EntryCodec
  readonly #texts = new Map<string, string>()
  readonly #lists = new Map<string, readonly string[]>()

  constructor(codec: EntryCodec) {
    this.#codec = codec
  }

  /** Returns undefined for a row that is damaged, or that another version of the edge wrote. */
  decode(key: string, bytes: Buffer): IndexRow | undefined {
    const head = this.#codec.decodeHead(`row:${key}`, bytes)
    if (!isObject(head) || !isResponseInfo(head.listed) || typeof head.generation !== 'string') return undefined
    const { listed, epochs, whole: lifetime, size, cost: fetchTime } = head
    if (!isStringArray(epochs) || !isNumber(lifetime) || !isNumber(size) || !isNumber(fetchTime)) return undefined
    // Written out: a spread of an object that JSON.parse made costs several times as much.
    const { url } = listed
    const group = this.#share(listed.group)
    const endpoint = this.#share(listed.endpoint)
    const scope = this.#share(listed.scope)
    const generation = this.#share(head.generation)
    const tags = listed.tags.map((tag) => this.#share(tag))
    const shared = this.#shareList(epochs)
    return { key, url, group, endpoint, scope, tags, size, fetchTime, lifetime, generation, epochs: shared }
  }

  #share(text: string): string {
    const known = this.#texts.get(text)
    if (known !== undefined) return known
    if (this.#texts.size < MAX_SHARED_TEXTS) this.#texts.set(text, text)
    return text
  }

  #shareList(epochs: readonly string[]): readonly string[] {
    const text = epochs.join(' ')
    const known = this.#lists.get(text)
    if (known !== undefined) return known
    const list = epochs.map(withoutKeyEpoch)
    if (this.#lists.size < MAX_SHARED_TEXTS) this.#lists.set(text, list)
    return list
  }
}

function withoutKeyEpoch(epoch: string): string {
  const slash = epoch.indexOf('/')
  return slash < 0 ? epoch : epoch.slice(0, slash)
}

export interface RememberedRow {
  /** Milliseconds since 1970 by the clock of Redis, as Redis returns them. */
  readonly expiry: string
  /** Undefined for a row that is damaged or that a write has invalidated: it is not listed while its expiry is the same. */
  row: IndexRow | undefined
  /** Generation and sequence of invalidations up to which the row is valid. */
  comparedAt: string
}

const IDLE_MS = 60_000

/**
 * The decoded rows of the last listing. The next listing reads from Redis only the keys, their expiry and their hits,
 * and decodes the rows that were added or replaced since. A replaced row has another expiry, unless
 * both responses were fetched within the same millisecond.
 */
export class RememberedRows {
  readonly #codec: EntryCodec
  readonly #idleTime: number
  readonly #rows = new Map<string, ReadonlyMap<string, RememberedRow>>()
  #decoder: RowDecoder
  #idleTimer: NodeJS.Timeout | undefined

  /** `idleTime`: milliseconds without a listing after which the rows are discarded. */
  constructor(codec: EntryCodec, idleTime = IDLE_MS) {
    this.#codec = codec
    this.#idleTime = idleTime
    this.#decoder = new RowDecoder(codec)
  }

  get decoder(): RowDecoder {
    return this.#decoder
  }

  of(group: string): ReadonlyMap<string, RememberedRow> | undefined {
    return this.#rows.get(group)
  }

  /** Replaces the rows of a group by those that a listing has found. */
  set(group: string, rows: ReadonlyMap<string, RememberedRow>): void {
    if (rows.size > 0) this.#rows.set(group, rows)
    else this.#rows.delete(group)
    clearTimeout(this.#idleTimer)
    this.#idleTimer = setTimeout(() => this.discard(), this.#idleTime)
    this.#idleTimer.unref()
  }

  discard(): void {
    clearTimeout(this.#idleTimer)
    this.#rows.clear()
    this.#decoder = new RowDecoder(this.#codec)
  }
}
