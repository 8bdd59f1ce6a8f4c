/** Who may enter, as the settings say. */
import type { Logger } from 'pino'
import { type Access, createAccess } from '../access/access.ts'
import { permissions } from '../catalogue/index.ts'
import type { Config } from '../config/index.ts'
import { EdgeError } from '../core/errors.ts'
import type { SharedAccess } from '../redis/shared-access.ts'
import type { Cluster } from '../upstream/index.ts'

/** How the edge names itself: to clients that must sign in, and in its own tokens. */
export const identity = { realm: 'manager-edge', issuer: 'manager-edge', audience: 'manager-edge' } as const

export interface AccessParts {
  readonly cluster: Cluster
  readonly shared: SharedAccess | undefined
  readonly log: Logger
}

/** Rejects in words when the users file, the keys or the roles are wrong. */
export async function buildAccess(config: Config, { cluster, shared, log }: AccessParts): Promise<Access> {
  const { access } = config
  const perSecond = (max: number) => ({ max, windowMs: 1000 })
  return createAccess({
    realm: identity.realm,
    users:
      config.cluster.credentials.mode === 'passthrough'
        ? { verify: askManager(cluster, config.cluster.limits.timeout), role: access.passthroughRole }
        : { file: access.users ?? '' },
    roles: access.roles,
    ownRoles: access.ownRoles,
    knownPermissions: permissions,
    tokens: {
      lifetime: access.tokens.lifetime / 1000,
      ...(access.tokens.keys !== undefined && { keys: access.tokens.keys }),
      issuer: identity.issuer,
      audience: identity.audience,
      // Settings are in milliseconds, tokens in seconds.
      issuers: access.tokens.issuers.map((each) => ({ ...each, lifetime: each.lifetime / 1000 })),
    },
    limits: {
      failedLogins: access.limits.failedLogins,
      perCaller: perSecond(access.limits.requests),
      perAddress: perSecond(access.limits.requests * 10),
    },
    ...(shared && { attempts: shared.attempts, revocations: shared.revocations }),
    log: (level, message, facts) => log[level](facts ?? {}, message),
  })
}

/** Mode passthrough: credentials are right when the manager answers a call that carries them. */
function askManager(cluster: Cluster, timeout: number): (username: string, password: string) => Promise<boolean> {
  return async (username, password) => {
    const result = await cluster.call({
      node: cluster.view.master().name,
      method: 'GET',
      path: '/version',
      retryable: true,
      expect: 'bytes',
      timeout,
      signal: new AbortController().signal,
      priority: 'health',
      caller: username,
      endpoint: 'GET /version',
      requestId: 'credentials',
      credentials: { username, password },
    })
    if (result.ok) return result.response.status === 200
    if (result.fault === 'refusedCredentials') return false
    throw new EdgeError(920, ` to check the credentials: ${result.detail}`)
  }
}
