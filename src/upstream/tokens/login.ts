/**
 * One login at a node: the account that calls are sent for (that of the edge, or in mode `passthrough` those of the
 * callers), the call, and the token in its response.
 */

import { createHmac, randomBytes } from 'node:crypto'
import { Cancellation } from '../../core/cancellation.ts'
import type { NodeCall, NodeFailure, NodeResponse } from '../../core/node-call.ts'
import type { FailureReason, NodeFault } from '../../core/node-faults.ts'
import { PROBLEM_TYPE } from '../../core/origins.ts'
import type { Clock } from '../../core/timing.ts'
import type { NameAndPassword } from '../../core/values.ts'
import { notSent, type Send, type UpstreamCall } from '../call.ts'
import type { NodeCredentials, NodeLimits } from '../options.ts'
import { parseLogin, type Token } from './token.ts'

export type LoginResult =
  | { readonly ok: true; readonly token: Token }
  /** `response`: the node is not ready, or refuses every request at present; a call would have got the same. */
  | { readonly ok: false; readonly response: NodeResponse }
  | { readonly ok: false; readonly failure: NodeFailure }

export type LoginFailure = Exclude<LoginResult, { ok: true }>

export interface LoginOptions {
  readonly node: string
  /** Sends a call once through health and limits of its node. */
  readonly send: Send
  /** Read for each login. */
  readonly limits: () => Pick<NodeLimits, 'timeout'>
  readonly clock: Clock
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
    const sentAt = clock.elapsed()
    const first = await send(this.#call(account))
    const isOlder = first.ok && first.response.status === METHOD_NOT_ALLOWED && this.#method === 'POST'
    if (isOlder) this.#method = 'GET'
    const result = isOlder ? await send(this.#call(account)) : first
    if (!result.ok) return { ok: false, failure: { ...result, sent: false, isOfLogin: true } }
    const { response } = result
    const { status, type, body } = response
    const token = status === 200 && Buffer.isBuffer(body) ? parseLogin(body, clock) : undefined
    if (token !== undefined) {
      token.recordAccepted(sentAt)
      token.issuedAt -= clock.elapsed() - sentAt
      return { ok: true, token }
    }
    if (isForEveryCall(status)) return { ok: false, response }
    const unexpected = type === PROBLEM_TYPE ? 'loginStatus' : 'loginUnknown'
    const reason = status === 200 ? 'noTokenInLogin' : unexpected
    return { ok: false, failure: notSent({ node }, { fault: 'unreadable', reason, about: status }) }
  }

  /** A new connection: a node may close a reused one without a response, and a login is not sent twice for that. */
  #call(account: Account): UpstreamCall {
    const { node, limits } = this.#options
    const method = this.#method
    const call: NodeCall = {
      node,
      method,
      path: PATH,
      endpoint: `${method} ${PATH}`,
      retryable: false,
      expect: 'bytes',
      timeout: limits().timeout,
      signal: new Cancellation(),
      requestId: 'login',
      priority: 'own',
      caller: 'login',
    }
    const header = () => account.basic()
    return { ...call, authorization: { header, isRenewable: false, maxBytes: MAX_RESPONSE_BYTES } }
  }
}

export function isRefusal(outcome: LoginResult): outcome is LoginFailure {
  return !outcome.ok && 'failure' in outcome && outcome.failure.fault === 'refusedCredentials'
}

/** Returns the failure of a login that is not sent. `waitMs`: milliseconds until another request may succeed. */
export function failureOf(node: string, fault: NodeFault, reason: FailureReason, waitMs?: number): LoginFailure {
  const retryAfter = waitMs === undefined ? undefined : Math.max(1, Math.ceil(waitMs / 1000))
  const failure = { fault, reason, ...(retryAfter !== undefined && { retryAfter }) }
  return { ok: false, failure: notSent({ node }, failure) }
}

/** The node is starting or stopping (400), blocks this address (403), is at its limit (429), or has a fault (5xx). */
function isForEveryCall(status: number): boolean {
  return status === 400 || status === 403 || status === 429 || status >= 500
}

export interface Account {
  /** A digest of name and password with a key of this process. */
  readonly key: string
  readonly username: string
  /** The client whose request needs the login; empty: the edge itself. */
  readonly address: string
  /** The account of the edge. */
  readonly isOwn: boolean
  /** Returns the header of a login. A function, so that no dump of an object shows the password. */
  basic(): string
}

/** Returns the account of a call; `undefined`: it has none, such as a probe of the edge in mode `passthrough`. */
export type AccountOf = (call: Pick<NodeCall, 'credentials' | 'clientAddress'>) => Account | undefined

export function createAccounts(credentials: NodeCredentials): AccountOf {
  const service = credentials.mode === 'service' ? createAccount(credentials, true) : undefined
  return (call) => service ?? (call.credentials && createAccount(call.credentials, false, call.clientAddress))
}

const DIGEST_KEY = randomBytes(32)

/** The length of the name comes first: without it, `a` + `bc` and `ab` + `c` would be the same account. */
function createAccount(pair: NameAndPassword, isOwn: boolean, address = ''): Account {
  const { username, password, charset = 'utf8' } = pair
  const text = `${charset} ${Buffer.byteLength(username)}:${username}${password}`
  return {
    key: createHmac('sha256', DIGEST_KEY).update(text).digest('base64'),
    username,
    address,
    isOwn,
    basic: () => basicAuthorization(pair),
  }
}

/** Returns the header of HTTP Basic (RFC 7617). */
export function basicAuthorization({ username, password, charset }: NameAndPassword): string {
  return `Basic ${Buffer.from(`${username}:${password}`, charset).toString('base64')}`
}
