/** Stored bytes in Redis, and the checks of what another program may have written there. */

import type { StoredResponseInfo } from '../../core/cache.ts'
import { STORED_FIELDS, StoredForms, type StoredKind, type StoredTimes } from '../../core/stored-response.ts'
import { isObject, isStringArray } from '../../core/values.ts'
import { type OnStoreEvent, redisKeys } from '../../replicas/options.ts'
import type { BytesKey, HeldLock } from './contract.ts'
import type { DecodedEntry } from './entry-codec.ts'
import { areEqual, type LocalEntry, storageLifetime } from './local-entries.ts'
import { type RedisValuesOptions, writeValue } from './redis-parts.ts'

/** Entries in Redis. Their age follows from the time that they have left, not from a wall clock. */
export class RedisEntries {
  readonly #options: RedisValuesOptions
  /** The generation of the last entry: entries of the same one share the text, which takes 100 bytes in each of them. */
  #generation = ''
  /** The newest entry of each key that is being written. */
  readonly #written = new Map<string, LocalEntry>()

  constructor(options: RedisValuesOptions) {
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

  /**
   * Returns whether Redis stored the entry, or one that was written later. Older entries in other local tiers are valid, but a
   * client that read the newer one must not read the older one: the other replicas get the key behind the entry. `lock`: as
   * of a `NewEntry`.
   */
  async set(key: string, entry: LocalEntry, lock?: HeldLock): Promise<boolean> {
    const until = entry.fetchedAt + storageLifetime(entry.stored)
    const isNewest = () => this.#written.get(key) === entry
    this.#written.set(key, entry)
    try {
      const name = redisKeys.entry(key)
      // A long entry takes longer to encode than a short one that replaces it.
      const bytes = await this.#options.codec.encode(name, encodeHead(entry), entry.stored.body)
      return isNewest() ? await writeValue(this.#options, name, bytes, until, { key, lock }) : true
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

export function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}
