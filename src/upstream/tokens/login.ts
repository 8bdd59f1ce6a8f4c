/**
 * One login at a node: the account that calls are sent for (that of the edge, or in mode `passthrough` those of the
 * callers), the call, and the token in its response.
 */

import { createHmac, randomBytes } from 'node:crypto'
import type { TokenSubject } from '../../core/access.ts'
import type { NodeCall, NodeFailure, NodeResponse } from '../../core/node-call.ts'
import { PROBLEM_TYPE } from '../../core/response.ts'
import { type NameAndPassword, ownField, parseJson } from '../../core/values.ts'
import { notSent, type Send, type UpstreamCall } from '../call.ts'
import type { NodeCredentials } from '../options.ts'

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
      priority: 'own',
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

/** Characters; a node of release 4.5 sends 398. A node refuses header lines of 8,190 bytes. */
const MAX_TOKEN_LENGTH = 4096
/** The compact form of a JWT (RFC 7519 section 3): three parts in base64url. */
const TOKEN_FORM = /^[A-Za-z0-9_-]+\.([A-Za-z0-9_-]+)\.[A-Za-z0-9_-]+$/
/** Share of its lifetime after which a token is renewed while it is still in use. */
const RENEWAL_SHARE = 0.8

/** `elapsed`: monotonic milliseconds; `wall`: milliseconds since 1970. */
interface TokenClock {
  elapsed(): number
  wall(): number
}

/**
 * A token of a node. Its text is foreign input, and a secret: it is in a private field, so that neither a log nor a
 * dump of an object contains it.
 */
export class Token {
  readonly #text: string
  readonly #clock: TokenClock
  readonly #issuedAt: number
  readonly #renewAt: number
  readonly #expiresAt: number
  #acceptedAt: number
  readonly subject: TokenSubject
  /** When the login was sent, in milliseconds since 1970. */
  issuedAt: number

  /** `lifetime` in milliseconds from now. */
  constructor(text: string, { lifetime, subject }: TokenClaims, clock: TokenClock) {
    this.#text = text
    this.subject = subject
    this.issuedAt = clock.wall()
    this.#clock = clock
    this.#acceptedAt = clock.elapsed()
    this.#issuedAt = this.#acceptedAt
    this.#renewAt = this.#acceptedAt + lifetime * RENEWAL_SHARE
    this.#expiresAt = this.#acceptedAt + lifetime
  }

  header(): string {
    return `Bearer ${this.#text}`
  }

  /** Whether more than half of its lifetime is left. */
  get isYoung(): boolean {
    return this.#clock.elapsed() - this.#issuedAt < this.#expiresAt - this.#clock.elapsed()
  }

  get isDueForRenewal(): boolean {
    return this.#clock.elapsed() >= this.#renewAt
  }

  get hasExpired(): boolean {
    return this.#clock.elapsed() >= this.#expiresAt
  }

  /** Milliseconds since the call began that has issued the token, or that the node has accepted it for. */
  get acceptedAgo(): number {
    return this.#clock.elapsed() - this.#acceptedAt
  }

  /** `sentAt`: when the call began, by the clock of `elapsed`. */
  recordAccepted(sentAt: number): void {
    this.#acceptedAt = sentAt
  }
}

/** Returns the token in the body of a login, or `undefined` if the body has none of the right form. */
export function parseLogin(body: Buffer, clock: TokenClock): Token | undefined {
  const text = ownField(ownField(parseJson(body), 'data'), 'token')
  if (typeof text !== 'string' || text.length > MAX_TOKEN_LENGTH) return undefined
  const payload = TOKEN_FORM.exec(text)?.[1]
  const claims = payload === undefined ? undefined : claimsOf(payload, clock)
  return claims && new Token(text, claims, clock)
}

interface TokenClaims {
  /** Milliseconds. */
  readonly lifetime: number
  readonly subject: TokenSubject
}

/**
 * The lifetime is the time between `nbf` and `exp`: both are times of the clock of the node, which may differ from the
 * clock here. The signature is not checked: the claims decide the time of the renewal, and whether a write ends the token.
 */
function claimsOf(payload: string, clock: TokenClock): TokenClaims | undefined {
  const parsed = parseJson(Buffer.from(payload, 'base64url'))
  const [exp, nbf] = [ownField(parsed, 'exp'), ownField(parsed, 'nbf') ?? clock.wall() / 1000]
  if (typeof exp !== 'number' || typeof nbf !== 'number') return undefined
  const lifetime = (exp - nbf) * 1000
  const roles = ownField(parsed, 'rbac_roles')
  const subject = { user: String(ownField(parsed, 'sub')), roles: Array.isArray(roles) ? roles : [] }
  return Number.isFinite(lifetime) && lifetime > 0 ? { lifetime, subject } : undefined
}
