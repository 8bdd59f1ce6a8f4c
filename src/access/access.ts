/** All that decides who may enter. Answers are values; what they are on the wire is another room's. */

import type { Log } from '../core/events.ts'
import type { Caller } from '../core/request.ts'
import type { Clock } from '../core/timing.ts'
import { fileAccess } from './file-access.ts'
import type { Attempts } from './login-attempts.ts'
import { passthroughAccess } from './passthrough-access.ts'
import type { CheckPassword } from './passwords.ts'
import type { Revocations } from './revocations.ts'
import type { OwnRoles } from './roles.ts'
import { type Assignment, createRoles } from './roles.ts'
import type { OutsideIssuerSettings, UnsignedToken } from './token-issuers.ts'
import type { Signed } from './tokens.ts'

export interface RequestLimit {
  /** Requests in the window. */
  readonly max: number
  /** Milliseconds. */
  readonly window: number
}

export interface AccessOptions {
  /** Shown to clients that must log in; printable ASCII without quotes. */
  readonly realm: string
  /**
   * `file`: an htpasswd file. `verify`: mode passthrough – the manager says whether the credentials are right, they
   * travel on in the caller, all callers have the one role, and no tokens are issued or taken.
   */
  readonly users: { readonly file: string } | { readonly verify: CheckPassword; readonly role: string }
  readonly roles: Assignment
  readonly ownRoles: OwnRoles
  /** The permissions that endpoints need; own roles that grant others are refused. */
  readonly permissionWords?: readonly string[]
  readonly tokens: {
    /** Seconds, 1 to 900. */
    readonly lifetime: number
    /** A folder of `<kid>.pem`; absent: a key of this replica's own. */
    readonly keys?: string
    readonly issuer: string
    readonly audience: string
    readonly issuers: readonly OutsideIssuerSettings[]
  }
  readonly limits: {
    /** Failed logins of one name from one address before the back-off begins. */
    readonly failedLogins: number
    readonly perCaller?: RequestLimit
    readonly perAddress?: RequestLimit
  }
  readonly log: Log
  /** Shared by replicas where they are given; else of this replica only. */
  readonly attempts?: Attempts
  readonly revocations?: Revocations
  readonly clock?: Clock
}

export type Refusal =
  | { readonly ok: false; readonly reason: 'wrong' | 'invalid' }
  /** `after`: milliseconds until it is worth to come again. */
  | { readonly ok: false; readonly reason: 'blocked' | 'busy' | 'unavailable'; readonly after: number }
export type Entry =
  /** `again`: who the same credentials from the same address mean by now; `undefined`: they must be shown again. */
  { readonly ok: true; readonly caller: Caller; again?(): Caller | undefined } | Refusal

export interface Access {
  readonly realm: string
  readonly limits: AccessOptions['limits']
  /** Are Bearer tokens taken at all? */
  readonly takesTokens: boolean
  /** Name and password, from a normalised address. Rejects only where the manager could not be asked (passthrough). */
  byPassword(address: string, name: string, password: string): Promise<Entry>
  /** A Bearer token; `signed` checks its signature by a key that is named here. */
  byToken(token: string, signed: Signed): Promise<Entry>
  /** A new token for a user of the file, to be signed. */
  prepareToken(name: string): Promise<UnsignedToken>
  /** Ends all tokens that the caller holds, and the one that it showed. */
  revokeTokens(caller: Caller): Promise<void>
  /** Replaces the roles of all users, for the next request on. Throws for a role that does not exist. */
  assignRoles(users: Assignment): void
  close(): Promise<void>
}

/** Seconds. */
const A_DAY = 86_400

/** Rejects with an `Error` in words when a setting, the users file or the folder of keys is wrong. */
export async function createAccess(options: AccessOptions): Promise<Access> {
  check(options)
  const roles = createRoles(options.roles, options.ownRoles, options.permissionWords)
  const { users } = options
  return 'file' in users ? fileAccess(options, users.file, roles) : passthroughAccess(options, users, roles)
}

function check({ realm, tokens }: AccessOptions): void {
  if (!/^[ !#-[\]-~]+$/.test(realm)) throw new Error('access.realm: printable ASCII without quotes and backslashes')
  if (!Number.isInteger(tokens.lifetime) || tokens.lifetime < 1 || tokens.lifetime > 900)
    throw new Error('access.tokens.lifetime: 1 to 900 seconds')
  for (const { issuer, lifetime = 1 } of tokens.issuers)
    if (!(lifetime >= 1 && lifetime <= A_DAY))
      throw new Error(`access.tokens.issuers: ${issuer}: lifetime: 1 second to 1 day`)
  const names = [tokens.issuer, ...tokens.issuers.map(({ issuer }) => issuer)]
  const twice = names.find((name, index) => names.indexOf(name) < index)
  if (twice !== undefined) throw new Error(`access.tokens.issuers: ${twice} stands there twice`)
}
