/** Stored bytes in Redis, and the checks of what another program may have written there. */

import { createCipheriv, createDecipheriv, createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { StoredResponseInfo } from '../../core/cache.ts'
import { concatOwn, onEachPart } from '../../core/long-values.ts'
import { STORED_FIELDS, StoredForms, type StoredKind, type StoredTimes } from '../../core/response.ts'
import { type CooperativeTask, PAUSE, runAtOnce, runTask } from '../../core/turns.ts'
import { isObject } from '../../core/values.ts'
import { type OnStoreEvent, redisKeys } from '../../replicas/options.ts'
import type { RedisReplica } from '../../replicas/replica.ts'
import type { BytesKey, SharedParts } from './contract.ts'
import { areEqual, hasOwnBytes, type LocalEntry, storageLifetime } from './local-entries.ts'

interface RedisEntriesOptions {
  readonly replica: RedisReplica
  readonly codec: EntryCodec
  readonly onEvent: OnStoreEvent
}

/** Entries in Redis. Their age follows from the time that they have left, not from a wall clock. */
export class RedisEntries {
  readonly #options: RedisEntriesOptions
  /** The generation of the last entry: entries of the same one share the text, which takes 100 bytes in each of them. */
  #generation = ''
  /** The newest entry of each key that is being written. */
  readonly #written = new Map<string, LocalEntry>()

  constructor(options: RedisEntriesOptions) {
    this.#options = options
  }

  /** Undefined: there is no entry, it is damaged, or Redis did not answer in time. */
  async get(key: string): Promise<LocalEntry | undefined> {
    const { replica, codec, onEvent } = this.#options
    const { bodies, times, elapsed } = replica
    const name = redisKeys.entry(key)
    const start = elapsed()
    const reply = await bodies.send(times.commandTimeout, (client) =>
      Promise.all([client.getBuffer(name), client.pttl(name)]),
    )
    if (!reply.ok) return undefined
    const [bytes, left] = reply.value
    if (bytes === null || left === -2) return undefined
    const decoded = await codec.decode(name, bytes)
    const entry = decoded && decodeEntry(key, decoded)
    if (entry === undefined) return reportCorrupt(onEvent)
    const lifetime = storageLifetime(entry.stored)
    // The edge never writes an entry that does not expire, or expires later than its own lifetime.
    if (left < 0 || left > lifetime) return reportCorrupt(onEvent)
    if (entry.generation !== this.#generation) this.#generation = entry.generation
    const fetchedAt = start - (lifetime - left)
    return { ...entry, generation: this.#generation, fetchedAt, expiresAt: fetchedAt + lifetime }
  }

  /** Returns whether Redis stored the entry, or one that was written later. */
  async set(key: string, entry: LocalEntry): Promise<boolean> {
    const until = entry.fetchedAt + storageLifetime(entry.stored)
    const isNewest = () => this.#written.get(key) === entry
    this.#written.set(key, entry)
    try {
      const name = redisKeys.entry(key)
      // A long entry takes longer to encode than a short one that replaces it.
      const bytes = await this.#options.codec.encode(name, encodeHead(entry), entry.stored.body)
      return isNewest() ? await writeValue(this.#options, name, bytes, until) : true
    } finally {
      if (isNewest()) this.#written.delete(key)
    }
  }

  /** One command for each key: on a Redis Cluster, they are in different slots. */
  async delete(keys: readonly string[]): Promise<void> {
    const { bodies, times } = this.#options.replica
    await Promise.all(
      keys.map((key) => bodies.send(times.bulkTimeout, (client) => client.unlink(redisKeys.entry(key)))),
    )
  }
}

/** Stores a value until this time of the replica, in milliseconds. Returns whether Redis stored it. */
async function writeValue(
  { replica: { bodies, times, elapsed }, onEvent }: RedisEntriesOptions,
  name: string,
  bytes: Buffer,
  until: number,
): Promise<boolean> {
  const left = Math.floor(until - elapsed())
  if (left < 1) return false
  const reply = await bodies.send(times.bulkTimeout, (client) => client.set(name, bytes, 'PX', left))
  if (!reply.ok && reply.error.startsWith('OOM')) onEvent('full', reply.error)
  return reply.ok
}

function reportCorrupt(onEvent: OnStoreEvent): undefined {
  onEvent('corrupt')
  return undefined
}

const IS_OF_TYPE = { number: isNumber, text: isFieldValue }

/** Returns the JSON head of an entry. */
function encodeHead({ stored, generation, epochs, tags, info }: LocalEntry): unknown {
  const { kind } = stored
  const fields = Object.keys(STORED_FIELDS[kind]).map((name) => [name, Reflect.get(stored, name)])
  return { generation, epochs, tags, info, kind, fields: Object.fromEntries(fields) }
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
  const stored = { ...fields, kind, body, ...(kind === 'response' && { forms: new StoredForms() }) }
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

export function isStringArray(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string')
}

export function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}

/**
 * Parts of values that are too large for one entry in Redis: one long value would delay all other commands. A part
 * that is missing, damaged or of another value is not there.
 */
export function createRedisParts(options: RedisEntriesOptions): SharedParts {
  const { replica, codec, onEvent } = options
  const { bodies, times, elapsed } = replica
  return {
    async set(name, id, bytes, ms) {
      const until = elapsed() + ms
      const key = redisKeys.part(name)
      return writeValue(options, key, await codec.encode(key, { id }, bytes), until)
    },
    async get(name, id) {
      const key = redisKeys.part(name)
      const reply = await bodies.send(times.bulkTimeout, (client) => client.getBuffer(key))
      if (!reply.ok || reply.value === null) return undefined
      const decoded = await codec.decode(key, reply.value)
      if (decoded === undefined) onEvent('corrupt')
      return isObject(decoded?.head) && decoded.head.id === id ? decoded.body : undefined
    },
  }
}

/**
 * The binary format of an entry in Redis: `ME`, version, form, two lengths, a check, then a JSON head and a raw body.
 * Another client of Redis can write anything there. Nothing is parsed before lengths and check are right. The check
 * covers the key name too, so an entry that was copied to another key is rejected.
 */
export interface EntryCodec {
  /** Returns bytes that `decode` accepts under the same name only. `head` is serialised as JSON. A promise: a long body. */
  encode(name: string, head: unknown, body: Buffer): Buffer | Promise<Buffer>
  /** Returns head and body; undefined for anything that `encode` did not write. A promise: long bytes. */
  decode(name: string, bytes: Buffer): DecodedEntry | undefined | Promise<DecodedEntry | undefined>
  /** The same for a head without a body. */
  encodeHead(name: string, head: unknown): Buffer
  decodeHead(name: string, bytes: Buffer): unknown
}

interface DecodedEntry {
  readonly head: unknown
  /** In memory of its own: a short reply is a view of a larger buffer of the connection. */
  readonly body: Buffer
}

const VERSION = 1
const PLAIN = 0
const ENCRYPTED = 1
/** Magic 2, version 1, form 1, length of the head 4, length of the body 4. */
const FIXED_BYTES = 12
const CHECK_BYTES = 16
const SALT_BYTES = 16
const NONCE_BYTES = 12

/**
 * With an encryption key (any length, unknown to Redis), entries are encrypted with AES-256-GCM. Without one, they
 * carry a SHA-256 check against damage.
 */
export function createEntryCodec(encryptionKey?: Buffer): EntryCodec {
  const format = encryptionKey === undefined ? plain : encrypted(encryptionKey)
  return {
    encode: (name, head, body) => runTask(encode(format, name, head, body)),
    decode: (name, bytes) => runTask(decode(format, name, bytes)),
    encodeHead: (name, head) => runAtOnce(encode(format, name, head, NO_BODY)),
    decodeHead: (name, bytes) => runAtOnce(decode(format, name, bytes))?.head,
  }
}

const NO_BODY = Buffer.alloc(0)
/** Copying more than this takes about a millisecond. */
const LONG_REPLY_BYTES = 4 * 1024 * 1024

function* encode(format: EntryForm, name: string, head: unknown, body: Buffer): CooperativeTask<Buffer> {
  const text = Buffer.from(JSON.stringify(head))
  const fixed = Buffer.alloc(FIXED_BYTES)
  fixed.write('ME', 'latin1')
  fixed[2] = VERSION
  fixed[3] = format.form
  fixed.writeUInt32BE(text.length, 4)
  fixed.writeUInt32BE(body.length, 8)
  return yield* concatenated([fixed, ...(yield* format.seal(associatedData(name, fixed), text, body))])
}

function* decode(format: EntryForm, name: string, bytes: Buffer): CooperativeTask<DecodedEntry | undefined> {
  const { overhead } = format
  const contentAt = FIXED_BYTES + overhead
  if (bytes.length < contentAt || bytes.toString('latin1', 0, 2) !== 'ME') return undefined
  if (bytes[2] !== VERSION || bytes[3] !== format.form) return undefined
  const length = bytes.readUInt32BE(4)
  if (bytes.length !== contentAt + length + bytes.readUInt32BE(8)) return undefined
  // The connection has copied the whole reply in this turn.
  if (bytes.length > LONG_REPLY_BYTES) yield PAUSE
  const associated = associatedData(name, bytes.subarray(0, FIXED_BYTES))
  const [head, body] = [bytes.subarray(contentAt, contentAt + length), bytes.subarray(contentAt + length)]
  try {
    const content = yield* format.open(associated, bytes.subarray(FIXED_BYTES, contentAt), head, body)
    return content && { head: JSON.parse(content.head.toString()), body: yield* concatenated(content.body) }
  } catch {
    return undefined
  }
}

function* concatenated(chunks: readonly Buffer[]): CooperativeTask<Buffer> {
  const [first] = chunks
  if (first !== undefined && chunks.length === 1 && hasOwnBytes(first)) return first
  const whole = concatOwn(chunks)
  return whole instanceof Promise ? ((yield whole) as Buffer) : whole
}

interface EntryForm {
  readonly form: number
  /** Bytes between the fixed part and the content. */
  readonly overhead: number
  seal(associated: Buffer, head: Buffer, body: Buffer): CooperativeTask<readonly Buffer[]>
  /** Returns the content, the body in chunks; or undefined (or throws) if it was changed. `before`: what is between. */
  open(
    associated: Buffer,
    before: Buffer,
    head: Buffer,
    body: Buffer,
  ): CooperativeTask<{ readonly head: Buffer; readonly body: readonly Buffer[] } | undefined>
}

/** Returns what the check covers besides the content. The fixed part has a constant length: no delimiter is needed. */
function associatedData(name: string, fixed: Buffer): Buffer {
  return Buffer.concat([fixed, Buffer.from(name)])
}

const plain: EntryForm = {
  form: PLAIN,
  overhead: CHECK_BYTES,
  *seal(associated, head, body) {
    return [yield* digest(associated, head, body), head, body]
  },
  *open(associated, check, head, body) {
    return timingSafeEqual(yield* digest(associated, head, body), check) ? { head, body: [body] } : undefined
  },
}

/** Hashes the length of `associated` first. Otherwise the end of a name could pass for the beginning of a head. */
function* digest(associated: Buffer, head: Buffer, body: Buffer): CooperativeTask<Buffer> {
  const hash = createHash('sha256').update(`${associated.length}:`).update(associated).update(head)
  yield* onEachPart(body, (part) => hash.update(part))
  return hash.digest().subarray(0, CHECK_BYTES)
}

function encrypted(secret: Buffer): EntryForm {
  const master = createHmac('sha256', secret).update('manager-edge cache entries').digest()
  // One key per entry: random nonces under a single key are safe for 2^32 entries only (NIST SP 800-38D, 8.3).
  const keyFor = (salt: Buffer) => createHmac('sha256', master).update(salt).digest()
  return {
    form: ENCRYPTED,
    overhead: SALT_BYTES + NONCE_BYTES + CHECK_BYTES,
    *seal(associated, head, body) {
      const salt = randomBytes(SALT_BYTES)
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', keyFor(salt), nonce, { authTagLength: CHECK_BYTES }).setAAD(
        associated,
      )
      const content = [cipher.update(head)]
      yield* onEachPart(body, (part) => content.push(cipher.update(part)))
      content.push(cipher.final())
      return [salt, nonce, cipher.getAuthTag(), ...content]
    },
    *open(associated, before, head, body) {
      const salt = before.subarray(0, SALT_BYTES)
      const nonce = before.subarray(SALT_BYTES, SALT_BYTES + NONCE_BYTES)
      const decipher = createDecipheriv('aes-256-gcm', keyFor(salt), nonce, { authTagLength: CHECK_BYTES }).setAAD(
        associated,
      )
      decipher.setAuthTag(before.subarray(SALT_BYTES + NONCE_BYTES))
      const content = { head: decipher.update(head), body: [] as Buffer[] }
      yield* onEachPart(body, (part) => content.body.push(decipher.update(part)))
      // `final` throws if a bit was changed. The content is not used before.
      decipher.final()
      return content
    },
  }
}
