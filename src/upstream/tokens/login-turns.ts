/**
 * When logins at one node are sent: few at once, two of an account with a pause in between, and none that the limits on failed
 * logins forbid.
 */
import type { CancelSignal } from '../../core/cancellation.ts'
import { isRelease5 } from '../../core/node-call.ts'
import { Semaphore } from '../../core/semaphore.ts'
import type { ClusterSettings } from '../options.ts'
import { createFailedLogins, type FailedLogins, type LoginSource } from './failed-logins.ts'
import {
  type Account,
  failureOf,
  isRefusal,
  Login,
  type LoginFailure,
  type LoginOptions,
  type LoginResult,
} from './login.ts'

export interface LoginTurnOptions extends LoginOptions, Pick<ClusterSettings, 'loginInterval' | 'counters'> {
  sleep(ms: number): Promise<void>
  /** Returns the release of the node; `undefined`: not known. */
  readonly release: () => string | undefined
}

/** What limits the wait for a login. */
export interface Patience {
  /** Milliseconds; Infinity: no limit. */
  readonly remaining: number
  readonly signal: CancelSignal
}

/** A login costs a node 130 ms of CPU in its only login process. More at once would only wait there. */
const MAX_PARALLEL_LOGINS = 4
/** In release 5.0, logins in flight count as failed: of 12 right ones at once, with a limit of 5, five were refused. */
const MAX_PARALLEL_LOGINS_OF_RELEASE_5 = 1
const LOGIN_MS = 150
/** How often a login waits for those in flight that count against the same limit. */
const MAX_FLIGHT_WAITS = 40
/** Logins that wait. Each waits for each one before it. */
const MAX_WAITING = 64

export class LoginTurns {
  readonly #options: LoginTurnOptions
  readonly #login: Login
  readonly #failedLogins: FailedLogins
  readonly #turns: Semaphore
  /** Logins that wait for their turn. */
  #waiting = 0

  constructor(options: LoginTurnOptions) {
    this.#options = options
    this.#login = new Login(options)
    this.#failedLogins = createFailedLogins(options.node, options.counters, options.release)
    const isOneByOne = () => isRelease5(options.release())
    this.#turns = new Semaphore(() => (isOneByOne() ? MAX_PARALLEL_LOGINS_OF_RELEASE_5 : MAX_PARALLEL_LOGINS))
  }

  get isFull(): boolean {
    return this.#waiting >= MAX_WAITING
  }

  /** Returns the milliseconds for which failed logins forbid another one, as far as it is known. */
  blockedFor(source: LoginSource): number {
    return this.#failedLogins.blockedFor(source)
  }

  /** Returns the milliseconds until the turn of another login. `lastLogin`: of the account, by the clock of `elapsed`. */
  waitFor(lastLogin: number): number {
    return this.#untilNext(lastLogin) + this.#waiting * LOGIN_MS
  }

  /** Runs `work` when it is its turn. */
  async run<Result>(lastLogin: number, work: () => Promise<Result>): Promise<Result> {
    this.#waiting += 1
    const pause = this.#untilNext(lastLogin)
    if (pause > 0) await this.#options.sleep(pause)
    await this.#turns.take()?.taken
    this.#waiting -= 1
    return work().finally(() => this.#turns.release())
  }

  /** To be called in the turn of the account. */
  async send(account: Account, sourceOf: () => LoginSource): Promise<LoginResult> {
    let counted = await this.#failedLogins.count(sourceOf())
    // Logins that are in flight count as failed, and most of them are right: those behind them wait.
    for (let waits = 0; counted.isBlocked && !counted.isDecided && waits < MAX_FLIGHT_WAITS; waits += 1) {
      await this.#options.sleep(LOGIN_MS)
      counted = await this.#failedLogins.count(sourceOf())
    }
    if (counted.isBlocked) return blocked(this.#options.node, counted.blockedFor)
    const outcome = await this.#login.send(account)
    await counted.end(outcome.ok ? 'right' : isRefusal(outcome) ? 'wrong' : 'undecided')
    const isBlocked = !outcome.ok && 'failure' in outcome && outcome.failure.fault === 'loginsBlocked'
    if (isBlocked) await this.#failedLogins.block()
    return outcome
  }

  #untilNext(lastLogin: number): number {
    return Math.max(0, lastLogin + this.#options.loginInterval - this.#options.clock.elapsed())
  }
}

export function blocked(node: string, ms: number): LoginFailure {
  return failureOf(node, 'loginsBlocked', 'tooManyFailedLogins', ms)
}
