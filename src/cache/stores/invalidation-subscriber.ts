import { LRUCache } from 'lru-cache'
import type { Client, Link } from '../../redis/connection.ts'
import type { Pulse } from '../../redis/heartbeat.ts'
import { names, type StoreEvent } from '../../redis/options.ts'
import type { Knowledge } from './local-tier.ts'
import { isRecord, isTexts } from './redis-tier.ts'

/**
 * What the other replicas say, heard over a connection of its own: raises, heartbeats that come back, acknowledgements,
 * claims that ended. Messages carry the generation and the sequence of raises, so that a gap is noticed and everything
 * that was known is given up.
 */

interface Message {
  /** Generation, and sequence of raises. */
  readonly g: string
  readonly q: string
  /** Nonce of a heartbeat. */
  readonly n?: string
  /** Writer and tags of a raise. */
  readonly w?: string
  readonly tags?: readonly string[]
  /** Who acknowledges. */
  readonly a?: string
}

export interface FollowerOptions {
  readonly subscriber: Client
  readonly link: Link
  readonly replica: string
  readonly knowledge: Knowledge
  readonly pulse: Pulse
  readonly time: number
  readonly onEvent: (event: StoreEvent) => void
  readonly onAcknowledged: (replica: string, sequence: number, generation: string) => void
  readonly onSettled: (claim: string) => void
  /** Another replica kept a newer answer of this key. */
  readonly onReplaced: (key: string) => void
}

export class Follower {
  readonly #options: FollowerOptions
  #sequence: number | undefined
  #generation: string | undefined

  constructor(options: FollowerOptions) {
    this.#options = options
    const { subscriber, replica, pulse } = options
    const channels = [names.raised, names.settled, names.kept, names.to(replica)]
    const subscribe = () =>
      void subscriber.subscribe(...channels).then(
        () => pulse.beat(),
        () => {},
      )
    subscriber.on('message', (channel: string, text: string) => this.#hear(channel, text))
    // Again after each connection: what ioredis resubscribes by itself does not cover a first one that failed.
    subscriber.on('ready', subscribe)
    if (subscriber.status === 'ready') subscribe()
  }

  #hear(channel: string, text: string): void {
    if (channel === names.settled) this.#options.onSettled(text)
    else if (channel === names.kept) this.#replaced(text)
    else {
      const message = parse(text)
      if (message !== undefined) this.#take(message)
    }
  }

  #replaced(text: string): void {
    const space = text.indexOf(' ')
    if (text.slice(0, space) !== this.#options.replica) this.#options.onReplaced(text.slice(space + 1))
  }

  #take(message: Message): void {
    if (message.a !== undefined) {
      this.#options.onAcknowledged(message.a, Number(message.q), message.g)
    } else if (message.n !== undefined) {
      this.#follow(message, 0)
      this.#options.pulse.returned(message.n)
    } else if (message.tags !== undefined) {
      this.#follow(message, 1)
      this.#options.knowledge.raised(message.tags)
      this.#acknowledge(message)
    }
  }

  /** `step`: by how much this message moves the sequence. Anything else in between was missed. */
  #follow(message: Message, step: number): void {
    const { knowledge, onEvent, pulse } = this.#options
    const sequence = Number(message.q)
    pulse.saw(message.g)
    if (this.#generation !== message.g || this.#sequence === undefined || this.#sequence + step !== sequence) {
      if (this.#generation !== undefined) onEvent('forgot')
      knowledge.forget()
    }
    this.#generation = message.g
    this.#sequence = sequence
  }

  #acknowledge({ w: writer, q, g }: Message): void {
    const { link, replica, time } = this.#options
    if (writer === undefined || writer === replica) return
    const text = JSON.stringify({ a: replica, q, g })
    void link.step(time, (client) => client.publish(names.to(writer), text))
  }
}

/** Only replicas write here, but nothing that anyone writes may end the process. */
function parse(text: string): Message | undefined {
  try {
    const message: unknown = JSON.parse(text)
    return isMessage(message) ? message : undefined
  } catch {
    return undefined
  }
}

function isMessage(value: unknown): value is Message {
  if (!isRecord(value)) return false
  const { g, q, n, w, a, tags } = value
  const texts = [n, w, a].every((text) => text === undefined || typeof text === 'string')
  const placed = typeof g === 'string' && typeof q === 'string' && /^\d{1,16}$/.test(q)
  return texts && placed && (tags === undefined || isTexts(tags))
}

/** Which raise each replica has seen. A raise that was seen implies all before it: gaps make a replica forget all. */

interface Seen {
  readonly generation: string
  readonly sequence: number
}

export class Acknowledgements {
  /** More replicas than ever stand at once; each start of a process is another one. */
  readonly #seen = new LRUCache<string, Seen>({ max: 1000 })
  readonly #listeners = new Set<() => void>()

  add(replica: string, sequence: number, generation: string): void {
    this.#seen.set(replica, { generation, sequence })
    for (const listener of [...this.#listeners]) listener()
  }

  /**
   * Resolves when all of `others` have seen the raise, or when their registrations, as they stood when it was made,
   * have run out: a heartbeat that would renew one passes through the same channel after the raise. True: all have.
   * `others`: replicas and the milliseconds left to them.
   */
  wait(raise: Seen, others: ReadonlyMap<string, number>): Promise<boolean> {
    const missing = () => [...others.keys()].some((replica) => !this.#has(replica, raise))
    if (!missing()) return Promise.resolve(true)
    return new Promise((resolve) => {
      const end = (heard: boolean) => {
        clearTimeout(timer)
        this.#listeners.delete(listener)
        resolve(heard)
      }
      const listener = () => {
        if (!missing()) end(true)
      }
      const timer = setTimeout(end, Math.max(...others.values()) + 1, false)
      this.#listeners.add(listener)
    })
  }

  #has(replica: string, { generation, sequence }: Seen): boolean {
    const seen = this.#seen.get(replica)
    return seen !== undefined && seen.generation === generation && seen.sequence >= sequence
  }
}
