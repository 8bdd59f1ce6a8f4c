/**
 * Calls in the v4 layout: adds the token of the account to each call, and logs in where there is none. A 401 means that
 * the node did nothing, so the call is sent once more with a new token, also if it is a write.
 */
import type { NodeCall, NodeFailure, NodeResult } from '../../core/node-call.ts'
import { ANONYMOUS, copyWith, notSent } from '../call.ts'
import type { Account, AccountOf, LoginFailure, LoginResult } from './login.ts'
import type { Patience } from './login-turns.ts'
import type { Token } from './token.ts'
import { TokenCache, type TokenCacheOptions } from './token-cache.ts'

interface TokenCallOptions extends TokenCacheOptions {
  /** Returns the account of a call, by the credentials in use now. */
  accountOf: AccountOf
}

/** After that long, a token is checked at its node before the credentials of a caller count as verified. */
const VERIFIED_MS = 30_000

/** Whether a node accepts credentials, or why that is not known. */
export type Verification = { readonly ok: true } | NodeFailure

/** Checks the credentials of a call, which is a read that every account may send. */
export type Verify = (call: NodeCall) => Promise<Verification>

/** A token for a user of the manager, or why there is none. */
export type Issued =
  | { readonly ok: true; readonly token: Pick<Token, 'header' | 'acceptedAgo' | 'issuedAt'> }
  | NodeFailure

/** Returns a token for the user whose credentials the call has; `refused`: the node refuses this one. */
export type Issue = (call: NodeCall, refused?: Pick<Token, 'header'>) => Promise<Issued>

export class TokenCalls {
  readonly #options: TokenCallOptions
  readonly #cache: TokenCache

  constructor(options: TokenCallOptions) {
    this.#options = options
    this.#cache = new TokenCache(options)
  }

  async call(call: NodeCall): Promise<NodeResult> {
    const { token } = call
    if (token !== undefined) {
      return this.#options.send(copyWith(call, { authorization: { header: () => token.header(), isRenewable: false } }))
    }
    const account = this.#options.accountOf(call)
    if (account === undefined) return this.#sendWithAnyToken(call)
    const patience = this.#patienceOf(call)
    const login = await this.#authorize(call, account, patience)
    if (!login.ok) return resultOf(login)
    const result = await this.#send(call, login.token, patience, true)
    if (!isRefused(result)) return result
    this.#cache.drop(account, login.token)
    // Another call of the account may have a new token already.
    const again = await this.#authorize(call, account, patience)
    if (!again.ok) return resultOf(again)
    const second = await this.#send(call, again.token, patience, false)
    if (isRefused(second)) this.#cache.reject(account, again.token)
    return second
  }

  /** Returns a token that a probe may carry: any account may read what probes read. `refused`: the node refuses this one. */
  atHand(refused?: Token): Token | undefined {
    return this.#cache.atHand(refused)
  }

  async #sendWithAnyToken(call: NodeCall): Promise<NodeResult> {
    const token = call.anyToken && this.#cache.atHand()
    const authorization = token ? { header: () => token.header(), isRenewable: true } : ANONYMOUS
    const result = await this.#options.send(copyWith(call, { authorization }))
    if (token && isRefused(result)) this.#cache.atHand(token)
    return result
  }

  /** Checks by a login, or by the call itself if there is a token that the node has not accepted lately. */
  async verify(call: NodeCall): Promise<Verification> {
    const account = this.#options.accountOf(call)
    const token = account && this.#cache.find(account)
    if (account === undefined || (token !== undefined && token.acceptedAgo >= VERIFIED_MS)) {
      return verificationOf(await this.call(call))
    }
    const login = await this.#authorize(call, account, this.#patienceOf(call))
    return login.ok ? { ok: true } : verificationOf(resultOf(login))
  }

  /**
   * Returns a token for the user whose credentials the call has. One that is not new, or that is the refused one, is replaced
   * by another login.
   */
  async issue(call: NodeCall, refused?: Pick<Token, 'header'>): Promise<Issued> {
    const account = this.#options.accountOf(call)
    if (account === undefined) return notSent(call, { fault: 'refusedCredentials', reason: 'noCredentials' })
    const known = this.#cache.find(account)
    if (known?.isYoung && known !== refused) return { ok: true, token: known }
    if (known !== undefined && known === refused) this.#cache.drop(account, known)
    const login = await this.#cache.logIn(account, this.#patienceOf(call))
    if (login.ok) return login
    return 'response' in login
      ? notSent(call, { fault: 'unreachable', reason: 'loginStatus', about: login.response.status })
      : login.failure
  }

  /** Returns the token of the account, or logs in. */
  async #authorize(call: NodeCall, account: Account, patience: Patience): Promise<LoginResult> {
    const token = this.#cache.find(account)
    if (token !== undefined) return { ok: true, token }
    const span = call.trace?.recorded ? call.trace.startSpan('login', { node: call.node }) : undefined
    const login = await this.#cache.logIn(account, patience)
    span?.end(login.ok || 'response' in login ? {} : { fault: login.failure.fault })
    return login
  }

  /** The time that is left for a call, from now on. */
  #patienceOf({ timeout = Number.POSITIVE_INFINITY, signal }: NodeCall): Patience {
    const { clock } = this.#options
    const end = clock.elapsed() + timeout
    return {
      get remaining() {
        return end - clock.elapsed()
      },
      signal,
    }
  }

  async #send(call: NodeCall, token: Token, { remaining }: Patience, isRenewable: boolean): Promise<NodeResult> {
    if (remaining <= 0) return notSent(call, { fault: 'timeout', reason: 'loginTimedOut' })
    const sentAt = this.#options.clock.elapsed()
    const result = await this.#options.send({
      ...call,
      ...(Number.isFinite(remaining) && { timeout: remaining }),
      authorization: { header: () => token.header(), isRenewable },
    })
    if (result.ok) token.recordAccepted(sentAt)
    return result
  }
}

/** A response that is not 200 shows nothing about the credentials: the node is not ready, or at a limit. */
function verificationOf(result: NodeResult): Verification {
  if (!result.ok) return result
  const { node, status } = result.response
  return status === 200
    ? { ok: true }
    : { ok: false, node, fault: 'unreachable', sent: true, reason: 'status', about: status }
}

function isRefused(result: NodeResult): boolean {
  return !result.ok && result.fault === 'refusedCredentials'
}

function resultOf(login: LoginFailure): NodeResult {
  return 'response' in login ? { ok: true, response: login.response } : login.failure
}
