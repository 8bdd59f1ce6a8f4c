/**
 * Writes that wait for a person. The code that confirms a write is shown to the person and never to the assistant, so no text
 * that the assistant reads can lead it to a write. A code is for one write, once, and for a short time.
 */
import { randomInt, timingSafeEqual } from 'node:crypto'
import type { EdgeCall } from './operations.ts'

interface Pending {
  readonly id: string
  readonly call: EdgeCall
  readonly code: string
  readonly expires: number
  wrongCodes: number
}

interface Refused {
  readonly ok: false
  readonly reason: string
}

const MAX_PENDING = 20
/** A code has 40 random bits; three guesses find none. */
const MAX_WRONG_CODES = 3
/** Without characters that look alike. */
const ALPHABET = '23456789ABCDEFGHJKLMNPQRSTUVWXYZ'

export class Confirmations {
  readonly #pending = new Map<string, Pending>()
  readonly #lifetimeMs: number
  readonly #clock: () => number

  constructor(lifetimeMs: number, clock: () => number = () => performance.now()) {
    this.#lifetimeMs = lifetimeMs
    this.#clock = clock
  }

  /** The oldest of many writes is forgotten. */
  add(call: EdgeCall): Pending {
    const [oldest] = this.#pending.keys()
    if (this.#pending.size >= MAX_PENDING && oldest !== undefined) this.#pending.delete(oldest)
    const pending = {
      id: randomText(12),
      call,
      code: randomText(8),
      expires: this.#clock() + this.#lifetimeMs,
      wrongCodes: 0,
    }
    this.#pending.set(pending.id, pending)
    return pending
  }

  /** Returns a write that still waits. */
  find(id: unknown): { readonly ok: true; readonly pending: Pending } | Refused {
    const pending = this.#pending.get(String(id))
    if (pending === undefined) return refused('no write with this id waits for a confirmation; preview it again')
    if (this.#clock() <= pending.expires) return { ok: true, pending }
    this.#pending.delete(pending.id)
    return refused('the time for the confirmation has ended; preview the write again')
  }

  /** Returns the write and forgets it, before it is sent: a code is never used twice. */
  take(id: unknown, code: unknown): { readonly ok: true; readonly call: EdgeCall } | Refused {
    const found = this.find(id)
    if (!found.ok) return found
    const { pending } = found
    if (!isEqual(String(code).trim().toUpperCase(), pending.code)) {
      if (++pending.wrongCodes >= MAX_WRONG_CODES) this.#pending.delete(pending.id)
      return refused('the code is wrong; only the person who runs this server sees it')
    }
    this.#pending.delete(pending.id)
    return { ok: true, call: pending.call }
  }

  drop(id: string): void {
    this.#pending.delete(id)
  }
}

function refused(reason: string): Refused {
  return { ok: false, reason }
}

function randomText(length: number): string {
  return Array.from({ length }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')
}

function isEqual(a: string, b: string): boolean {
  const [first, second] = [Buffer.from(a), Buffer.from(b)]
  return first.length === second.length && timingSafeEqual(first, second)
}
