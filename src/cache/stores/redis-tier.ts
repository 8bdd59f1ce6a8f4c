import { randomUUID } from 'node:crypto'
import type { Tag } from '../../catalogue/endpoint.ts'
import type { Lookup, StoredResponse, StoredResponseInfo, TagEpochs } from '../../core/response.ts'
import type { Link, Reply } from '../../redis/connection.ts'
import type { Pulse } from '../../redis/heartbeat.ts'
import { names, type StoreEvent, type Times } from '../../redis/options.ts'
import type { EntryCodec } from './entry-codec.ts'
import { compareMarks, keyTag, ReadMark, withOwn } from './epochs.ts'
import { answerOf, type Held, lifetime } from './local-entries.ts'
import type { Knowledge } from './local-tier.ts'
import { look } from './scripts.ts'

/** What Redis itself says of an answer: the entry, and the epochs and fences of its tags at this moment. */

export interface FarOptions {
  /** The connection of steps. */
  readonly link: Link
  readonly pulse: Pulse
  readonly knowledge: Knowledge
  readonly entries: Entries
  readonly times: Times
  readonly elapsed: () => number
}

export class Far {
  readonly #options: FarOptions

  constructor(options: FarOptions) {
    this.#options = options
  }

  /** `held`: there where it is present. */
  async look(key: string, tags: readonly Tag[]): Promise<{ readonly look: Lookup; readonly held?: Held }> {
    const { pulse, entries, elapsed } = this.#options
    if (!pulse.trusted) return { look: { kind: 'unavailable' } }
    const [mark, held] = await Promise.all([this.mark(key, tags), entries.get(key)])
    // Asked again: a heartbeat may have found meanwhile that all fences are lost, and the look came after that.
    if (mark === undefined || !pulse.trusted) return { look: { kind: 'unavailable' } }
    if (held === undefined) return { look: { kind: 'miss', epochs: mark, changed: false } }
    const difference = compareMarks(held, mark)
    if (difference === 'changed') return { look: { kind: 'miss', epochs: mark, changed: true } }
    const answer = answerOf(held, elapsed(), difference === 'softened')
    return { look: { kind: 'hit', epochs: mark, response: answer, isLocal: false }, held }
  }

  /** One round trip; undefined: Redis is away. */
  async mark(key: string, tags: readonly Tag[]): Promise<TagEpochs | undefined> {
    const asked = this.#options.elapsed()
    const mark = await this.marks([...tags, keyTag(key)])
    return mark === undefined ? undefined : new ReadMark(withOwn(mark), asked)
  }

  /** The same of tags alone, and told to what this replica knows of them. */
  async marks(tags: readonly Tag[]): Promise<TagEpochs | undefined> {
    const { link, pulse, knowledge, times } = this.#options
    const watch = knowledge.watch(tags)
    const args = [randomUUID(), ...tags]
    const reply = await link.run<(string | number)[]>(look, [names.coherence], args, times.command)
    pulse.heard(reply)
    if (!reply.ok || !pulse.saw(String(reply.value[0]))) {
      knowledge.learn(watch)
      return undefined
    }
    const [generation, , fenced, ...epochs] = reply.value
    const mark = { generation: String(generation), epochs: epochs.map(String), fenced: fenced === 1 }
    knowledge.learn(watch, mark)
    return mark
  }
}

/** Entries in Redis. Their age is what is missing of their time to live, so that no wall clock has a say. */

export interface EntriesOptions {
  readonly link: Link
  readonly codec: EntryCodec
  readonly times: Times
  readonly elapsed: () => number
  readonly onEvent: (event: StoreEvent) => void
}

type Head = Omit<Held, 'begun' | 'answer'> & { readonly answer: Omit<StoredResponse, 'age' | 'body'> }

export class Entries {
  readonly #options: EntriesOptions

  constructor(options: EntriesOptions) {
    this.#options = options
  }

  /** The entry, begun by this process' clock; undefined when there is none, or it is garbage, or it did not come in time. */
  async get(key: string): Promise<Held | undefined> {
    const { link, codec, times, elapsed, onEvent } = this.#options
    const name = names.entry(key)
    const asked = elapsed()
    const [bytes, left] = await Promise.all([
      link.step(times.command, (client) => client.getBuffer(name)),
      link.step(times.command, (client) => client.pttl(name)),
    ])
    if (isForeign(bytes)) onEvent('garbage')
    if (!bytes.ok || bytes.value === null || !left.ok || left.value === -2) return undefined
    const opened = codec.decode(name, bytes.value)
    const head = headOf(opened?.head)
    // Nobody here writes an entry without end, or with more time than it says.
    if (opened === undefined || head === undefined || left.value < 0) return garbage(onEvent)
    const whole = lifetime({ ...head.answer, body: opened.body })
    if (left.value > whole) return garbage(onEvent)
    // Small replies are views of a larger buffer of the connection, which a near copy must not keep alive.
    const answer = { ...head.answer, body: Buffer.from(opened.body) }
    return { ...head, answer, begun: asked - (whole - left.value) }
  }

  /** True when Redis took it. */
  async set(key: string, held: Held): Promise<boolean> {
    const { link, codec, times, elapsed, onEvent } = this.#options
    const { begun, answer, ...rest } = held
    const left = Math.floor(lifetime(answer) - (elapsed() - begun))
    if (left < 1) return false
    const name = names.entry(key)
    const { body: bytes, ...shown } = answer
    const sealed = codec.encode(name, { ...rest, answer: shown } satisfies Head, bytes)
    const reply = await link.step(times.slow, (client) => client.set(name, sealed, 'PX', left))
    if (!reply.ok && reply.fault.startsWith('OOM')) onEvent('full')
    return reply.ok
  }

  async drop(key: string): Promise<void> {
    const { link, times } = this.#options
    await link.step(times.slow, (client) => client.unlink(names.entry(key)))
  }
}

function garbage(onEvent: (event: StoreEvent) => void): undefined {
  onEvent('garbage')
  return undefined
}

/** Another kind of value stands where an entry belongs. */
function isForeign(reply: Reply<unknown>): boolean {
  return !reply.ok && reply.fault.startsWith('WRONGTYPE')
}

/** Believes a head only as far as it has the right shape: an older version of the edge may have written it. */
function headOf(value: unknown): Head | undefined {
  if (!isRecord(value)) return undefined
  const { answer, generation, epochs, tags, listed } = value
  if (!isRecord(answer) || !isListed(listed) || typeof generation !== 'string') return undefined
  if (!isTexts(epochs) || !isTexts(tags)) return undefined
  const { status, etag, ttl, staleWhileRevalidate, staleIfError, fetchTime, clusterStatus } = answer
  if (!isFieldValue(etag) || !isNumber(status) || !isNumber(fetchTime)) return undefined
  if (!isNumber(ttl) || !isNumber(staleWhileRevalidate) || !isNumber(staleIfError)) return undefined
  if (clusterStatus !== undefined && !isFieldValue(clusterStatus)) return undefined
  const times = { ttl, staleWhileRevalidate, staleIfError, fetchTime }
  const shown = { status, etag, ...times, ...(clusterStatus !== undefined && { clusterStatus }) }
  return { answer: shown, generation, epochs, tags, listed }
}

/** Both become headers: a line break in one would begin a header of its own (RFC 9110 section 5.5). */
function isFieldValue(value: unknown): value is string {
  return typeof value === 'string' && /^[\x20-\x7e]*$/.test(value)
}

export function isListed(value: unknown): value is StoredResponseInfo {
  if (!isRecord(value)) return false
  const { url, group, endpoint, scope, tags } = value
  return [url, group, endpoint, scope].every((text) => typeof text === 'string') && isTexts(tags)
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

export function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string')
}

export function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}
