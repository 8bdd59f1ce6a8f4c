/**
 * The sessions at one node: a token for each account. Calls of one account share a login, and a failed login is remembered
 * for a short time, so that the calls which follow do not repeat it.
 */
import { LRUCache } from 'lru-cache'
import type { Counters } from '../../core/counters.ts'
import type { NodeFault } from '../../core/node-faults.ts'
import { withTimeout } from '../../core/timing.ts'
import { notSent } from '../layer.ts'
import type { ClusterLog } from '../options.ts'
import { FailedLogins } from './failed-logins.ts'
import {
  type Account,
  Login,
  type LoginFailure,
  type LoginOptions,
  type LoginResult,
  type Token,
  type TokenClock,
} from './login.ts'
import { LoginMemory, LoginTurns } from './login-pace.ts'

export interface SessionOptions extends LoginOptions {
  readonly clock: TokenClock
  sleep(ms: number): Promise<void>
  readonly log: ClusterLog
  readonly counters: Counters
}

/** What limits the wait for a login. */
export interface Patience {
  /** Milliseconds; Infinity: no limit. */
  readonly remaining: number
  readonly signal: AbortSignal
}

interface PendingLogin {
  readonly result: Promise<LoginResult | undefined>
  /** Calls that wait for it; a renewal counts as one. */
  waiting: number
}

const MAX_ACCOUNTS = 1000
/** A call waits at least this long for its turn to log in, and a renewal as well: its token is still good. */
const MIN_PATIENCE_MS = 1000
const MAX_RETRY_AFTER_MS = 60_000

export class Sessions {
  readonly #options: SessionOptions
  readonly #login: Login
  readonly #turns: LoginTurns
  readonly #failedLogins: FailedLogins
  readonly #tokens = new LRUCache<string, Token>({ max: MAX_ACCOUNTS })
  /** Accounts whose last login the node accepted. */
  readonly #accepted = new LRUCache<string, true>({ max: MAX_ACCOUNTS })
  readonly #memory: LoginMemory
  readonly #pending = new Map<string, PendingLogin>()

  constructor(options: SessionOptions) {
    const clock = () => options.clock.elapsed()
    this.#options = options
    this.#login = new Login(options)
    this.#turns = new LoginTurns({ clock, sleep: options.sleep })
    this.#memory = new LoginMemory(clock)
    this.#failedLogins = new FailedLogins(options.node, options.counters)
  }

  /** Returns the token of the account, which is renewed in the background when it is due. */
  find(account: Account): Token | undefined {
    const token = this.#tokens.get(account.key)
    if (token?.hasExpired) this.#tokens.delete(account.key)
    if (token === undefined || token.hasExpired) return undefined
    if (token.isDueForRenewal && !this.#pending.has(account.key) && this.#rejection(account, 0) === undefined) {
      this.#start(account).waiting += 1
    }
    return token
  }

  /** Removes a token that its node has refused. */
  drop(account: Account, token: Token): void {
    if (this.#tokens.get(account.key) === token) this.#tokens.delete(account.key)
  }

  /** Removes a token that its node refused right after it was issued. The next login is sent later. */
  reject(account: Account, token: Token): void {
    this.drop(account, token)
    this.#recordRefusal(account, this.#failure('refusedCredentials', 'the node refuses its own token'))
  }

  /** Logs in, together with the other calls of the account that wait for a login. */
  async logIn(account: Account, patience: Patience): Promise<LoginResult> {
    const login = this.#pending.get(account.key) ?? this.#rejection(account, patience.remaining) ?? this.#start(account)
    if ('ok' in login) return login
    login.waiting += 1
    try {
      const late = this.#failure('timeout', 'timed out during the login')
      const result = await withTimeout(login.result, patience.remaining, late, patience.signal)
      return result ?? this.#failure('cancelled', 'the login was not sent')
    } catch {
      // Logins never reject, so this is the abort of the signal.
      return this.#failure('cancelled', 'client disconnected')
    } finally {
      login.waiting -= 1
    }
  }

  /** Returns why no login is sent now. */
  #rejection(account: Account, remaining: number): LoginFailure | undefined {
    const known = this.#memory.find(account.key)
    if (known !== undefined) return known
    const blockedFor = this.#failedLogins.blockedFor(account.username, this.#isTrusted(account))
    if (blockedFor > 0) return this.#blocked(blockedFor)
    const { wait } = this.#turns
    if (Number.isFinite(wait) && wait <= Math.max(remaining, MIN_PATIENCE_MS)) return undefined
    return this.#failure('overloaded', 'logins are queued', Math.min(wait, MAX_RETRY_AFTER_MS))
  }

  /** Only the operator enters the password of the edge, and a password that was right is wrong only after a change. */
  #isTrusted({ key, isOwn }: Account): boolean {
    return isOwn || this.#accepted.has(key)
  }

  #blocked(ms: number): LoginFailure {
    return this.#failure('loginsBlocked', 'too many failed logins at the node', ms)
  }

  #start(account: Account): PendingLogin {
    const { key } = account
    const end = () => {
      if (this.#pending.get(key) === pending) this.#pending.delete(key)
    }
    const isWanted = () => {
      // Ended at once, so that no further call joins a login which is not sent.
      if (pending.waiting === 0) end()
      return pending.waiting > 0
    }
    const send = async () => {
      const outcome = await this.#send(account)
      end()
      this.#record(account, outcome)
      return outcome
    }
    // The login starts in a later turn of the event loop.
    const pending: PendingLogin = { result: this.#turns.run(send, isWanted), waiting: 0 }
    this.#pending.set(key, pending)
    return pending
  }

  async #send(account: Account): Promise<LoginResult> {
    const counted = await this.#failedLogins.count(account.username, this.#isTrusted(account))
    if (counted.isBlocked) return this.#blocked(counted.blockedFor)
    const outcome = await this.#login.send(account)
    if (!isRefusal(outcome)) await counted.cancel()
    return outcome
  }

  #record(account: Account, outcome: LoginResult): void {
    const { key } = account
    if (outcome.ok) {
      this.#memory.forget(key)
      this.#tokens.set(key, outcome.token)
      this.#accepted.set(key, true)
    } else if (isRefusal(outcome)) {
      this.#tokens.delete(key)
      this.#accepted.delete(key)
      this.#recordRefusal(account, outcome)
    } else this.#memory.addFault(key, outcome)
  }

  #recordRefusal({ key }: Account, failure: LoginFailure): void {
    const ms = this.#memory.addRefusal(key, failure)
    const { node, log } = this.#options
    log('warn', 'login refused by node', { node, seconds: ms / 1000 })
  }

  /** `waitMs`: milliseconds until another request may succeed. */
  #failure(fault: NodeFault, detail: string, waitMs?: number): LoginFailure {
    const retryAfter = waitMs === undefined ? undefined : Math.max(1, Math.ceil(waitMs / 1000))
    const failure = { fault, detail, ...(retryAfter !== undefined && { retryAfter }) }
    return { ok: false, failure: notSent(this.#options, failure) }
  }
}

function isRefusal(outcome: LoginResult): outcome is LoginFailure {
  return !outcome.ok && 'failure' in outcome && outcome.failure.fault === 'refusedCredentials'
}
