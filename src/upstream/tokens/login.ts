/** One login at a node: the call, and what its response means. */
import type { NodeCall, NodeFailure, NodeResponse } from '../../core/node-call.ts'
import { notSent, type Send, type UpstreamCall } from '../layer.ts'
import { PROBLEM_TYPE } from '../node-response.ts'
import type { Account } from './accounts.ts'
import { parseLogin, type Token, type TokenClock } from './token.ts'

export type LoginResult =
  | { readonly ok: true; readonly token: Token }
  /** `response`: the node is not ready, or refuses every request for now; a call would have got the same. */
  | { readonly ok: false; readonly response: NodeResponse }
  | { readonly ok: false; readonly failure: NodeFailure }

export type LoginFailure = Exclude<LoginResult, { ok: true }>

export interface LoginOptions {
  readonly node: string
  /** Sends a call once through health and limits of its node. */
  readonly send: Send
  /** Milliseconds. Read for each login. */
  timeout(): number
  readonly clock: TokenClock
}

const PATH = '/security/user/authenticate'
const MAX_RESPONSE_BYTES = 16 * 1024
const METHOD_NOT_ALLOWED = 405

/** Logs in at one node. Releases before 4.4 have the login under GET only, which is remembered. */
export class Login {
  readonly #options: LoginOptions
  #method: 'POST' | 'GET' = 'POST'

  constructor(options: LoginOptions) {
    this.#options = options
  }

  async send(account: Account): Promise<LoginResult> {
    const { node, send, clock } = this.#options
    const first = await send(this.#call(account))
    const isOlder = first.ok && first.response.status === METHOD_NOT_ALLOWED && this.#method === 'POST'
    if (isOlder) this.#method = 'GET'
    const result = isOlder ? await send(this.#call(account)) : first
    if (!result.ok) return { ok: false, failure: { ...result, sent: false, detail: `${result.detail} (login)` } }
    const { response } = result
    const { status, type, body } = response
    const token = status === 200 && Buffer.isBuffer(body) ? parseLogin(body, clock) : undefined
    if (token !== undefined) return { ok: true, token }
    if (isForEveryCall(status)) return { ok: false, response }
    const unknown = type === PROBLEM_TYPE ? '' : ', which its API does not have; check cluster.layout'
    const detail = status === 200 ? 'no token in the response to the login' : `status ${status} for the login${unknown}`
    return { ok: false, failure: notSent({ node }, { fault: 'unreadable', detail }) }
  }

  /** A new connection: a node may close a reused one without a response, and a login is not sent twice for that. */
  #call(account: Account): UpstreamCall {
    const { node, timeout } = this.#options
    const method = this.#method
    const call: NodeCall = {
      node,
      method,
      path: PATH,
      endpoint: `${method} ${PATH}`,
      retryable: false,
      expect: 'bytes',
      timeout: timeout(),
      signal: new AbortController().signal,
      requestId: 'login',
      priority: 'health',
      caller: 'login',
    }
    const header = () => account.basic()
    return { ...call, authorization: { header, isRenewable: false, maxBytes: MAX_RESPONSE_BYTES } }
  }
}

/** The node is starting or stopping (400), blocks this address (403), is at its limit (429), or has a fault (5xx). */
function isForEveryCall(status: number): boolean {
  return status === 400 || status === 403 || status === 429 || status >= 500
}
