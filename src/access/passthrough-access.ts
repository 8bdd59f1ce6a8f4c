/**
 * Mode passthrough: the manager knows the users. Credentials are checked by asking it (the handed-in `verify`), remembered
 * for a minute like others, and travel on with each request, so that the manager decides on them every time.
 */

import { systemClock } from '../core/timing.ts'
import type { Access, AccessOptions } from './access.ts'
import { createAttempts } from './login-attempts.ts'
import { BoundedQueue, Logins } from './logins.ts'
import type { CheckPassword } from './passwords.ts'
import type { Roles } from './roles.ts'
import { resolvePermissions } from './roles.ts'

/** The manager bears four or five calls a second; half of that is left to those who are in. */
const ASKED_AT_ONCE = 2
const WAITING = 64

/** Throws an `Error` in words when the role does not exist. */
export function passthroughAccess(
  options: AccessOptions,
  { verify, role }: { readonly verify: CheckPassword; readonly role: string },
  roles: Roles,
): Access {
  const { clock = systemClock, log, limits } = options
  const { permissions, faults } = resolvePermissions([role], options.ownRoles)
  if (faults.length > 0) throw new Error(`access.passthroughRole: ${faults.join('; ')}`)
  const { attempts = createAttempts({ failures: limits.failedLogins, clock }) } = options
  const queue = new BoundedQueue({ atOnce: ASKED_AT_ONCE, waiting: WAITING })
  const logins = new Logins({ check: verify, standing: () => undefined, attempts, queue, clock })
  return {
    realm: options.realm,
    limits,
    takesTokens: false,
    async byPassword(address, name, password) {
      const login = await logins.login(address, name, password)
      if (login.ok) return { ok: true, caller: { name, permissions, credentials: { username: name, password } } }
      if (login.reason === 'wrong') log('warn', 'login refused', { address })
      return login
    },
    byToken: async () => ({ ok: false, reason: 'invalid' }),
    prepareToken: async () => {
      throw new Error('no tokens are issued where credentials are passed through')
    },
    revokeTokens: async () => {},
    assignRoles: roles.assign,
    close: async () => {},
  }
}
