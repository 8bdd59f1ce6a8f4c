/**
 * Access in mode passthrough: the manager's users log in with their own credentials. The edge verifies them with a
 * call to the manager and remembers them for a minute. It also forwards them with each request, so the manager
 * authorises every request itself. The roles of the edge decide about the operations of the edge: all users have one role,
 * and those that the settings name have further ones.
 */
import { type NameAndPassword, parseBasic } from '../core/values.ts'
import type { Access, AccessOptions, CheckLimits, PassthroughUsers, Recheck } from './access.ts'
import { createPasswordLogins } from './logins.ts'
import { type CustomRoles, NO_PERMISSIONS, type RoleAssignment, type Roles, resolvePermissions } from './roles.ts'
import { INVALID } from './tokens.ts'

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
    acceptsTokens: false,
    permissionsOf,
    async authenticatePassword(address, pair) {
      const name = pair.username
      const login = await logins.login(address, pair)
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

function commonRole(name: string, customRoles: CustomRoles): CommonRole {
  return { name, permissions: resolvePermissions([name], customRoles) }
}

/** The roles of named users, which they have beside the common one. */
function withCommonRole(named: RoleAssignment, role: string): RoleAssignment {
  return Object.fromEntries(Object.entries(named).map(([name, more]) => [name, [...new Set([role, ...more])]]))
}
