/**
 * Access in mode passthrough: the manager's users log in with their own credentials. The edge verifies them with a
 * call to the manager and remembers them for a minute. It also forwards them with each request, so the manager
 * authorises every request itself.
 */
import { systemClock } from '../core/timing.ts'
import type { Access, AccessOptions, PassthroughUsers } from './access.ts'
import { createLoginAttempts } from './login-attempts.ts'
import { LoginQueue, PasswordLogins } from './logins.ts'
import { type CustomRoles, type Roles, resolvePermissions } from './roles.ts'

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
  let permissions = permissionsOfRole(role, customRoles)
  let currentRole = role
  const { attempts = createLoginAttempts({ limits, clock }) } = options
  const queue = new LoginQueue({ concurrency: concurrentChecks, maxQueued: MAX_QUEUED_CHECKS })
  const credentialVersion = () => undefined
  const logins = new PasswordLogins({
    verifyPassword: verify,
    credentialVersion,
    attempts,
    queue,
    clock,
    onFailure: options.onFailedLogin,
  })
  return {
    realm: options.realm,
    limits,
    acceptsTokens: false,
    async authenticatePassword(address, name, password) {
      const login = await logins.login(address, name, password)
      const caller = (secret: string) => ({ name, permissions, credentials: { username: name, password: secret } })
      if (login.ok) {
        // The password is read from the header again, so that it does not stay in memory after the request.
        const recheck = (authorization: string) => (login.isCurrent() ? caller(passwordOf(authorization)) : undefined)
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
    rolesOf: () => [currentRole],
    prepareReload: (next) => {
      const apply = roles.prepare(next.roles, next.customRoles)
      const granted = permissionsOfRole(next.passthroughRole ?? role, next.customRoles ?? customRoles)
      return () => {
        apply()
        permissions = granted
        currentRole = next.passthroughRole ?? role
      }
    },
    close: async () => {},
  }
}

/** Throws an `Error` if the role does not exist. */
function permissionsOfRole(role: string, customRoles: CustomRoles): readonly string[] {
  const { permissions, faults } = resolvePermissions([role], customRoles)
  if (faults.length > 0) throw new Error(`access.passthroughRole: ${faults.join('; ')}`)
  return permissions
}

/** The header was verified before, so it is well-formed (RFC 7617). */
function passwordOf(authorization: string): string {
  const pair = Buffer.from(authorization.slice(authorization.indexOf(' ') + 1), 'base64').toString('utf8')
  return pair.slice(pair.indexOf(':') + 1)
}
