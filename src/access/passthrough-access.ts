/**
 * Access in mode passthrough: the manager's users log in with their own credentials. The edge verifies them with a
 * call to the manager and remembers them for a minute. It also forwards them with each request, so the manager
 * authorises every request itself. The roles of the edge decide about the operations of the edge: all users have one role,
 * and those that the settings name have further ones.
 */
import { createCounters } from '../core/counters.ts'
import { systemClock } from '../core/timing.ts'
import type { Access, AccessOptions, PassthroughUsers, Recheck } from './access.ts'
import { createLoginAttempts } from './login-attempts.ts'
import { LoginQueue, PasswordLogins } from './logins.ts'
import { type CustomRoles, NO_PERMISSIONS, type RoleAssignment, type Roles, resolvePermissions } from './roles.ts'

/** A node answers four or five calls per second; half of that stays free for requests of users that are logged in. */
const MAX_CONCURRENT_CHECKS = 2
const MAX_QUEUED_CHECKS = 64

/** Throws an `Error` if the role does not exist. */
export function createPassthroughAccess(
  options: AccessOptions,
  { verify, role, concurrentChecks = MAX_CONCURRENT_CHECKS }: PassthroughUsers,
  roles: Roles,
): Access {
  const { clock = systemClock, log, limits } = options
  const { customRoles } = options
  let common = commonRole(role, customRoles)
  roles.prepare(withCommonRole(options.roles, role), customRoles)()
  const permissionsOf = (name: string) =>
    roles.rolesOfUser(name).length === 0 ? common.permissions : (roles.byUser.get(name) ?? NO_PERMISSIONS)
  const { counters = createCounters(() => clock.elapsed()) } = options
  const queue = new LoginQueue({ concurrency: concurrentChecks, maxQueued: MAX_QUEUED_CHECKS })
  const credentialVersion = () => undefined
  const logins = new PasswordLogins({
    verifyPassword: verify,
    credentialVersion,
    attempts: createLoginAttempts({ failedLogins: limits.failedLogins, counters }),
    queue,
    clock,
    onFailure: options.onFailedLogin,
  })
  return {
    realm: options.realm,
    limits,
    acceptsTokens: false,
    permissionsOf,
    async authenticatePassword(address, name, password) {
      const login = await logins.login(address, name, password)
      const caller = (secret: string) => ({
        name,
        permissions: permissionsOf(name),
        credentials: { username: name, password: secret },
      })
      if (login.ok) {
        // The password is read from the header again, so that it does not stay in memory after the request.
        const recheck: Recheck = (authorization, from) =>
          login.isCurrent(from) ? caller(passwordOf(authorization)) : undefined
        return { ok: true, caller: caller(password), recheck }
      }
      if (login.reason === 'wrong') log('warn', 'login refused', { address })
      return login
    },
    authenticateToken: async () => ({ ok: false, reason: 'invalid' }),
    prepareToken: async () => {
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

/** The header was verified before, so it is well-formed (RFC 7617). */
function passwordOf(authorization: string): string {
  const pair = Buffer.from(authorization.slice(authorization.indexOf(' ') + 1), 'base64').toString('utf8')
  return pair.slice(pair.indexOf(':') + 1)
}
