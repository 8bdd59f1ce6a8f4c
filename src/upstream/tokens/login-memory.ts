/** Failed logins of accounts, remembered for a short time, so that the calls which follow do not repeat them. */
import { LRUCache } from 'lru-cache'
import type { LoginFailure } from './login.ts'

interface FailedLogin {
  readonly failure: LoginFailure
  readonly until: number
  /** Consecutive refusals. */
  readonly refusals: number
}

const MAX_ACCOUNTS = 1000
/** A failure of the node is remembered until the next login may start. */
const FAULT_MEMORY_MS = 1000
/** How long refused credentials are remembered: the first time, and at most. Each further refusal doubles the time. */
const REFUSAL_MEMORY_MS = 5_000
const MAX_REFUSAL_MEMORY_MS = 60_000

export class LoginMemory {
  readonly #clock: () => number
  readonly #failures = new LRUCache<string, FailedLogin>({ max: MAX_ACCOUNTS })

  /** `clock`: monotonic milliseconds. */
  constructor(clock: () => number) {
    this.#clock = clock
  }

  find(key: string): LoginFailure | undefined {
    const known = this.#failures.get(key)
    return known !== undefined && known.until > this.#clock() ? known.failure : undefined
  }

  /** The node failed, which says nothing about the credentials. */
  addFault(key: string, failure: LoginFailure): void {
    const refusals = this.#failures.get(key)?.refusals ?? 0
    this.#failures.set(key, { failure, until: this.#clock() + FAULT_MEMORY_MS, refusals })
  }

  /** Returns the milliseconds for which it is remembered. */
  addRefusal(key: string, failure: LoginFailure): number {
    const refusals = (this.#failures.get(key)?.refusals ?? 0) + 1
    const ms = Math.min(MAX_REFUSAL_MEMORY_MS, REFUSAL_MEMORY_MS * 2 ** (refusals - 1))
    this.#failures.set(key, { failure, until: this.#clock() + ms, refusals })
    return ms
  }

  forget(key: string): void {
    this.#failures.delete(key)
  }
}
