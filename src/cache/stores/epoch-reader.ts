/** Reads epochs from Redis, those that are asked for in one turn of the event loop at once. */

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

interface EpochsToRead {
  readonly tags: readonly Tag[]
  /** `undefined`: Redis is unreachable. */
  readonly end: (epochs: TagEpochs | undefined) => void
}

/** Tags of one command. */
const TAGS_PER_COMMAND = 500

export class EpochReader {
  readonly #replica: RedisReplica
  readonly #known: KnownEpochs
  /** Of this turn. */
  #unsent: EpochsToRead[] = []

  constructor(replica: RedisReplica, known: KnownEpochs) {
    this.#replica = replica
    this.#known = known
  }

  /** Reads the epochs of an entry's tags and key, and remembers them. Undefined: Redis is unreachable. */
  read(key: string, tags: readonly Tag[]): Promise<TagEpochs | undefined> {
    const readAt = this.#replica.elapsed()
    const all = [...tags, keyTag(key)]
    const read = this.#known.beginRead(all)
    if (this.#unsent.length === 0) this.#replica.turnEnd.add(() => this.#sendAll())
    return new Promise((resolve) => {
      const end: EpochsToRead['end'] = (epochs) => {
        this.#known.endRead(read, epochs)
        resolve(epochs && { ...withKeyEpoch(epochs), readAt })
      }
      this.#unsent.push({ tags: all, end })
    })
  }

  /** Most tags are those of all reads of a group: each is read once. */
  #sendAll(): void {
    const reads = this.#unsent
    this.#unsent = []
    let some: EpochsToRead[] = []
    let places = new Map<Tag, number>()
    for (const read of reads) {
      if (places.size + read.tags.length > TAGS_PER_COMMAND && some.length > 0) {
        void this.#send(some, places)
        some = []
        places = new Map()
      }
      some.push(read)
      for (const tag of read.tags) if (!places.has(tag)) places.set(tag, places.size)
    }
    void this.#send(some, places)
  }

  /** `places`: of each tag in the command. */
  async #send(reads: readonly EpochsToRead[], places: ReadonlyMap<Tag, number>): Promise<void> {
    const reply = await this.#replyOf([...places.keys()])
    if (reply === undefined) {
      for (const { end } of reads) end(undefined)
      return
    }
    const [generation, , fencedPlaces, ...values] = reply
    const fenced = new Set(fencedPlaces === '' ? [] : String(fencedPlaces).split(' ').map(Number))
    for (const { tags, end } of reads) {
      const own = tags.map((tag) => places.get(tag) ?? -1)
      end({
        generation: String(generation),
        epochs: own.map((place) => String(values[place])),
        fenced: fenced.size > 0 && own.some((place) => fenced.has(place)),
      })
    }
  }

  /** Reads the place in the sequence of invalidations. Undefined: Redis is unreachable. */
  async readSequence(): Promise<InvalidationSequence | undefined> {
    const reply = await this.#replyOf([])
    return reply && { generation: String(reply[0]), sequence: String(reply[1]) }
  }

  /** Returns the reply of READ_EPOCHS. */
  async #replyOf(tags: readonly Tag[]): Promise<readonly (string | number)[] | undefined> {
    const { commands, contact, times } = this.#replica
    const [keys, args] = [[redisKeys.epochs], [randomUUID(), ...tags]]
    const reply = await commands.runScript<(string | number)[]>(READ_EPOCHS, keys, args, times.commandTimeout)
    contact.reportReply(reply)
    return reply.ok && contact.observeGeneration(String(reply.value[0])) ? reply.value : undefined
  }
}

/**
 * Reads epochs. KEYS: hash. ARGV: new random part of the generation, tags. Returns generation, sequence, the places of fenced
 * tags with a space between two of them, one epoch per tag.
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
local fenced = {}
local out = {generation(got[1]), got[2] or '0', ''}
for at = 3, #fields, 2 do
  out[#out + 1] = got[at] or '0~0'
  if got[at + 1] and unexpired(got[at + 1], '', now) ~= '' then fenced[#fenced + 1] = #out - 4 end
end
out[3] = table.concat(fenced, ' ')
return out`,
)
