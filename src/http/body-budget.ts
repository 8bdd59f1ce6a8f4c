/**
 * The bytes of the bodies of all requests that are not answered yet. Each is bounded by itself, and many uploads without their
 * last byte would fill the memory together. Each user has half of the budget, so that one cannot keep the others from writing.
 */
import type { ServerResponse } from 'node:http'
import { EdgeError, retryAfter } from '../core/errors.ts'

/** The budget of all users, and of one, in bodies of the greatest permitted size. */
const GREATEST_BODIES = 8
const GREATEST_BODIES_OF_USER = 4

interface BudgetLimits {
  /** Bytes of the greatest body. */
  readonly upload: number
  /** Milliseconds until a request must be received. */
  readonly timeout: number
}

interface OpenBody {
  readonly user: string
  /** Monotonic milliseconds. */
  readonly since: number
}

export class BodyBudget {
  readonly #limits: () => BudgetLimits
  #bytes = 0
  readonly #bytesOfUsers = new Map<string, number>()
  /** The requests with a body, the oldest first. */
  readonly #open = new Map<ServerResponse, OpenBody>()

  constructor(limits: () => BudgetLimits) {
    this.#limits = limits
  }

  /**
   * Returns the function that counts received bytes of one request until its response is closed. It throws 946 if they are
   * more than the budget, or the share of the user, has.
   */
  open(response: ServerResponse, user: string): (bytes: number) => void {
    // The client may have left already, for example while its password was verified.
    if (response.destroyed) return () => undefined
    let held = 0
    this.#open.set(response, { user, since: performance.now() })
    response.once('close', () => {
      this.#open.delete(response)
      this.#count(user, -held)
    })
    return (bytes) => {
      const { upload } = this.#limits()
      if (this.#bytesOf(user) + bytes > upload * GREATEST_BODIES_OF_USER) throw this.#exceeded(user)
      if (this.#bytes + bytes > upload * GREATEST_BODIES) throw this.#exceeded()
      held += bytes
      this.#count(user, bytes)
    }
  }

  #bytesOf(user: string): number {
    return this.#bytesOfUsers.get(user) ?? 0
  }

  #count(user: string, bytes: number): void {
    this.#bytes += bytes
    const left = this.#bytesOf(user) + bytes
    if (left === 0) this.#bytesOfUsers.delete(user)
    else this.#bytesOfUsers.set(user, left)
  }

  /** The oldest body, of this user or of all, is complete or rejected at its timeout, at the latest. */
  #exceeded(user?: string): EdgeError {
    const oldest = [...this.#open.values()].find((body) => user === undefined || body.user === user)
    const left = (oldest?.since ?? 0) + this.#limits().timeout - performance.now()
    return new EdgeError(946, '', { headers: retryAfter(left) })
  }
}
