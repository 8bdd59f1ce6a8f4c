/** An entry held in this process: what a near copy and the memory store consist of, bounded in bytes. */
import { LRUCache } from 'lru-cache'
import type { Tag } from '../../catalogue/endpoint.ts'
import type { StoredResponse, StoredResponseInfo } from '../../core/response.ts'
import type { NewStoredResponse } from './contract.ts'

export interface Held {
  readonly answer: Omit<StoredResponse, 'age'>
  readonly generation: string
  readonly epochs: readonly string[]
  readonly tags: readonly Tag[]
  readonly listed: StoredResponseInfo
  /** The moment its fill, or that of its oldest part, began, by the clock of this process. */
  readonly begun: number
}

/** Milliseconds from the beginning of its fill until nobody may be served from it. */
export function lifetime(answer: Omit<StoredResponse, 'age'>): number {
  return answer.ttl + Math.max(answer.staleWhileRevalidate, answer.staleIfError)
}

/** The answer with its age; one that a soft drop made stale is fresh for less than its age. */
export function answerOf({ answer, begun }: Held, now: number, softened: boolean): StoredResponse {
  const age = Math.max(0, now - begun)
  // Written out: this runs for each hit, and a spread costs as much as the rest of it.
  const shown: { -readonly [Name in keyof StoredResponse]: StoredResponse[Name] } = {
    status: answer.status,
    body: answer.body,
    etag: answer.etag,
    age,
    ttl: softened ? Math.min(answer.ttl, age - 1) : answer.ttl,
    staleWhileRevalidate: answer.staleWhileRevalidate,
    staleIfError: answer.staleIfError,
    fetchTime: answer.fetchTime,
  }
  if (answer.clusterStatus !== undefined) shown.clusterStatus = answer.clusterStatus
  return shown
}

/** `begun`: when its fill began. */
export function heldOf(
  { response: answer, info: listed, epochs: mark, tags, initialAge: older = 0 }: NewStoredResponse,
  begun: number,
): Held {
  return { answer, listed, tags, generation: mark.generation, epochs: mark.epochs, begun: begun - older }
}

/** Keys to entries, the least recently used dropped beyond so many bytes; 0 bytes hold nothing. */
export class HeldEntries {
  readonly #entries: LRUCache<string, Held> | undefined
  readonly #elapsed: () => number

  constructor(bytes: number, elapsed: () => number) {
    this.#elapsed = elapsed
    this.#entries = bytes < 1 ? undefined : new LRUCache({ maxSize: bytes, sizeCalculation: sizeOf })
  }

  /** The entry, while its time is not over. */
  get(key: string, now = this.#elapsed()): Held | undefined {
    return this.#inTime(key, this.#entries?.get(key), now)
  }

  /** As `get`, but it counts as no use of the entry: one that is only looked at is not held longer for that. */
  peek(key: string, now = this.#elapsed()): Held | undefined {
    return this.#inTime(key, this.#entries?.peek(key), now)
  }

  set(key: string, held: Held): void {
    this.#entries?.set(key, withOwnBytes(held))
  }

  delete(key: string): void {
    this.#entries?.delete(key)
  }

  clear(): void {
    this.#entries?.clear()
  }

  /** All whose time is not over; the others are dropped on the way. */
  *all(): Generator<readonly [string, Held]> {
    const now = this.#elapsed()
    for (const [key, held] of [...(this.#entries?.entries() ?? [])]) {
      if (isOver(held, now)) this.#entries?.delete(key)
      else yield [key, held]
    }
  }

  #inTime(key: string, held: Held | undefined, now: number): Held | undefined {
    if (held === undefined || !isOver(held, now)) return held
    this.#entries?.delete(key)
    return undefined
  }

  get bytes(): number {
    return this.#entries?.calculatedSize ?? 0
  }

  get count(): number {
    return this.#entries?.size ?? 0
  }
}

/** How many times its own length the memory behind a body may have. */
const SPARE = 1.125

/** A short body is often a view of more (Node's pool, a reply of Redis), which would stay in memory with it as a whole. */
function withOwnBytes(held: Held): Held {
  const { body: bytes } = held.answer
  if (bytes.buffer.byteLength <= bytes.length * SPARE) return held
  const own = Buffer.allocUnsafeSlow(bytes.length)
  bytes.copy(own)
  return { ...held, answer: { ...held.answer, body: own } }
}

function isOver(held: Held, now: number): boolean {
  return now - held.begun >= lifetime(held.answer)
}

/** What an entry costs in memory beside its body, roughly: objects, texts, its place in the map. */
const OVERHEAD = 512

function sizeOf(held: Held, key: string): number {
  const texts = held.listed.url.length + key.length + 32 * held.epochs.length
  return held.answer.body.length + texts + OVERHEAD
}
