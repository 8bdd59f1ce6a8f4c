/**
 * The tokens of one node: one record for each account. Calls of one account share a login, and a failed login is remembered
 * for a short time, so that the calls which follow do not repeat it.
 */
import { LRUCache } from 'lru-cache'
import { isRelease5 } from '../../core/node-call.ts'
import { withTimeout } from '../../core/timing.ts'
import { ABANDONED } from '../abandoned-calls.ts'
import { notSent } from '../call.ts'
import type { ClusterSettings } from '../options.ts'
import type { LoginSource } from './failed-logins.ts'
import { type Account, failureOf, isRefusal, type LoginFailure, type LoginResult } from './login.ts'
import { blocked, type LoginTurnOptions, LoginTurns, type Patience } from './login-turns.ts'
import type { Token } from './token.ts'

export interface TokenCacheOptions extends LoginTurnOptions, Pick<ClusterSettings, 'hasEndedToken' | 'log'> {
  /** Called when the node has issued a token. */
  readonly onLogin: () => void
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
const MINUTE_MS = 60_000
/** Accounts whose tokens end within a minute, from which on all tokens of release 5.0 are replaced. */
const ENDED_ACCOUNTS = 3
/** How long refused credentials are remembered: the first time, and at most. Each further refusal doubles the time. */
const REFUSAL_MEMORY_MS = 5_000
const MAX_REFUSAL_MEMORY_MS = 60_000

export class TokenCache {
  readonly #options: TokenCacheOptions
  /** A record begins with a login, so a flood of wrong credentials displaces no tokens: few logins are sent. */
  readonly #records = new LRUCache<string, AccountRecord>({ max: MAX_ACCOUNTS })
  readonly #turns: LoginTurns
  /** Accounts whose token the node has refused in the last minute. Release 5.0 only. */
  readonly #endedAt = new Map<string, number>()

  constructor(options: TokenCacheOptions) {
    this.#options = options
    this.#turns = new LoginTurns(options)
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
    this.#recordRefusal(this.#recordOf(account), failureOf(this.#options.node, 'refusedCredentials', 'tokenRefused'))
  }

  /** Logs in, together with the other calls of the account that wait for a login. */
  async logIn(account: Account, patience: Patience): Promise<LoginResult> {
    const pending = this.#records.get(account.key)?.login
    const login = pending ?? this.#rejection(account, patience.remaining) ?? this.#start(account)
    if ('ok' in login) return login
    login.waiting += 1
    const late = failureOf(this.#options.node, 'timeout', 'loginTimedOut')
    // Logins never reject: the abort of the signal does.
    const result = await withTimeout(login.result, patience.remaining, late, patience.signal).catch(() => undefined)
    login.waiting -= 1
    return result ?? { ok: false, failure: notSent(this.#options, ABANDONED) }
  }

  /** Returns why no login is sent now. */
  #rejection(account: Account, remaining: number): LoginFailure | undefined {
    const { clock, hasEndedToken, node } = this.#options
    const { failed, lastLogin = Number.NEGATIVE_INFINITY } = this.#records.get(account.key) ?? {}
    // A write through the edge may have created the user since, or changed the password.
    const sentAt = clock.wall() - (clock.elapsed() - lastLogin)
    const isRemembered = failed !== undefined && failed.until > clock.elapsed()
    if (isRemembered && !hasEndedToken({ user: account.username, roles: [] }, sentAt)) return failed.failure
    const blockedFor = this.#turns.blockedFor(this.#sourceOf(account))
    if (blockedFor > 0) return blocked(node, blockedFor)
    const wait = this.#turns.waitFor(lastLogin)
    if (!this.#turns.isFull && wait <= Math.max(remaining, MIN_PATIENCE_MS)) return undefined
    return failureOf(node, 'overloaded', 'loginsQueued', Math.min(wait, MAX_RETRY_AFTER_MS))
  }

  /** Only the operator enters the password of the edge, and a password that was right is wrong only after a change. */
  #sourceOf({ key, username, address, isOwn }: Account): LoginSource {
    return { name: username, address, isTrusted: isOwn || this.#records.get(key)?.isAccepted === true }
  }

  #start(account: Account): PendingLogin {
    const record = this.#recordOf(account)
    // The login starts in a later turn of the event loop.
    const login: PendingLogin = { result: this.#logInTurn(account, record, () => login.waiting > 0), waiting: 0 }
    record.login = login
    return login
  }

  /** Logs in when it is the turn of the account, if a call waits for it then; otherwise resolves to `undefined`. */
  #logInTurn(account: Account, record: AccountRecord, isWanted: () => boolean): Promise<LoginResult | undefined> {
    return this.#turns.run(record.lastLogin, async () => {
      try {
        if (!isWanted()) return undefined
        record.lastLogin = this.#options.clock.elapsed()
        const outcome = await this.#turns.send(account, () => this.#sourceOf(account))
        this.#record(account, record, outcome)
        return outcome
      } finally {
        // At once, so that no further call joins a login that has ended, or is not sent.
        record.login = undefined
      }
    })
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
      const { clock, loginInterval } = this.#options
      record.failed = { failure: outcome, until: clock.elapsed() + loginInterval }
    }
  }

  #recordRefusal(record: AccountRecord, failure: LoginFailure): void {
    record.refusals += 1
    const ms = Math.min(MAX_REFUSAL_MEMORY_MS, REFUSAL_MEMORY_MS * 2 ** (record.refusals - 1))
    const { node, log, clock } = this.#options
    record.failed = { failure, until: clock.elapsed() + ms }
    log('warn', 'login refused by node', { node, seconds: ms / 1000 })
  }

  #recordOf({ key }: Account): AccountRecord {
    const record = this.#records.get(key) ?? { isAccepted: false, refusals: 0, lastLogin: Number.NEGATIVE_INFINITY }
    this.#records.set(key, record)
    return record
  }
}
