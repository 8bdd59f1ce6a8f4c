/**
 * Access in mode passthrough: the manager's users log in with their own credentials. The edge verifies them with a
 * call to the manager and remembers them for a minute. It also forwards them with each request, so the manager
 * authorises every request itself. The roles of the edge decide about the operations of the edge: all users have one role,
 * and those that the settings name have further ones.
 */
import { EdgeError } from '../core/errors.ts'
import { systemClock } from '../core/timing.ts'
import { type JsonObject, type NameAndPassword, ownField, parseBasic } from '../core/values.ts'
import type { Access, AccessOptions, AuthResult, PassthroughUsers, Recheck } from './access.ts'
import type { LoginAttempts } from './login-attempts.ts'
import type { CheckLimits } from './login-queue.ts'
import { createPasswordLogins } from './logins.ts'
import { type CustomRoles, NO_PERMISSIONS, type RoleAssignment, type Roles, resolvePermissions } from './roles.ts'
import type { ClaimedToken } from './stored-acceptances.ts'
import { parseToken, SUBJECT_PATTERN } from './tokens.ts'

/** A node answers four or five calls per second; half of that stays free for requests of users that are logged in. */
const CHECKS: CheckLimits = { concurrency: 2, maxQueued: 64 }

/** Throws an `Error` if the role does not exist. */
export function createPassthroughAccess(
  options: AccessOptions,
  { verify, role, checks = CHECKS }: PassthroughUsers,
  roles: Roles,
): Access {
  const { log, customRoles } = options
  let common = commonRole(role, customRoles)
  roles.prepare(withCommonRole(options.roles, role), customRoles)()
  const permissionsOf = (name: string) =>
    roles.rolesOfUser(name).length === 0 ? common.permissions : (roles.byUser.get(name) ?? NO_PERMISSIONS)
  const logins = createPasswordLogins(options, {
    verifyPassword: verify,
    credentialVersion: () => undefined,
    limits: checks,
  })
  return {
    realm: options.realm,
    acceptsTokens: false,
    permissionsOf,
    async authenticatePassword(address, pair) {
      const name = pair.username
      const login = await logins.login(address, name, pair.password, pair.charset)
      const caller = (credentials: NameAndPassword) => ({ name, permissions: permissionsOf(name), credentials })
      if (login.ok) {
        // The password is read from the header again, so that it does not stay in memory after the request.
        const recheck: Recheck = (authorization, from) => {
          const again = parseBasic(authorization.slice(authorization.lastIndexOf(' ') + 1))
          return again && login.isCurrent(from) ? caller(again) : undefined
        }
        return { ok: true, caller: caller(pair), recheck }
      }
      if (login.reason === 'wrong') log('warn', 'login refused', { address })
      return login
    },
    authenticateToken: async () => INVALID,
    issueToken: async () => {
      throw new Error('no tokens are issued in mode passthrough')
    },
    revokeTokens: async () => {},
    rolesOf: ({ name }) => {
      const named = roles.rolesOfUser(name)
      return named.length === 0 ? [common.name] : named
    },
    prepareReload: (next) => {
      const nextCommon = commonRole(next.passthroughRole ?? role, next.customRoles ?? customRoles)
      const apply = roles.prepare(withCommonRole(next.roles, nextCommon.name), next.customRoles)
      return () => {
        apply()
        common = nextCommon
      }
    },
    close: async () => {},
  }
}

interface CommonRole {
  readonly name: string
  readonly permissions: readonly string[]
}

/** Throws an `Error` if the role does not exist. */
function commonRole(name: string, customRoles: CustomRoles): CommonRole {
  const { permissions, faults } = resolvePermissions([name], customRoles)
  if (faults.length > 0) throw new Error(`access.passthroughRole: ${faults.join('; ')}`)
  return { name, permissions }
}

/** The roles of named users, which they have beside the common one. */
function withCommonRole(named: RoleAssignment, role: string): RoleAssignment {
  return Object.fromEntries(Object.entries(named).map(([name, more]) => [name, [...new Set([role, ...more])]]))
}

export interface TokenAcceptance {
  /** Nothing shows at present whether the node has ended the token. */
  readonly isOnlyForReads?: true
  /** To be called when the node has answered a call that carried the token. */
  readonly noteAnswer: () => void
  /** Returns the function for a further request; `undefined`: the token must be checked again. */
  current(): (() => void) | undefined
}

interface ManagerTokenPorts {
  /** The node that has issued the tokens: logins are sent to it. */
  readonly node: () => string
  /** Resolves to `undefined` if the node refuses the token. Rejects with 920 if it does not answer, and as `limit` does. */
  readonly check: (token: ManagerToken, limit: LimitRefusals) => Promise<TokenAcceptance | undefined>
  readonly attempts: LoginAttempts
  /** Returns the permissions that the settings give to a user. */
  readonly permissionsOf: (name: string) => readonly string[]
}

/** Runs a call that checks a token, or rejects without it. */
type LimitRefusals = (ask: () => Promise<boolean>) => Promise<boolean>

const INVALID: AuthResult = { ok: false, reason: 'invalid' }

/**
 * Adds the manager's tokens, for the v4 contract. The node that has issued a token is the only one that can check
 * it, so the edge asks it, and remembers the answer for a short time (access/accepted-tokens.ts). The claims of a token
 * are foreign input until the node has accepted it. `access` checks names and passwords, for logins.
 */
export function createManagerTokenAccess(access: Access, ports: ManagerTokenPorts): Access {
  const { node, check, attempts, permissionsOf } = ports
  return {
    ...access,
    acceptsTokens: true,
    authenticateToken: async (text, _verifyOwn, address) => {
      const issuer = node()
      const token = readManagerToken(text, issuer)
      if (token === undefined || token.expiresAt <= systemClock.wall()) return INVALID
      const { user, rights, expiresAt, context } = token
      const callerOf = (own: string, noteAnswer: () => void, isOnlyForReads?: true) => ({
        name: user,
        ...(context !== undefined && { context }),
        permissions: permissionsOf(user),
        ...(isOnlyForReads && { isOnlyForReads }),
        rights,
        nodeToken: { node: issuer, header: () => `Bearer ${own}`, noteAnswer },
      })
      const acceptance = await check(token, countFailures(attempts, address, user))
      if (acceptance === undefined) return INVALID
      // The token is read from the header again, so that it does not stay in memory after the request.
      const recheck: Recheck = (authorization) => {
        const noteAnswer = expiresAt > systemClock.wall() ? acceptance.current() : undefined
        return noteAnswer && callerOf(authorization.slice(authorization.lastIndexOf(' ') + 1), noteAnswer)
      }
      return { ok: true, caller: callerOf(text, acceptance.noteAnswer, acceptance.isOnlyForReads), recheck }
    },
  }
}

/**
 * The edge cannot see that a token is forged, so each one costs a call. Refusals count as failed logins do: a client that
 * sends made-up tokens is blocked (904), and spends no further calls.
 */
function countFailures(attempts: LoginAttempts, address: string, name: string): LimitRefusals {
  return async (ask) => {
    const decision = await attempts.count(address, name)
    if (!decision.allowed) {
      const seconds = Math.max(1, Math.ceil(decision.retryAfterMs / 1000))
      throw new EdgeError(904, '', { headers: { 'retry-after': `${seconds}` } })
    }
    try {
      const isAccepted = await ask()
      if (isAccepted) await attempts.succeed(address, name)
      return isAccepted
    } catch (error) {
      await attempts.cancel(address, name)
      throw error
    }
  }
}

/** A token whose claims were read, but not verified. */
export interface ManagerToken extends ClaimedToken {
  /** The digest of the authorization context that the user logged in with (`run_as`). Absent: there was none. */
  readonly context?: string
  /** Roles and mode: users with the same ones get the same responses. */
  readonly rights: string
}

/** Returns the claims of a token; `undefined`: it has not the form of one of the manager. */
export function readManagerToken(text: string, node: string): ManagerToken | undefined {
  const payload = parseToken(text)?.payload
  const [user, exp, nbf] = [ownField(payload, 'sub'), ownField(payload, 'exp'), ownField(payload, 'nbf') ?? 0]
  const [roles, mode] = [ownField(payload, 'rbac_roles'), ownField(payload, 'rbac_mode')]
  if (typeof user !== 'string' || !SUBJECT_PATTERN.test(user)) return undefined
  if (typeof exp !== 'number' || typeof nbf !== 'number') return undefined
  if (!Array.isArray(roles) || !roles.every(Number.isSafeInteger) || typeof mode !== 'string') return undefined
  // In the order of the token: of two policies about one thing, that of the later role counts.
  const rights = `${mode} ${roles.join(',')}`
  const claims = { series: seriesOf(payload, nbf), issuedAt: issueOf(payload, nbf), expiresAt: exp * 1000 }
  return { text, node, user, roles, ...contextOf(payload), rights, ...claims }
}

/** Releases whose tokens have no digest of the context name it `unknown`. */
function contextOf(payload: JsonObject | undefined): Pick<ManagerToken, 'context'> {
  if (ownField(payload, 'run_as') !== true) return {}
  const digest = ownField(payload, 'hash_auth_context')
  return { context: typeof digest === 'string' && /^\w{1,128}$/.test(digest) ? digest : 'unknown' }
}

/** The claims that are times (RFC 7519 section 4.1). */
const TIMES: ReadonlySet<string> = new Set(['nbf', 'exp', 'iat'])
/** Of release 5.0: `nbf` in milliseconds, by which it ends tokens. Those of one second are good or ended by it. */
const EXACT_ISSUE = 'nbf_ms'

function issueOf(payload: JsonObject | undefined, nbf: number): number {
  const exact = ownField(payload, EXACT_ISSUE)
  return typeof exact === 'number' ? exact : nbf * 1000
}

/** Times count from `nbf` on: the manager ends tokens of another lifetime than the configured one. */
function seriesOf({ [EXACT_ISSUE]: _, ...payload }: JsonObject = {}, nbf: number): string {
  const claims = Object.entries(payload).map(([name, value]) => [
    name,
    TIMES.has(name) && typeof value === 'number' ? value - nbf : value,
  ])
  return JSON.stringify(claims.sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)))
}
