/** Builds authentication and authorisation from the configuration. */
import type { Logger } from 'pino'
import type { Access } from '../access/access.ts'
import { createAccess } from '../access/index.ts'
import type { VerifyPassword } from '../access/passwords.ts'
import { permissions } from '../catalogue/index.ts'
import type { Config } from '../config/schema.ts'
import { EdgeError } from '../core/errors.ts'
import type { SharedAccess } from '../redis/shared-access.ts'
import type { Cluster } from '../upstream/index.ts'
import { callVersion } from './cluster.ts'

/** The name of the edge for clients that must log in, and in its own tokens. */
export const identity = { realm: 'manager-edge', issuer: 'manager-edge', audience: 'manager-edge' } as const

/** Requests per second from one address, as a multiple of the limit per caller. */
const CALLERS_PER_ADDRESS = 10

export interface AccessParts {
  readonly cluster: Cluster
  readonly shared: SharedAccess | undefined
  readonly log: Logger
}

/** Rejects with an `Error` for the operator if the users file, the keys or the roles are invalid. */
export async function buildAccess(config: Config, { cluster, shared, log }: AccessParts): Promise<Access> {
  const { access } = config
  const perSecond = (max: number) => ({ max, windowMs: 1000 })
  return createAccess({
    realm: identity.realm,
    users:
      config.cluster.credentials.mode === 'passthrough'
        ? { verify: verifyWithManager(cluster, config.cluster.limits.timeout), role: access.passthroughRole }
        : { file: access.users ?? '' },
    roles: access.roles,
    customRoles: access.customRoles,
    knownPermissions: permissions,
    tokens: {
      // The configuration is in milliseconds, tokens are in seconds.
      lifetime: access.tokens.lifetime / 1000,
      ...(access.tokens.keys !== undefined && { keys: access.tokens.keys }),
      issuer: identity.issuer,
      audience: identity.audience,
      issuers: access.tokens.issuers.map((each) => ({ ...each, lifetime: each.lifetime / 1000 })),
    },
    limits: {
      failedLogins: access.limits.failedLogins,
      perCaller: perSecond(access.limits.requestsPerSecond),
      perAddress: perSecond(access.limits.requestsPerSecond * CALLERS_PER_ADDRESS),
    },
    ...(shared && { attempts: shared.attempts, revocations: shared.revocations }),
    log: (level, message, facts) => log[level](facts ?? {}, message),
  })
}

/** Mode passthrough: credentials are right if the manager accepts a call with them. */
function verifyWithManager(cluster: Cluster, timeout: number): VerifyPassword {
  return async (username, password) => {
    const node = cluster.view.master().name
    const result = await callVersion(cluster, { node, timeout, caller: username, credentials: { username, password } })
    if (result.ok) return result.response.status === 200
    if (result.fault === 'refusedCredentials') return false
    throw new EdgeError(920, ` to check the credentials: ${result.detail}`)
  }
}
