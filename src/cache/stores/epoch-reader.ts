/** Reads epochs from Redis. */

import { randomUUID } from 'node:crypto'
import type { Tag } from '../../contracts/endpoint.ts'
import type { TagEpochs } from '../../core/stored-response.ts'
import { redisKeys } from '../../replicas/options.ts'
import type { RedisReplica } from '../../replicas/replica.ts'
import { GENERATION, LEASES, NOW, script } from '../../replicas/scripts.ts'
import { keyTag, withKeyEpoch } from './epochs.ts'
import type { KnownEpochs } from './known-epochs.ts'

/** While both are the same, no epoch has changed. */
export interface InvalidationSequence {
  readonly generation: string
  readonly sequence: string
}

export class EpochReader {
  readonly #replica: RedisReplica
  readonly #known: KnownEpochs

  constructor(replica: RedisReplica, known: KnownEpochs) {
    this.#replica = replica
    this.#known = known
  }

  /** Reads the epochs of an entry's tags and key, and remembers them. Undefined: Redis is unreachable. */
  async read(key: string, tags: readonly Tag[]): Promise<TagEpochs | undefined> {
    const readAt = this.#replica.elapsed()
    const all = [...tags, keyTag(key)]
    const read = this.#known.beginRead(all)
    const reply = await this.#replyOf(all)
    const [generation, , fenced, ...values] = reply ?? []
    const epochs = reply && { generation: String(generation), epochs: values.map(String), fenced: fenced === 1 }
    this.#known.endRead(read, epochs)
    return epochs && { ...withKeyEpoch(epochs), readAt }
  }

  /** Reads the place in the sequence of invalidations. Undefined: Redis is unreachable. */
  async readSequence(): Promise<InvalidationSequence | undefined> {
    const reply = await this.#replyOf([])
    return reply && { generation: String(reply[0]), sequence: String(reply[1]) }
  }

  /** Returns the reply of READ_EPOCHS. */
  async #replyOf(tags: readonly Tag[]): Promise<readonly (string | number)[] | undefined> {
    const { commands, heartbeat, times } = this.#replica
    const [keys, args] = [[redisKeys.epochs], [randomUUID(), ...tags]]
    const reply = await commands.runScript<(string | number)[]>(READ_EPOCHS, keys, args, times.commandTimeout)
    heartbeat.reportReply(reply)
    return reply.ok && heartbeat.observeGeneration(String(reply.value[0])) ? reply.value : undefined
  }
}

/**
 * Reads the epochs of a lookup. KEYS: hash. ARGV: new random part of the generation, tags. Returns generation,
 * sequence, fenced (0 or 1), one epoch per tag.
 */
const READ_EPOCHS = script(
  NOW,
  GENERATION,
  LEASES,
  `
local fields = {'g', 'q'}
for at = 2, #ARGV do
  fields[#fields + 1] = 't:' .. ARGV[at]
  fields[#fields + 1] = 'f:' .. ARGV[at]
end
local got = redis.call('HMGET', KEYS[1], unpack(fields))
local fenced = 0
local out = {generation(got[1]), got[2] or '0', 0}
for at = 3, #fields, 2 do
  out[#out + 1] = got[at] or '0~0'
  if got[at + 1] and unexpired(got[at + 1], '', now) ~= '' then fenced = 1 end
end
out[3] = fenced
return out`,
)
