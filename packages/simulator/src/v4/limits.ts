/**
 * The limits that each node's API has for itself: failed logins of an address, and requests in a minute. Releases 4.x count
 * the requests of all clients together, and block an address with all its tokens. Release 5.0 counts the requests of each
 * address, has a second count for those without valid credentials and for unknown paths, and blocks logins only.
 */
import type { IncomingMessage } from 'node:http'

import { Refusal, V4Error } from './errors.ts'
import { countsLoginsInFlight, isMasterOnly } from './releases.ts'

const BLOCK_MS = 300_000
const WINDOW_MS = 60_000
const METHOD_NOT_ALLOWED = 405
const UNAUTHORIZED = 401
/** Statuses of requests without valid credentials, and of those to paths and methods that the API does not have. */
const UNAUTHENTICATED: readonly number[] = [UNAUTHORIZED, 404, METHOD_NOT_ALLOWED]

export interface LimitOptions {
  /** Requests in a minute; 0: no limit. */
  readonly perMinute: number
  /** Release 5.0: requests in a minute without valid credentials or to unknown paths; 0: no limit. */
  readonly unauthenticatedPerMinute: number
  readonly maxFailedLogins: number
  /** Of the node. */
  release(): string
  now(): Date
}

export class NodeLimits {
  readonly #options: LimitOptions
  /** By address. `since`: milliseconds of the first failure, or of the latest login where the window slides. */
  readonly #failures = new Map<string, { count: number; since: number }>()
  /** Logins of each address that are being checked. */
  readonly #inFlight = new Map<string, number>()
  readonly #requests: RequestCount
  readonly #unauthenticated: RequestCount
  #refused = 0
  #unknown = 0

  constructor(options: LimitOptions) {
    this.#options = options
    this.#requests = new RequestCount(options.perMinute)
    this.#unauthenticated = new RequestCount(options.unauthenticatedPerMinute)
  }

  /** Requests that were refused because they were over a limit of requests. */
  get refused(): number {
    return this.#refused
  }

  /** Requests for paths and methods that the API does not have. */
  get unknown(): number {
    return this.#unknown
  }

  /** Counts a request. Throws 6000 for a blocked address, and 6001 over the limit of requests. */
  admit(request: IncomingMessage): void {
    if (!this.#isRelease5() && this.#isBlocked(addressOf(request))) throw new V4Error(6000)
    if (!this.#requests.add(this.#nameOf(request), this.#now())) throw this.#over(6001)
  }

  /**
   * Counts what the API refused before it knew the caller or the operation. Returns the error of the response: 6005 over the
   * limit of such requests.
   */
  countRefusal(request: IncomingMessage, refused: unknown): unknown {
    if (!(refused instanceof Refusal) || !UNAUTHENTICATED.includes(refused.status)) return refused
    const { status } = refused
    if (status !== UNAUTHORIZED) this.#unknown += 1
    if (!this.#isRelease5()) return refused
    const name = this.#nameOf(request)
    if (status === METHOD_NOT_ALLOWED) this.#requests.takeBack(name)
    return this.#unauthenticated.add(name, this.#now()) ? refused : this.#over(6005)
  }

  /**
   * Runs a login. From 4.14.8 on, logins that are being checked count as failed, and each login begins the window again.
   * Throws 6000 if they are too many together with the failures.
   */
  async countLogin<T>(request: IncomingMessage, logIn: () => Promise<T>): Promise<T> {
    if (!countsLoginsInFlight(this.#options.release())) return logIn()
    const { maxFailedLogins } = this.#options
    const address = addressOf(request)
    const inFlight = this.#inFlight.get(address) ?? 0
    const isBlocked = this.#isBlocked(address)
    const failures = this.#failures.get(address)
    // Release 5.0 counts the login itself too: of five wrong ones with a limit of five, the last is not checked.
    const allowed = this.#isRelease5() ? maxFailedLogins - 1 : maxFailedLogins
    if (isBlocked || inFlight + (failures?.count ?? 0) >= allowed) throw new V4Error(6000)
    if (failures !== undefined) failures.since = this.#now()
    this.#inFlight.set(address, inFlight + 1)
    try {
      return await logIn()
    } finally {
      this.#inFlight.set(address, (this.#inFlight.get(address) ?? 1) - 1)
    }
  }

  /** Counts a failed login of the address; a success does not clear the count. */
  fail(request: IncomingMessage): void {
    this.block(addressOf(request), 1)
  }

  /** Counts this number of failed logins of an address; absent: as many as block it. */
  block(address: string, count = this.#options.maxFailedLogins): void {
    const known = this.#failures.get(address) ?? { count: 0, since: this.#now() }
    known.count += count
    this.#failures.set(address, known)
  }

  /** The block ends 300 s after the first failure, or after the latest login. */
  #isBlocked(address: string): boolean {
    const failures = this.#failures.get(address)
    if (failures === undefined) return false
    if (this.#now() - failures.since >= BLOCK_MS) {
      this.#failures.delete(address)
      return false
    }
    return failures.count >= this.#options.maxFailedLogins
  }

  /** Forgets failures and requests, as a restart of the API does. */
  reset(): void {
    this.#failures.clear()
    this.#requests.clear()
    this.#unauthenticated.clear()
  }

  #over(code: 6001 | 6005): V4Error {
    this.#refused += 1
    return new V4Error(code)
  }

  /** Whose requests are counted together. */
  #nameOf(request: IncomingMessage): string {
    return this.#isRelease5() ? addressOf(request) : 'all'
  }

  #isRelease5(): boolean {
    return isMasterOnly(this.#options.release())
  }

  #now(): number {
    return this.#options.now().getTime()
  }
}

/** Counts requests in fixed minutes; each begins with a request. */
class RequestCount {
  readonly #limit: number
  readonly #windows = new Map<string, { readonly start: number; count: number }>()

  /** `limit`: 0 for none. */
  constructor(limit: number) {
    this.#limit = limit
  }

  /** Returns whether the request is within the limit. The first request of a later window is not counted, as in the real API. */
  add(name: string, now: number): boolean {
    const known = this.#windows.get(name)
    const isOver = known !== undefined && now - known.start > WINDOW_MS
    const window = known === undefined || isOver ? { start: now, count: 0 } : known
    if (!isOver) window.count += 1
    this.#windows.set(name, window)
    return this.#limit === 0 || window.count <= this.#limit
  }

  takeBack(name: string): void {
    const window = this.#windows.get(name)
    if (window !== undefined) window.count -= 1
  }

  clear(): void {
    this.#windows.clear()
  }
}

function addressOf(request: IncomingMessage): string {
  return (request.socket.remoteAddress ?? '').replace(/^::ffff:/, '')
}
