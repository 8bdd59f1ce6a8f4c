/**
 * Calls in the newer layout: adds the token of the account to each call, and logs in where there is none. A 401 means that
 * the node did nothing, so the call is sent once more with a new token, also if it is a write.
 */
import type { NodeCall, NodeResult } from '../../core/node-call.ts'
import type { Account, AccountOf } from './accounts.ts'
import { ANONYMOUS, type AuthorizedCall } from './authorized-call.ts'
import type { LoginFailure } from './login.ts'
import { type Patience, type SessionOptions, Sessions } from './sessions.ts'
import type { Token } from './token.ts'

export interface TokenCallOptions extends SessionOptions {
  /** Returns the account of a call, by the credentials in use now. */
  accountOf: AccountOf
}

/** After that long, a token is checked at its node before the credentials of a caller count as verified. */
const VERIFIED_MS = 30_000

export class TokenCalls {
  readonly #options: TokenCallOptions
  readonly #sessions: Sessions

  constructor(options: TokenCallOptions) {
    this.#options = options
    this.#sessions = new Sessions(options)
  }

  async call(call: NodeCall): Promise<NodeResult> {
    const account = this.#options.accountOf(call)
    if (account === undefined) return this.#options.send({ ...call, authorization: ANONYMOUS })
    const patience = createPatience(call, () => this.#options.clock.elapsed())
    const known = this.#sessions.find(account)
    const login =
      known === undefined ? await this.#sessions.logIn(account, patience) : { ok: true as const, token: known }
    if (!login.ok) return resultOf(login)
    const first = await this.#send(call, { token: login.token, patience, isRenewable: true })
    if (!isRefused(first)) return first
    this.#sessions.drop(account, login.token)
    return this.#repeat(call, account, patience)
  }

  /**
   * Checks the credentials of a call: by a login, or by the call itself if there is a token that was not accepted lately.
   * The check of a call is a read that every account may send.
   */
  async verify(call: NodeCall): Promise<NodeResult | { readonly ok: true }> {
    const account = this.#options.accountOf(call)
    const token = account && this.#sessions.find(account)
    if (account === undefined || (token !== undefined && token.acceptedAgo >= VERIFIED_MS)) return this.call(call)
    if (token !== undefined) return { ok: true }
    const login = await this.#sessions.logIn(
      account,
      createPatience(call, () => this.#options.clock.elapsed()),
    )
    return login.ok ? { ok: true } : resultOf(login)
  }

  async #repeat(call: NodeCall, account: Account, patience: Patience): Promise<NodeResult> {
    // Another call of the account may have a new token already.
    const known = this.#sessions.find(account)
    const login =
      known === undefined ? await this.#sessions.logIn(account, patience) : { ok: true as const, token: known }
    if (!login.ok) return resultOf(login)
    const result = await this.#send(call, { token: login.token, patience, isRenewable: false })
    if (isRefused(result)) this.#sessions.reject(account, login.token)
    return result
  }

  async #send(
    call: NodeCall,
    {
      token,
      patience,
      isRenewable,
    }: { readonly token: Token; readonly patience: Patience; readonly isRenewable: boolean },
  ): Promise<NodeResult> {
    const { remaining } = patience
    if (remaining <= 0) {
      const { node } = call
      return { ok: false, node, fault: 'timeout', sent: false, detail: 'timed out during the login' }
    }
    const authorized: AuthorizedCall = {
      ...call,
      ...(Number.isFinite(remaining) && { timeout: remaining }),
      authorization: { header: () => token.header(), isRenewable },
    }
    const result = await this.#options.send(authorized)
    if (result.ok) token.recordAccepted()
    return result
  }
}

function isRefused(result: NodeResult): boolean {
  return !result.ok && result.fault === 'refusedCredentials'
}

function resultOf(login: LoginFailure): NodeResult {
  return 'response' in login ? { ok: true, response: login.response } : login.failure
}

/** Returns the time that is left for a call, from now on. */
function createPatience({ timeout = Number.POSITIVE_INFINITY, signal }: NodeCall, clock: () => number): Patience {
  const end = clock() + timeout
  return {
    get remaining() {
      return end - clock()
    },
    signal,
  }
}
