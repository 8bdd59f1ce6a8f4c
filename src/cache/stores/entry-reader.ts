/** Reads the bytes of entries from Redis, over the connection that delays other commands least. */
import { SHORT_BYTES } from '../../core/long-values.ts'
import type { RedisConnection } from '../../replicas/connection.ts'
import { redisKeys } from '../../replicas/options.ts'
import type { RedisReplica } from '../../replicas/replica.ts'
import { script } from '../../replicas/scripts.ts'

/**
 * Entries that are read over the connection of commands at a time. With a thousand more, heartbeats behind their replies time
 * out, and the replica does without Redis.
 */
const MAX_SHORT_READS = 100

/** KEYS: an entry. ARGV: bytes. Returns the entry, empty if it is longer, and the milliseconds until it expires, if there is one. */
const READ_ENTRY = script(`
local bytes = redis.call('GET', KEYS[1])
return bytes and { #bytes > tonumber(ARGV[1]) and '' or bytes, redis.call('PTTL', KEYS[1]) }`)

/** `left`: milliseconds until the entry expires, read after `start`. */
interface FoundBytes {
  readonly bytes: Buffer
  readonly left: number
  readonly start: number
}

export class EntryReader {
  readonly #replica: RedisReplica
  #shortReads = 0

  constructor(replica: RedisReplica) {
    this.#replica = replica
  }

  /** Undefined: there is no entry, or Redis did not answer in time. */
  async read(key: string): Promise<FoundBytes | undefined> {
    const { commands, bodies } = this.#replica
    const name = redisKeys.entry(key)
    if (this.#shortReads < MAX_SHORT_READS) {
      this.#shortReads += 1
      // In the write and the reply of the epochs. A long entry would delay the commands behind it there.
      const short = await this.#readFrom(commands, name, SHORT_BYTES)
      this.#shortReads -= 1
      if (short?.bytes.length !== 0) return short
    }
    return this.#readFrom(bodies, name, Number.MAX_SAFE_INTEGER)
  }

  /** An entry of more bytes is empty. */
  async #readFrom(connection: RedisConnection, name: string, maxBytes: number): Promise<FoundBytes | undefined> {
    const { times, elapsed } = this.#replica
    const ms = times.commandTimeout
    const start = elapsed()
    const reply = await connection.runScript<[Buffer, number] | null>(READ_ENTRY, [name], [maxBytes], ms, 'callBuffer')
    return reply.ok && reply.value !== null ? { bytes: reply.value[0], left: reply.value[1], start } : undefined
  }
}
