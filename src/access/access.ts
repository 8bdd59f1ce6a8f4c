/** Authentication: who the caller is and what the caller may do. Results are values; http/ turns them into responses. */
import type { Revocations, SessionParts } from '../core/access.ts'
import type { Counters } from '../core/counters.ts'
import type { FailedLoginReason, Log } from '../core/events.ts'
import type { Caller } from '../core/request.ts'
import type { SettingDigests } from '../core/settings.ts'
import type { Clock } from '../core/timing.ts'
import type { NameAndPassword } from '../core/values.ts'
import type { VerifyPassword } from './passwords.ts'
import type { CustomRoles, RoleAssignment } from './roles.ts'
import type { ExternalIssuerSettings } from './token-issuers.ts'
import type { VerifyOwnSignature } from './tokens.ts'

export interface AccessOptions {
  /**
   * `file`: an htpasswd file. `verify`: mode passthrough – the manager verifies the credentials, which are forwarded
   * with each request. All callers have the role of `PassthroughUsers`, those that `roles` names have further ones. Tokens
   * are neither issued nor accepted.
   */
  readonly users: { readonly file: string } | PassthroughUsers
  readonly roles: RoleAssignment
  readonly customRoles: CustomRoles
  /** The permissions that endpoints need. Own roles that grant others are refused. */
  readonly knownPermissions?: readonly string[]
  readonly tokens: {
    /** Seconds, 1 to 900. */
    readonly lifetime: () => number
    /** A folder of `<kid>.pem`. Absent: this replica creates a key for itself. */
    readonly keys?: string
    readonly issuers: readonly ExternalIssuerSettings[]
  }
  readonly limits: {
    /** Failed logins of one name from one address before the first block. */
    readonly failedLogins: () => number
  }
  readonly log: Log
  /** Called for each login with name and password that is rejected. */
  readonly onFailedLogin?: (reason: FailedLoginReason) => void
  /** Shared by replicas. Absent: in memory. */
  readonly counters?: Counters
  /** Shared by replicas. Absent: in memory. */
  readonly revocations?: Revocations
  readonly clock?: Clock
}

export interface PassthroughUsers {
  readonly verify: VerifyPassword
  readonly role: string
  /** Absent: two checks at the same time, since a node answers four or five calls per second. */
  readonly checks?: CheckLimits
}

/** Limits of the checks of passwords. */
export interface CheckLimits {
  /** Checks that run at the same time. */
  readonly concurrency: number
  /** Checks that wait, for each rank: none can fill the queue of another. */
  readonly maxQueued: number
}

export type AuthFailure =
  | { readonly ok: false; readonly reason: 'wrong' | 'invalid' }
  | { readonly ok: false; readonly reason: 'blocked' | 'busy' | 'unavailable'; readonly retryAfterMs: number }

export type AuthResult =
  /**
   * `recheck` returns the caller of the same credentials with its current roles, without a check of password or
   * signature. It returns `undefined` if they must be checked again.
   */
  { readonly ok: true; readonly caller: Caller; readonly recheck: Recheck } | AuthFailure

/** `authorization`: the header that contained the credentials. `address`: normalised address of this request. */
export type Recheck = (authorization: string, address: string) => Caller | undefined

/** Absent: unchanged. */
interface NextAccess {
  readonly roles: RoleAssignment
  readonly customRoles?: CustomRoles
  readonly issuers?: readonly ExternalIssuerSettings[]
  /** The role of all callers in mode passthrough. */
  readonly passthroughRole?: string
}

export interface Access {
  readonly acceptsTokens: boolean
  /** Checks name and password from a normalised address. Rejects only if the manager is unreachable (passthrough). */
  authenticatePassword(address: string, pair: NameAndPassword): Promise<AuthResult>
  /**
   * Checks the Bearer token of a request from a normalised address; `verifyOwn` checks its signature if the edge issued it.
   * Rejects with 904 and 920 if a node has to check it.
   */
  authenticateToken(token: string, verifyOwn: VerifyOwnSignature, address: string): Promise<AuthResult>
  /** Resolves to a new token for a user of the file. */
  issueToken(name: string): Promise<string>
  /** Absent in mode passthrough: a session has no password to forward. */
  readonly sessions?: SessionParts
  /** Mode passthrough: returns the permissions of a user that the manager has recognised. */
  readonly permissionsOf?: (name: string) => readonly string[]
  /** Returns the names of the caller's roles; `undefined` if only the permissions are known (tokens of other issuers). */
  rolesOf(caller: Caller): readonly string[] | undefined
  /**
   * Revokes all tokens and console sessions of the caller, including the one of this request. Rejects with 944 if Redis has
   * not stored it: this replica refuses them at once, the others when Redis is back.
   */
  revokeTokens(caller: Caller): Promise<void>
  /**
   * Checks the next roles and issuers. Throws, and changes nothing, if a role does not exist or an issuer is invalid.
   * Returns the function that puts them to use, from the next request on.
   */
  prepareReload(next: NextAccess): () => void
  /** Digests of the users and of the keys of tokens, which all replicas must share. Absent: the manager has the users. */
  fileDigests?(): SettingDigests
  close(): Promise<void>
}
