/** Stored responses in Redis: their bytes, and the checks of what another program may have written there. */
import type { StoredResponseInfo } from '../../core/cache.ts'
import { StoredForms } from '../../core/response.ts'
import { isObject } from '../../core/values.ts'
import { type OnStoreEvent, redisKeys } from '../../redis/options.ts'
import type { RedisReplica } from '../../redis/replica.ts'
import type { SharedParts } from './contract.ts'
import type { EntryCodec } from './entry-codec.ts'
import { areEqual, type LocalEntry, localLifetime, storageLifetime } from './local-entries.ts'

export interface RedisEntriesOptions {
  readonly replica: RedisReplica
  readonly codec: EntryCodec
  readonly onEvent: OnStoreEvent
}

/** Entries in Redis. Their age follows from the time that they have left, not from a wall clock. */
export class RedisEntries {
  readonly #options: RedisEntriesOptions
  /** The generation of the last entry: entries of the same one share the text, which takes 100 bytes in each of them. */
  #generation = ''

  constructor(options: RedisEntriesOptions) {
    this.#options = options
  }

  /** Undefined: there is no entry, it is damaged, or Redis did not answer in time. */
  async get(key: string): Promise<LocalEntry | undefined> {
    const { replica, codec, onEvent } = this.#options
    const { bodies, times, elapsed } = replica
    const name = redisKeys.entry(key)
    const start = elapsed()
    const [bytes, left] = await Promise.all([
      bodies.send(times.commandTimeout, (client) => client.getBuffer(name)),
      bodies.send(times.commandTimeout, (client) => client.pttl(name)),
    ])
    if (!bytes.ok || bytes.value === null || !left.ok || left.value === -2) return undefined
    const decoded = codec.decode(name, bytes.value)
    const head = decodeHead(decoded?.head)
    if (decoded === undefined || head === undefined) return reportCorrupt(onEvent)
    // A copy: a short reply is a view of a larger buffer of the connection, which a local entry would keep in memory.
    const response = { ...head.response, body: Buffer.from(decoded.body), forms: new StoredForms() }
    const lifetime = storageLifetime(response)
    // The edge never writes an entry that does not expire, or expires later than its own lifetime.
    if (left.value < 0 || left.value > lifetime) return reportCorrupt(onEvent)
    if (head.generation !== this.#generation) this.#generation = head.generation
    const fetchedAt = start - (lifetime - left.value)
    return {
      ...head,
      generation: this.#generation,
      response,
      fetchedAt,
      expiresAt: fetchedAt + localLifetime(response),
    }
  }

  /** Returns whether Redis stored the entry. */
  set(key: string, entry: LocalEntry): Promise<boolean> {
    const { elapsed } = this.#options.replica
    const left = storageLifetime(entry.response) - (elapsed() - entry.fetchedAt)
    return writeValue(this.#options, redisKeys.entry(key), encodeHead(entry), entry.response.body, left)
  }

  /** One command for each key: on a Redis Cluster, they are in different slots. */
  async delete(keys: readonly string[]): Promise<void> {
    const { bodies, times } = this.#options.replica
    await Promise.all(
      keys.map((key) => bodies.send(times.bulkTimeout, (client) => client.unlink(redisKeys.entry(key)))),
    )
  }
}

/** Stores a value for `ms` milliseconds. Returns whether Redis stored it. */
async function writeValue(
  { replica: { bodies, times }, codec, onEvent }: RedisEntriesOptions,
  name: string,
  head: unknown,
  body: Buffer,
  ms: number,
): Promise<boolean> {
  const left = Math.floor(ms)
  if (left < 1) return false
  const bytes = codec.encode(name, head, body)
  const reply = await bodies.send(times.bulkTimeout, (client) => client.set(name, bytes, 'PX', left))
  if (!reply.ok && reply.error.startsWith('OOM')) onEvent('full', reply.error)
  return reply.ok
}

function reportCorrupt(onEvent: OnStoreEvent): undefined {
  onEvent('corrupt')
  return undefined
}

type EntryHead = Omit<LocalEntry, 'fetchedAt' | 'expiresAt' | 'response'> & {
  readonly response: Omit<LocalEntry['response'], 'body' | 'forms'>
}

/**
 * Returns the JSON head of an entry, with the field names of version 0.1.0: replicas of both versions share entries. That
 * version ignores further fields, such as `staleWhileHot`.
 */
function encodeHead({ response, generation, epochs, tags, info }: LocalEntry): unknown {
  const { status, etag, ttl, staleWhileRevalidate, staleIfError, staleWhileHot, fetchTime, clusterStatus } = response
  const times = { keepFor: ttl, staleWhileRevalidate, staleIfError, staleWhileHot, cost: fetchTime }
  const answer = { status, etag, ...times, clusterStatus, rowBytes: response.rowBytes }
  return { generation, epochs, tags, listed: info, answer }
}

/** Returns undefined for a head of another shape, which another version of the edge may have written. */
function decodeHead(value: unknown): EntryHead | undefined {
  if (!isObject(value)) return undefined
  const { answer, generation, epochs, tags, listed: info } = value
  if (!isObject(answer) || !isResponseInfo(info) || typeof generation !== 'string') return undefined
  if (!isStringArray(epochs) || !isStringArray(tags)) return undefined
  const { status, etag, keepFor: ttl, cost: fetchTime, clusterStatus, rowBytes } = answer
  const { staleWhileRevalidate, staleIfError, staleWhileHot } = answer
  if (!isFieldValue(etag) || !isNumber(status) || !isNumber(fetchTime)) return undefined
  if (!isNumber(ttl) || !isNumber(staleWhileRevalidate) || !isNumber(staleIfError)) return undefined
  if (staleWhileHot !== undefined && !isNumber(staleWhileHot)) return undefined
  if (clusterStatus !== undefined && !isFieldValue(clusterStatus)) return undefined
  const times = { ttl, staleWhileRevalidate, staleIfError, ...(staleWhileHot !== undefined && { staleWhileHot }) }
  if (rowBytes !== undefined && !isNumber(rowBytes)) return undefined
  const joined = clusterStatus === undefined ? undefined : { clusterStatus }
  const ofSnapshot = rowBytes === undefined ? undefined : { rowBytes }
  return {
    response: { status, etag, ...times, fetchTime, ...joined, ...ofSnapshot },
    generation,
    epochs,
    tags,
    // Both lists are parsed from the same text. A local entry needs one of them.
    info: areEqual(info.tags, tags) ? { ...info, tags } : info,
  }
}

/** Both `etag` and `clusterStatus` become headers. A line break would start another header (RFC 9110 section 5.5). */
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
  const { bodies, times } = replica
  return {
    set: (name, id, bytes, ms) => writeValue(options, redisKeys.part(name), { id }, bytes, ms),
    async get(name, id) {
      const key = redisKeys.part(name)
      const reply = await bodies.send(times.bulkTimeout, (client) => client.getBuffer(key))
      if (!reply.ok || reply.value === null) return undefined
      const decoded = codec.decode(key, reply.value)
      if (decoded === undefined) onEvent('corrupt')
      return isObject(decoded?.head) && decoded.head.id === id ? decoded.body : undefined
    },
  }
}
