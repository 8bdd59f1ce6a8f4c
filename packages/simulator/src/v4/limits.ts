/** The limits that each node's API has for itself: failed logins of an address, and requests in a minute. */
import type { IncomingMessage } from 'node:http'
import { V4Error } from './errors.ts'

export const MAX_FAILED_LOGINS = 50
const BLOCK_MS = 300_000
const WINDOW_MS = 60_000

export class NodeLimits {
  readonly #failures = new Map<string, { count: number; readonly first: number }>()
  /** Logins of each address that are being checked. */
  readonly #inFlight = new Map<string, number>()
  readonly #now: () => Date
  readonly #perMinute: number
  #windowStart: number | undefined
  #requests = 0
  #refused = 0

  /** `perMinute`: 0 for no limit. */
  constructor(perMinute: number, now: () => Date) {
    this.#perMinute = perMinute
    this.#now = now
  }

  /** Requests that were refused because they were over the limit. */
  get refused(): number {
    return this.#refused
  }

  /** Counts a request. Throws 6000 for a blocked address, and 6001 over the limit of requests. */
  admit(request: IncomingMessage): void {
    if (this.#isBlocked(addressOf(request))) throw new V4Error(6000)
    if (this.#perMinute === 0) return
    const now = this.#now().getTime()
    this.#windowStart ??= now
    if (now - this.#windowStart <= WINDOW_MS) {
      this.#requests += 1
    } else {
      // The first request of a later window is not counted, as in the real API.
      this.#requests = 0
      this.#windowStart = now
    }
    if (this.#requests <= this.#perMinute) return
    this.#refused += 1
    throw new V4Error(6001)
  }

  /**
   * Checks a login of a release that counts attempts in flight as failed. Throws 6000 if they are too many together with the
   * failures.
   */
  async countInFlight<T>(request: IncomingMessage, logIn: () => Promise<T>): Promise<T> {
    const address = addressOf(request)
    const inFlight = this.#inFlight.get(address) ?? 0
    if (inFlight + (this.#failures.get(address)?.count ?? 0) >= MAX_FAILED_LOGINS) throw new V4Error(6000)
    this.#inFlight.set(address, inFlight + 1)
    try {
      return await logIn()
    } finally {
      this.#inFlight.set(address, (this.#inFlight.get(address) ?? 1) - 1)
    }
  }

  /** Counts a failed login of the address; a success does not clear the count. */
  fail(request: IncomingMessage, count = 1): void {
    this.block(addressOf(request), count)
  }

  /** Counts this number of failed logins of an address. */
  block(address: string, count = MAX_FAILED_LOGINS): void {
    const known = this.#failures.get(address) ?? { count: 0, first: this.#now().getTime() }
    known.count += count
    this.#failures.set(address, known)
  }

  /** The block ends 300 s after the first failure. */
  #isBlocked(address: string): boolean {
    const failures = this.#failures.get(address)
    if (failures === undefined) return false
    if (this.#now().getTime() - failures.first >= BLOCK_MS) {
      this.#failures.delete(address)
      return false
    }
    return failures.count >= MAX_FAILED_LOGINS
  }

  /** Forgets failures and requests, as a restart of the API does. */
  reset(): void {
    this.#failures.clear()
    this.#windowStart = undefined
    this.#requests = 0
  }
}

function addressOf(request: IncomingMessage): string {
  return (request.socket.remoteAddress ?? '').replace(/^::ffff:/, '')
}
