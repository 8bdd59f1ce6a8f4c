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

interface EpochsReply extends InvalidationSequence {
  /** One for each tag of the command. */
  readonly epochs: readonly (string | number)[]
  /** The places of fenced tags among them. */
  readonly fenced: ReadonlySet<number>
  readonly isAlone: boolean
}

/** The reads of one command. `places`: of each tag in it. `reply`: undefined if Redis is unreachable. */
interface EpochsBatch {
  readonly places: Map<Tag, number>
  readonly reply: Promise<EpochsReply | undefined>
}

/** Tags of one command. One read has fewer: cache/tags.ts bounds the values of each of its templates. */
const TAGS_PER_COMMAND = 500

export class EpochReader {
  readonly #replica: RedisReplica
  readonly #known: KnownEpochs
  /** The batch to which reads of this turn are added. */
  #unsent: EpochsBatch | undefined

  constructor(replica: RedisReplica, known: KnownEpochs) {
    this.#replica = replica
    this.#known = known
  }

  /** Reads the epochs of an entry's tags and key, and remembers them. Undefined: Redis is unreachable. */
  async read(key: string, tags: readonly Tag[]): Promise<TagEpochs | undefined> {
    const readAt = this.#replica.elapsed()
    const all = [...tags, keyTag(key)]
    const read = this.#known.beginRead(all)
    const { places, reply } = this.#batchFor(all)
    const own = all.map((tag) => places.get(tag) ?? -1)
    let epochs: TagEpochs | undefined
    let found: EpochsReply | undefined
    try {
      found = await reply
      epochs = epochsAt(own, found)
    } finally {
      this.#known.endRead(read, epochs)
    }
    return epochs && { readAt, isAlone: found?.isAlone === true, ...withKeyEpoch(epochs) }
  }

  /** Most tags are those of all reads of a group: each is read once. */
  #batchFor(tags: readonly Tag[]): EpochsBatch {
    let batch = this.#unsent
    if (batch === undefined || batch.places.size + tags.length > TAGS_PER_COMMAND) {
      const places = new Map<Tag, number>()
      const reply = this.#replica.turnEnd.add(() => {
        this.#unsent = undefined
        return this.#send([...places.keys()])
      })
      batch = { places, reply }
      this.#unsent = batch
    }
    for (const tag of tags) if (!batch.places.has(tag)) batch.places.set(tag, batch.places.size)
    return batch
  }

  /** Reads the place in the sequence of invalidations. Undefined: Redis is unreachable. */
  readSequence(): Promise<InvalidationSequence | undefined> {
    return this.#send([])
  }

  async #send(tags: readonly Tag[]): Promise<EpochsReply | undefined> {
    const { commands, contact, times } = this.#replica
    const [keys, args] = [[redisKeys.epochs], [randomUUID(), this.#replica.id, ...tags]]
    const reply = await commands.runScript<(string | number)[]>(READ_EPOCHS, keys, args, times.commandTimeout)
    contact.reportReply(reply)
    if (!reply.ok || !contact.observeGeneration(String(reply.value[0]))) return undefined
    const [generation, sequence, places, others, ...epochs] = reply.value
    const fenced = new Set(places === '' ? [] : String(places).split(' ').map(Number))
    return { generation: String(generation), sequence: String(sequence), epochs, fenced, isAlone: others === '' }
  }
}

function epochsAt(places: readonly number[], reply: EpochsReply | undefined): TagEpochs | undefined {
  if (reply === undefined) return undefined
  const { generation, epochs, fenced } = reply
  return {
    generation,
    epochs: places.map((place) => String(epochs[place])),
    fenced: fenced.size > 0 && places.some((place) => fenced.has(place)),
  }
}

/**
 * Reads epochs. KEYS: hash. ARGV: new random part of the generation, id of the replica, tags. Returns generation, sequence, the
 * places of fenced tags with a space between two of them, the leases of the other replicas, one epoch per tag.
 */
const READ_EPOCHS = script(
  NOW,
  GENERATION,
  LEASES,
  `
local fields = {'g', 'q', 'r'}
for at = 3, #ARGV do
  fields[#fields + 1] = 't:' .. ARGV[at]
  fields[#fields + 1] = 'f:' .. ARGV[at]
end
local got = redis.call('HMGET', KEYS[1], unpack(fields))
local fenced = {}
local out = {generation(got[1]), got[2] or '0', '', unexpired(got[3], ARGV[2], now)}
for at = 4, #fields, 2 do
  out[#out + 1] = got[at] or '0~0'
  if got[at + 1] and unexpired(got[at + 1], '', now) ~= '' then fenced[#fenced + 1] = #out - 5 end
end
out[3] = table.concat(fenced, ' ')
return out`,
)
