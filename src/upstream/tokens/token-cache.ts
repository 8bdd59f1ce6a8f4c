/**
 * The tokens of one node: one record for each account. Calls of one account share a login, and a failed login is remembered
 * for a short time, so that the calls which follow do not repeat it.
 */
import { LRUCache } from 'lru-cache'
import type { CancelSignal } from '../../core/cancellation.ts'
import { isRelease5 } from '../../core/node-call.ts'
import type { FailureReason, NodeFault } from '../../core/node-faults.ts'
import { Semaphore } from '../../core/semaphore.ts'
import { withTimeout } from '../../core/timing.ts'
import { ABANDONED } from '../abandoned-calls.ts'
import { notSent } from '../call.ts'
import type { ClusterSettings } from '../options.ts'
import { FailedLogins, type LoginSource } from './failed-logins.ts'
import { type Account, Login, type LoginFailure, type LoginOptions, type LoginResult } from './login.ts'
import type { Token } from './token.ts'

export interface TokenCacheOptions
  extends LoginOptions,
    Pick<ClusterSettings, 'loginInterval' | 'hasEndedToken' | 'log' | 'counters'> {
  sleep(ms: number): Promise<void>
  /** Returns the release of the node; `undefined`: not known. */
  readonly release: () => string | undefined
  /** Called when the node has issued a token. */
  readonly onLogin: () => void
}

/** What limits the wait for a login. */
export interface Patience {
  /** Milliseconds; Infinity: no limit. */
  readonly remaining: number
  readonly signal: CancelSignal
}

interface PendingLogin {
  readonly result: Promise<LoginResult | undefined>
  /** Calls that wait for it; a renewal counts as one. */
  waiting: number
}

interface AccountRecord {
  token?: Token | undefined
  isAccepted: boolean
  /** The failure of the last login, which calls get until then. */
  failed?: { readonly failure: LoginFailure; readonly until: number } | undefined
  refusals: number
  login?: PendingLogin | undefined
  /** When the last login was sent, by the clock of `elapsed`. */
  lastLogin: number
}

const MAX_ACCOUNTS = 1000
/** A call waits at least this long for its turn to log in, and a renewal as well: its token is still good. */
const MIN_PATIENCE_MS = 1000
const MAX_RETRY_AFTER_MS = 60_000
/** A login costs a node 130 ms of CPU in its only login process. More at once would only wait there. */
const MAX_PARALLEL_LOGINS = 4
/** In release 5.0, logins in flight count as failed: of 12 right ones at once, with a limit of 5, five were refused. */
const MAX_PARALLEL_LOGINS_OF_RELEASE_5 = 1
const LOGIN_MS = 150
/** How often a login waits for those in flight that count against the same limit. */
const MAX_FLIGHT_WAITS = 40
/** Logins that wait. Each waits for each one before it. */
const MAX_WAITING = 64
const MINUTE_MS = 60_000
/** Accounts whose tokens end within a minute, from which on all tokens of release 5.0 are replaced. */
const ENDED_ACCOUNTS = 3
/** How long refused credentials are remembered: the first time, and at most. Each further refusal doubles the time. */
const REFUSAL_MEMORY_MS = 5_000
const MAX_REFUSAL_MEMORY_MS = 60_000

export class TokenCache {
  readonly #options: TokenCacheOptions
  readonly #login: Login
  readonly #failedLogins: FailedLogins
  /** A record begins with a login, so a flood of wrong credentials displaces no tokens: few logins are sent. */
  readonly #records = new LRUCache<string, AccountRecord>({ max: MAX_ACCOUNTS })
  readonly #turns: Semaphore
  /** Logins that wait for their turn. */
  #waiting = 0
  /** Accounts whose token the node has refused in the last minute. Release 5.0 only. */
  readonly #endedAt = new Map<string, number>()

  constructor(options: TokenCacheOptions) {
    this.#options = options
    this.#login = new Login(options)
    this.#failedLogins = new FailedLogins(options.node, options.counters, options.release)
    const isOneByOne = () => isRelease5(options.release())
    this.#turns = new Semaphore(() => (isOneByOne() ? MAX_PARALLEL_LOGINS_OF_RELEASE_5 : MAX_PARALLEL_LOGINS))
  }

  /** Returns the token of the account, which is renewed in the background when it is due. */
  find(account: Account): Token | undefined {
    const { token, login } = this.#records.get(account.key) ?? {}
    if (!this.#isGood(token)) return undefined
    if (token.isDueForRenewal && login === undefined && this.#rejection(account, 0) === undefined) {
      this.#start(account).waiting += 1
    }
    return token
  }

  #isGood(token: Token | undefined): token is Token {
    return token !== undefined && !token.hasExpired && !this.#options.hasEndedToken(token.subject, token.issuedAt)
  }

  /** Returns a token of any account, the one that was used last; sends no login. `refused`: the node refuses this one. */
  atHand(refused?: Token): Token | undefined {
    for (const record of this.#records.values()) {
      if (record.token !== undefined && record.token === refused) record.token = undefined
      if (this.#isGood(record.token)) return record.token
    }
    return undefined
  }

  /** Removes a token that its node has refused. */
  drop({ key }: Account, token: Token): void {
    const record = this.#records.get(key)
    if (record?.token !== token) return
    record.token = undefined
    if (isRelease5(this.#options.release())) this.#noteEnded(key)
  }

  /** If tokens of several accounts have ended past the edge, most likely all have: release 5.0 answers ten such calls a minute. */
  #noteEnded(key: string): void {
    const now = this.#options.clock.elapsed()
    for (const [other, at] of this.#endedAt) if (now - at >= MINUTE_MS) this.#endedAt.delete(other)
    this.#endedAt.set(key, now)
    if (this.#endedAt.size < ENDED_ACCOUNTS) return
    this.#endedAt.clear()
    for (const record of this.#records.values()) record.token = undefined
  }

  /** Removes a token that its node refused right after it was issued. The next login is sent later. */
  reject(account: Account, token: Token): void {
    this.drop(account, token)
    this.#recordRefusal(this.#recordOf(account), this.#failure('refusedCredentials', 'tokenRefused'))
  }

  /** Logs in, together with the other calls of the account that wait for a login. */
  async logIn(account: Account, patience: Patience): Promise<LoginResult> {
    const pending = this.#records.get(account.key)?.login
    const login = pending ?? this.#rejection(account, patience.remaining) ?? this.#start(account)
    if ('ok' in login) return login
    login.waiting += 1
    try {
      const late = this.#failure('timeout', 'loginTimedOut')
      const result = await withTimeout(login.result, patience.remaining, late, patience.signal)
      return result ?? { ok: false, failure: notSent(this.#options, ABANDONED) }
    } catch {
      // Logins never reject, so this is the abort of the signal.
      return { ok: false, failure: notSent(this.#options, ABANDONED) }
    } finally {
      login.waiting -= 1
    }
  }

  /** Returns why no login is sent now. */
  #rejection(account: Account, remaining: number): LoginFailure | undefined {
    const { clock, hasEndedToken } = this.#options
    const { failed, lastLogin = 0 } = this.#records.get(account.key) ?? {}
    // A write through the edge may have created the user since, or changed the password.
    const sentAt = clock.wall() - (clock.elapsed() - lastLogin)
    const isRemembered = failed !== undefined && failed.until > clock.elapsed()
    if (isRemembered && !hasEndedToken({ user: account.username, roles: [] }, sentAt)) return failed.failure
    const blockedFor = this.#failedLogins.blockedFor(this.#sourceOf(account))
    if (blockedFor > 0) return this.#blocked(blockedFor)
    const wait = this.#untilNext(this.#records.get(account.key)) + this.#waiting * LOGIN_MS
    if (this.#waiting < MAX_WAITING && wait <= Math.max(remaining, MIN_PATIENCE_MS)) return undefined
    return this.#failure('overloaded', 'loginsQueued', Math.min(wait, MAX_RETRY_AFTER_MS))
  }

  /** Only the operator enters the password of the edge, and a password that was right is wrong only after a change. */
  #sourceOf({ key, username, address, isOwn }: Account): LoginSource {
    return { name: username, address, isTrusted: isOwn || this.#records.get(key)?.isAccepted === true }
  }

  #untilNext(record: AccountRecord | undefined): number {
    if (record === undefined) return 0
    return Math.max(0, record.lastLogin + this.#options.loginInterval - this.#options.clock.elapsed())
  }

  #start(account: Account): PendingLogin {
    const record = this.#recordOf(account)
    // The login starts in a later turn of the event loop.
    const login: PendingLogin = { result: this.#logInTurn(account, record, () => login.waiting > 0), waiting: 0 }
    record.login = login
    return login
  }

  /** Logs in when it is the turn of the account, if a call waits for it then; otherwise resolves to `undefined`. */
  async #logInTurn(account: Account, record: AccountRecord, isWanted: () => boolean): Promise<LoginResult | undefined> {
    this.#waiting += 1
    const pause = this.#untilNext(record)
    if (pause > 0) await this.#options.sleep(pause)
    await this.#turns.take()?.taken
    try {
      this.#waiting -= 1
      if (!isWanted()) return undefined
      record.lastLogin = this.#options.clock.elapsed()
      const outcome = await this.#send(account)
      this.#record(account, record, outcome)
      return outcome
    } finally {
      // At once, so that no further call joins a login that has ended, or is not sent.
      record.login = undefined
      this.#turns.release()
    }
  }

  async #send(account: Account): Promise<LoginResult> {
    const count = () => this.#failedLogins.count(this.#sourceOf(account))
    let counted = await count()
    // Logins that are in flight count as failed, and most of them are right: those behind them wait.
    for (let waits = 0; counted.isBlocked && !counted.isDecided && waits < MAX_FLIGHT_WAITS; waits += 1) {
      await this.#options.sleep(LOGIN_MS)
      counted = await count()
    }
    if (counted.isBlocked) return this.#blocked(counted.blockedFor)
    const outcome = await this.#login.send(account)
    await counted.end(outcome.ok ? 'right' : isRefusal(outcome) ? 'wrong' : 'undecided')
    const isBlocked = !outcome.ok && 'failure' in outcome && outcome.failure.fault === 'loginsBlocked'
    if (isBlocked) await this.#failedLogins.block()
    return outcome
  }

  #record({ key }: Account, record: AccountRecord, outcome: LoginResult): void {
    // It may have been displaced meanwhile.
    this.#records.set(key, record)
    if (outcome.ok) {
      Object.assign(record, { token: outcome.token, isAccepted: true, failed: undefined, refusals: 0 })
      this.#options.onLogin()
    } else if (isRefusal(outcome)) {
      Object.assign(record, { token: undefined, isAccepted: false })
      this.#recordRefusal(record, outcome)
    } else {
      // It shows nothing about the credentials: it is remembered until the next login may start.
      this.#remember(record, outcome, this.#options.loginInterval)
    }
  }

  #recordRefusal(record: AccountRecord, failure: LoginFailure): void {
    record.refusals += 1
    const ms = Math.min(MAX_REFUSAL_MEMORY_MS, REFUSAL_MEMORY_MS * 2 ** (record.refusals - 1))
    this.#remember(record, failure, ms)
    const { node, log } = this.#options
    log('warn', 'login refused by node', { node, seconds: ms / 1000 })
  }

  #remember(record: AccountRecord, failure: LoginFailure, ms: number): void {
    record.failed = { failure, until: this.#options.clock.elapsed() + ms }
  }

  #recordOf({ key }: Account): AccountRecord {
    const record = this.#records.get(key) ?? { isAccepted: false, refusals: 0, lastLogin: Number.NEGATIVE_INFINITY }
    this.#records.set(key, record)
    return record
  }

  #blocked(ms: number): LoginFailure {
    return this.#failure('loginsBlocked', 'tooManyFailedLogins', ms)
  }

  /** `waitMs`: milliseconds until another request may succeed. */
  #failure(fault: NodeFault, reason: FailureReason, waitMs?: number): LoginFailure {
    const retryAfter = waitMs === undefined ? undefined : Math.max(1, Math.ceil(waitMs / 1000))
    const failure = { fault, reason, ...(retryAfter !== undefined && { retryAfter }) }
    return { ok: false, failure: notSent(this.#options, failure) }
  }
}

function isRefusal(outcome: LoginResult): outcome is LoginFailure {
  return !outcome.ok && 'failure' in outcome && outcome.failure.fault === 'refusedCredentials'
}
