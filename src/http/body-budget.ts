/**
 * The bytes of the bodies of all requests that are not answered yet. Each is bounded by itself, and many uploads without their
 * last byte would fill the memory together.
 */
import type { ServerResponse } from 'node:http'
import { EdgeError } from '../core/errors.ts'

/** The budget, in bodies of the greatest permitted size. */
const GREATEST_BODIES = 8

interface BudgetLimits {
  /** Bytes of the greatest body. */
  readonly upload: number
  /** Milliseconds until a request must be received. */
  readonly timeout: number
}

export class BodyBudget {
  readonly #limits: () => BudgetLimits
  #bytes = 0
  /** When the requests with a body began, the oldest first; monotonic milliseconds. */
  readonly #open = new Map<ServerResponse, number>()

  constructor(limits: () => BudgetLimits) {
    this.#limits = limits
  }

  /**
   * Returns the function that counts received bytes of one request until its response is closed. It throws 946 if they are
   * more than the budget has.
   */
  open(response: ServerResponse): (bytes: number) => void {
    let held = 0
    this.#open.set(response, performance.now())
    response.once('close', () => {
      this.#open.delete(response)
      this.#bytes -= held
    })
    return (bytes) => {
      if (this.#bytes + bytes > this.#limits().upload * GREATEST_BODIES) throw this.#exceeded()
      held += bytes
      this.#bytes += bytes
    }
  }

  /** The oldest body is complete or rejected at its timeout, at the latest. */
  #exceeded(): EdgeError {
    const [oldest = 0] = this.#open.values()
    const seconds = Math.ceil((oldest + this.#limits().timeout - performance.now()) / 1000)
    return new EdgeError(946, '', { headers: { 'retry-after': String(Math.max(1, seconds)) } })
  }
}
