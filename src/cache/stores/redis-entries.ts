/** Stored bytes in Redis, and the checks of what another program may have written there. */
import { randomUUID } from 'node:crypto'
import { concatOwn } from '../../core/long-values.ts'
import { STORED_FIELDS, StoredForms, type StoredKind, type StoredTimes } from '../../core/stored-response.ts'
import { isObject, isStringArray, ownField } from '../../core/values.ts'
import { type OnStoreEvent, redisKeys } from '../../replicas/options.ts'
import { InFlightMap } from '../in-flight-map.ts'
import type { BytesKey, SharedLock, StoredResponseInfo } from './contract.ts'
import type { DecodedEntry } from './entry-codec.ts'
import { EntryReader } from './entry-reader.ts'
import { areEqual, type LocalEntry, storageLifetime } from './local-entries.ts'
import { createRedisParts, type RedisValuesOptions, writeValue } from './redis-parts.ts'

/**
 * A longer body is stored in parts. ioredis copies a value in one turn of the event loop, when it is written and when it was
 * read: a value of this length in about a millisecond.
 */
const MAX_VALUE_BYTES = 1024 * 1024
const NO_BODY = Buffer.alloc(0)

/** The parts of a body. `id`: of this body, so that parts of two bodies are never mixed. */
interface BodyParts {
  readonly id: string
  readonly count: number
}

/** Entries in Redis. Their age follows from the time that they have left, not from a wall clock. */
export class RedisEntries {
  /** Of snapshots too. */
  readonly parts: ReturnType<typeof createRedisParts>
  readonly #options: RedisValuesOptions
  readonly #values: EntryReader
  /** The generation of the last entry: entries of the same one share the text, which takes 100 bytes in each of them. */
  #generation = ''
  /** The newest entry of each key that is being written. */
  readonly #written = new InFlightMap<LocalEntry>()

  constructor(options: RedisValuesOptions) {
    this.#options = options
    this.parts = createRedisParts(options)
    this.#values = new EntryReader(options.replica)
  }

  /** Undefined: there is no entry, it is damaged or incomplete, or Redis did not answer in time. */
  async get(key: string): Promise<LocalEntry | undefined> {
    const { codec, onEvent } = this.#options
    const name = redisKeys.entry(key)
    const found = await this.#values.read(key)
    if (found === undefined) return undefined
    const { bytes, left, start } = found
    const decoded = await codec.decode(name, bytes)
    const parts = partsNamedIn(decoded?.head)
    const body = parts === undefined ? decoded?.body : await this.#readParts(key, parts)
    // A part was evicted, or is one of a newer entry.
    if (parts !== undefined && body === undefined) return undefined
    const entry = decoded && body && decodeEntry(key, { head: decoded.head, body })
    if (entry === undefined) return reportCorrupt(onEvent)
    const lifetime = storageLifetime(entry.stored)
    // The edge never writes an entry that does not expire, or expires later than its own lifetime.
    if (left < 0 || left > lifetime) return reportCorrupt(onEvent)
    if (entry.generation !== this.#generation) this.#generation = entry.generation
    const fetchedAt = start - (lifetime - left)
    return { fetchedAt, expiresAt: fetchedAt + lifetime, ...entry, generation: this.#generation }
  }

  /**
   * Returns whether Redis stored the entry, or one that was written later. Older entries in other local tiers are valid, but a
   * client that read the newer one must not read the older one: the other replicas get the key with the entry. `lock`: the fetch
   * lock of the entry, which Redis releases in the same step if it can.
   */
  async set(key: string, entry: LocalEntry, lock?: SharedLock): Promise<boolean> {
    const until = entry.fetchedAt + storageLifetime(entry.stored)
    const isNewest = () => this.#written.get(key) === entry
    this.#written.set(key, entry)
    try {
      const name = redisKeys.entry(key)
      const { body } = entry.stored
      const parts = partsOf(body)
      if (parts !== undefined && !(await this.#writeParts(key, parts, body, until))) return false
      // A long entry takes longer to encode than a short one that replaces it.
      const bytes = await this.#options.codec.encode(name, encodeHead(entry, parts), parts ? NO_BODY : body)
      return isNewest() ? await writeValue(this.#options, name, bytes, until, { key, lock }) : true
    } finally {
      if (isNewest()) this.#written.delete(key)
    }
  }

  /** The parts take the place of those of the entry before. */
  #writeParts(key: string, { id, count }: BodyParts, body: Buffer, until: number): Promise<boolean> {
    const parts = Array.from({ length: count }, (_, at) =>
      body.subarray(at * MAX_VALUE_BYTES, (at + 1) * MAX_VALUE_BYTES),
    )
    return this.parts.set(bodyName(key), id, parts, until - this.#options.replica.elapsed())
  }

  async #readParts(key: string, { id, count }: BodyParts): Promise<Buffer | undefined> {
    const { commandTimeout } = this.#options.replica.times
    const parts = await this.parts.get(bodyName(key), id, count, { timeout: commandTimeout })
    return parts && concatOwn(parts)
  }

  /** One command for each key: on a Redis Cluster, they are in different slots. */
  async delete(keys: readonly string[]): Promise<void> {
    const { bodies, times } = this.#options.replica
    const removeEntry = (key: string) => bodies.send(times.bulkTimeout, (client) => client.unlink(redisKeys.entry(key)))
    await Promise.all(keys.flatMap((key) => [removeEntry(key), this.parts.remove(bodyName(key))]))
  }
}

function reportCorrupt(onEvent: OnStoreEvent): undefined {
  onEvent('corrupt')
  return undefined
}

const IS_OF_TYPE = { number: isNumber, text: isFieldValue }

/** The names of snapshots, which have parts too, begin with another word. */
function bodyName(key: string): string {
  return `body:${key}`
}

function partsOf({ length }: Buffer): BodyParts | undefined {
  return length > MAX_VALUE_BYTES ? { id: randomUUID(), count: Math.ceil(length / MAX_VALUE_BYTES) } : undefined
}

function partsNamedIn(head: unknown): BodyParts | undefined {
  const parts = ownField(head, 'parts')
  return isObject(parts) && typeof parts.id === 'string' && isNumber(parts.count)
    ? { id: parts.id, count: parts.count }
    : undefined
}

/** Returns the JSON head of an entry. `parts`: of its body, which is not behind the head then. */
function encodeHead({ stored, generation, epochs, tags, info }: LocalEntry, parts: BodyParts | undefined): unknown {
  const { kind } = stored
  const fields: Record<string, unknown> = {}
  for (const name in STORED_FIELDS[kind]) fields[name] = Reflect.get(stored, name)
  return { generation, epochs, tags, info, kind, fields, parts }
}

/** Returns undefined for a head of another shape. */
function decodeEntry(
  key: string,
  { head, body }: DecodedEntry,
): Omit<LocalEntry, 'fetchedAt' | 'expiresAt'> | undefined {
  if (!isObject(head)) return undefined
  const { generation, epochs, tags, info, kind, fields } = head
  if (!isStringArray(epochs) || !isStringArray(tags) || typeof generation !== 'string') return undefined
  const isOfBytes = key.startsWith('bytes:' satisfies BytesKey)
  if (!isKind(kind) || (kind === 'bytes') !== isOfBytes || !hasFields(kind, fields)) return undefined
  if (info !== undefined && !isResponseInfo(info)) return undefined
  // Not `{ ...fields, kind }`: in Node 20, each object that begins with a spread and gets a new member has a hidden class of
  // its own, and each access to it on a hit is several times slower.
  const stored = Object.assign({}, fields, { kind, body }, kind === 'response' && { forms: new StoredForms() })
  // Both lists are parsed from the same text. A local entry needs one of them.
  const listed = info && { info: areEqual(info.tags, tags) ? { ...info, tags } : info }
  return { stored, generation, epochs, tags, ...listed }
}

function isKind(value: unknown): value is StoredKind {
  return typeof value === 'string' && Object.hasOwn(STORED_FIELDS, value)
}

function hasFields(kind: StoredKind, fields: unknown): fields is StoredTimes {
  const described = Object.entries(STORED_FIELDS[kind])
  return isObject(fields) && described.every(([name, type]) => IS_OF_TYPE[type](Reflect.get(fields, name)))
}

/** A line break would start another header (RFC 9110 section 5.5). */
function isFieldValue(value: unknown): value is string {
  return typeof value === 'string' && /^[\x20-\x7e]*$/.test(value)
}

export function isResponseInfo(value: unknown): value is StoredResponseInfo {
  if (!isObject(value)) return false
  const { url, group, endpoint, scope, tags } = value
  return [url, group, endpoint, scope].every((text) => typeof text === 'string') && isStringArray(tags)
}

export function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}
