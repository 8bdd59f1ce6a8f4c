/**
 * Receives what other replicas publish: invalidations, which it acknowledges, locks, and replaced entries. Messages
 * carry the generation and a sequence number. After a gap, this replica discards all epochs that it knows.
 */
import type { StoreEvent } from '../../core/events.ts'
import { isObject, isStringArray, parseJson } from '../../core/values.ts'
import { redisChannels } from '../../replicas/options.ts'
import type { RedisReplica } from '../../replicas/replica.ts'
import type { Acknowledgements } from './acknowledgements.ts'
import { isPurgeTag } from './epochs.ts'
import type { KnownEpochs } from './known-epochs.ts'

interface Message {
  /** Generation, and sequence of invalidations. */
  readonly g: string
  readonly q: string
  /** Nonce of a heartbeat. */
  readonly n?: string
  /** Writer and tags of an invalidation. */
  readonly w?: string
  readonly tags?: readonly string[]
  /** The replica that acknowledges. */
  readonly a?: string
}

interface InvalidationSubscriberOptions {
  readonly replica: RedisReplica
  readonly known: KnownEpochs
  readonly onEvent: (event: StoreEvent) => void
  readonly acknowledgements: Acknowledgements
  readonly onLockMessage: (message: string) => void
  /** Another replica stored a newer response under this key. */
  readonly onReplaced: (key: string) => void
  /**
   * A replica has purged a key, a group or everything. Also called after a gap, since its messages may have been purges. The
   * other replica removes the rows of what it purges when this one has acknowledged, and that is when the promise resolves.
   */
  readonly onPurge: () => Promise<void>
}

export class InvalidationSubscriber {
  readonly #options: InvalidationSubscriberOptions
  #sequence: number | undefined
  #generation: string | undefined

  constructor(options: InvalidationSubscriberOptions) {
    this.#options = options
    const { replica, onLockMessage } = options
    const handle = (text: string) => this.#handle(parseJson(text))
    replica.subscribe(redisChannels.invalidations, handle)
    replica.subscribe(redisChannels.replica(replica.id), handle)
    replica.subscribe(redisChannels.locks, onLockMessage)
    replica.subscribe(redisChannels.replacements, (text) => this.#replaced(text))
  }

  #replaced(text: string): void {
    const { replica, onReplaced } = this.#options
    const space = text.indexOf(' ')
    if (text.slice(0, space) !== replica.id) onReplaced(text.slice(space + 1))
  }

  #handle(message: unknown): void {
    if (!isMessage(message)) return
    if (message.a !== undefined) {
      this.#options.acknowledgements.add(message.a, Number(message.q), message.g)
    } else if (message.n !== undefined) {
      this.#follow(message, 0)
    } else if (message.tags !== undefined) {
      this.#follow(message, 1)
      this.#options.known.invalidate(message.tags)
      const ready = message.tags.some(isPurgeTag) ? this.#options.onPurge() : undefined
      // Most writes have other tags too. No row is removed for them, so their clients do not wait for rows.
      if (ready !== undefined && message.tags.every(isPurgeTag)) void ready.then(() => this.#acknowledge(message))
      else this.#acknowledge(message)
    }
  }

  /** `step`: by how much this message increments the sequence. If it differs otherwise, messages were lost. */
  #follow(message: Message, step: number): void {
    const { known, onEvent, onPurge, replica } = this.#options
    const sequence = Number(message.q)
    replica.contact.observeGeneration(message.g)
    if (this.#generation !== message.g || this.#sequence === undefined || this.#sequence + step !== sequence) {
      if (this.#generation !== undefined) onEvent('localTierDiscarded')
      known.clear()
      void onPurge()
    }
    this.#generation = message.g
    this.#sequence = sequence
  }

  #acknowledge({ w: writer, q, g }: Message): void {
    const { id, commands, times } = this.#options.replica
    if (writer === undefined || writer === id) return
    const text = JSON.stringify({ a: id, q, g })
    void commands.send(times.bulkTimeout, (client) => client.publish(redisChannels.replica(writer), text))
  }
}

function isMessage(value: unknown): value is Message {
  if (!isObject(value)) return false
  const { g, q, n, w, a, tags } = value
  const areTexts = [n, w, a].every((text) => text === undefined || typeof text === 'string')
  const hasPlace = typeof g === 'string' && typeof q === 'string' && /^\d{1,16}$/.test(q)
  return areTexts && hasPlace && (tags === undefined || isStringArray(tags))
}
