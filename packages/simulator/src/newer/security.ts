/** Logging in at the newer API: tokens of one node, failed logins, and the limit on requests. */
import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { type NewerUser, type Rights, rightsOf } from './access.ts'
import { NewerError, Refusal } from './errors.ts'

export interface Account {
  readonly name: string
  password: string
  readonly runAs: boolean
  readonly rights: Rights
  readonly roles: readonly unknown[]
  /** Whole seconds since the epoch: tokens from before are void. */
  voidBefore: number
}

interface IssuedToken {
  readonly account: Account
  readonly node: string
  /** Seconds since the epoch. */
  readonly issuedAt: number
  expiresAt: number
}

export interface SecurityOptions {
  readonly users: Readonly<Record<string, NewerUser>>
  /** Seconds. */
  readonly tokenLifetime: number
  readonly now: () => Date
}

/** Accounts and tokens of the cluster. A token is good only at the node that issued it, also after its restart. */
export class Security {
  readonly accounts: ReadonlyMap<string, Account>
  readonly #tokens = new Map<string, IssuedToken>()
  readonly #now: () => Date
  /** Seconds; changes with `PUT /security/config`. */
  tokenLifetime: number

  constructor({ users, tokenLifetime, now }: SecurityOptions) {
    this.#now = now
    this.tokenLifetime = tokenLifetime
    this.accounts = new Map(
      Object.entries(users).map(([name, { password, roles = [], runAs = false }]) => {
        return [name, { name, password, runAs, roles, rights: rightsOf(roles), voidBefore: 0 }]
      }),
    )
  }

  /** Returns the account of Basic credentials; undefined for anything else. */
  checkPassword(authorization: string | undefined): Account | undefined {
    const [, encoded = ''] = /^Basic +(\S+)$/i.exec(authorization ?? '') ?? []
    const text = Buffer.from(encoded, 'base64').toString('utf8')
    const colon = text.indexOf(':')
    const account = this.accounts.get(text.slice(0, Math.max(0, colon)))
    return account?.password === text.slice(colon + 1) ? account : undefined
  }

  /** Returns a new token in the form of the real ones. */
  issue(account: Account, node: string, runAs: boolean): string {
    const issuedAt = this.#seconds()
    const expiresAt = issuedAt + this.tokenLifetime
    const claims = {
      iss: 'wazuh',
      aud: 'Wazuh API REST',
      nbf: issuedAt,
      exp: expiresAt,
      sub: account.name,
      run_as: runAs,
      rbac_roles: account.roles.map((_, at) => at + 1),
      rbac_mode: 'white',
    }
    const parts = [{ alg: 'ES512', typ: 'JWT' }, claims].map((part) => encode(JSON.stringify(part)))
    const token = [...parts, encode(randomBytes(132))].join('.')
    this.#tokens.set(token, { account, node, issuedAt, expiresAt })
    return token
  }

  /** Returns the account of a token at a node. Throws the 401 of the API, which has one text for all bad tokens. */
  authenticate(authorization: string | undefined, node: string): Account {
    const [, token] = /^Bearer +(\S+)$/i.exec(authorization ?? '') ?? []
    if (token === undefined) throw unauthorized('No authorization token provided')
    const issued = this.#tokens.get(token)
    const isGood =
      issued !== undefined &&
      issued.node === node &&
      issued.expiresAt > this.#seconds() &&
      issued.issuedAt >= issued.account.voidBefore
    if (!isGood) throw unauthorized('Invalid token')
    return issued.account
  }

  /** Voids the tokens of a user, except those of this very second, as the real API does. */
  logOut(account: Account): void {
    account.voidBefore = this.#seconds()
  }

  /** Voids all tokens at once, or those of a user or a node. */
  revoke({ user, node }: { readonly user?: string; readonly node?: string } = {}): void {
    for (const [token, issued] of this.#tokens) {
      if ((user ?? issued.account.name) !== issued.account.name) continue
      if ((node ?? issued.node) === issued.node) this.#tokens.delete(token)
    }
  }

  /** Ends the lifetime of all tokens now. */
  expire(): void {
    for (const issued of this.#tokens.values()) issued.expiresAt = this.#seconds()
  }

  #seconds(): number {
    return Math.floor(this.#now().getTime() / 1000)
  }
}

function encode(text: string | Buffer): string {
  return Buffer.from(text).toString('base64url')
}

export function unauthorized(detail: string): Refusal {
  return new Refusal(401, 'Unauthorized', detail)
}

export const MAX_FAILED_LOGINS = 50
const BLOCK_MS = 300_000
const WINDOW_MS = 60_000

/** The limits that each node's API has for itself. */
export class NodeLimits {
  readonly #failures = new Map<string, { count: number; readonly first: number }>()
  readonly #now: () => Date
  readonly #perMinute: number
  #windowStart: number | undefined
  #requests = 0
  #refused = 0

  /** `perMinute`: 0 for no limit. */
  constructor(perMinute: number, now: () => Date) {
    this.#perMinute = perMinute
    this.#now = now
  }

  /** Requests that were refused because they were over the limit. */
  get refused(): number {
    return this.#refused
  }

  /** Counts a request. Throws 6000 for a blocked address, and 6001 over the limit of requests. */
  admit(request: IncomingMessage): void {
    if (this.#isBlocked(addressOf(request))) throw new NewerError(6000)
    if (this.#perMinute === 0) return
    const now = this.#now().getTime()
    this.#windowStart ??= now
    if (now - this.#windowStart <= WINDOW_MS) {
      this.#requests += 1
    } else {
      // The first request of a later window is not counted, as in the real API.
      this.#requests = 0
      this.#windowStart = now
    }
    if (this.#requests <= this.#perMinute) return
    this.#refused += 1
    throw new NewerError(6001)
  }

  /** Counts a failed login of the address; a success does not clear the count. */
  fail(request: IncomingMessage, count = 1): void {
    this.block(addressOf(request), count)
  }

  /** Counts this number of failed logins of an address. */
  block(address: string, count = MAX_FAILED_LOGINS): void {
    const known = this.#failures.get(address) ?? { count: 0, first: this.#now().getTime() }
    known.count += count
    this.#failures.set(address, known)
  }

  /** The block ends 300 s after the first failure. */
  #isBlocked(address: string): boolean {
    const failures = this.#failures.get(address)
    if (failures === undefined) return false
    if (this.#now().getTime() - failures.first >= BLOCK_MS) {
      this.#failures.delete(address)
      return false
    }
    return failures.count >= MAX_FAILED_LOGINS
  }

  /** Forgets failures and requests, as a restart of the API does. */
  reset(): void {
    this.#failures.clear()
    this.#windowStart = undefined
    this.#requests = 0
  }
}

function addressOf(request: IncomingMessage): string {
  return (request.socket.remoteAddress ?? '').replace(/^::ffff:/, '')
}
