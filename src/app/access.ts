/** Builds authentication and authorisation from the configuration. */
import type { Access } from '../access/access.ts'
import { createAccess } from '../access/index.ts'
import type { SignInClaims } from '../access/sessions.ts'
import type { ExternalIssuerSettings } from '../access/token-issuers.ts'
import type { VerifyPassword } from '../access/users-file.ts'
import { permissions } from '../catalogue/index.ts'
import type { Config } from '../config/schema.ts'
import { rulesOfSetting } from '../upstream/dialects/dialect.ts'
import type { Cluster } from '../upstream/index.ts'
import { createVersionCall } from '../upstream/probes.ts'
import type { Base } from './base.ts'
import { toLog } from './log.ts'
import { checkFailure } from './manager-tokens.ts'

/** The name of the edge for clients that must log in, and in its own tokens. */
export const identity = { realm: 'manager-edge', issuer: 'manager-edge', audience: 'manager-edge' } as const

const SECOND_MS = 1000
/** Logins at nodes of the newer layout, which the upstream room sends one after another and rejects if they would take too long. */
const MAX_CONCURRENT_LOGINS = 64

/**
 * `onManagerLogin`: called before the manager checks a name and a password. Rejects with an `Error` for the operator if the
 * users file, the keys or the roles are invalid.
 */
export async function buildAccess(
  { settings: { initial, derive, onReload }, shared, emit, log }: Base,
  cluster: Cluster,
  onManagerLogin: (name: string) => Promise<void>,
): Promise<Access> {
  const { access, cluster: nodes } = initial
  const built = await createAccess({
    realm: identity.realm,
    users:
      nodes.credentials.mode === 'passthrough'
        ? {
            verify: verifyWithManager(
              cluster,
              derive((config) => config.cluster.limits.timeout),
              onManagerLogin,
            ),
            role: access.passthroughRole,
            ...(rulesOfSetting(nodes.layout).hasTokens && { concurrentChecks: MAX_CONCURRENT_LOGINS }),
          }
        : { file: access.users ?? '' },
    roles: access.roles,
    customRoles: access.customRoles,
    knownPermissions: permissions,
    tokens: {
      // The configuration is in milliseconds, tokens are in seconds.
      lifetime: derive((config) => config.access.tokens.lifetime / SECOND_MS),
      ...(access.tokens.keys !== undefined && { keys: access.tokens.keys }),
      issuer: identity.issuer,
      audience: identity.audience,
      issuers: issuersOf(initial),
    },
    sessions: { lifetime: derive((config) => config.operations.signIn.lifetime), signIn: derive(signInClaims) },
    limits: { failedLogins: derive((config) => config.access.limits.failedLogins) },
    ...(shared && { counters: shared.counters, revocations: shared.revocations }),
    onFailedLogin: emit.failedLogin,
    log: toLog(log),
  })
  onReload((next) => built.prepareReload({ ...next.access, issuers: issuersOf(next) }))
  return built
}

/** Which claims of the outside issuer name the user and the roles. */
function signInClaims({ operations: { signIn } }: Config): SignInClaims | undefined {
  const { issuer, userClaim, rolesClaim, roles } = signIn
  if (issuer === undefined) return undefined
  return { issuer, userClaim, rolesClaim, ...(roles !== undefined && { roles }) }
}

function issuersOf({ access }: Config): readonly ExternalIssuerSettings[] {
  return access.tokens.issuers.map((each) => ({ ...each, lifetime: each.lifetime / SECOND_MS }))
}

/** Mode passthrough: credentials are right if the manager accepts a call or a login with them. */
function verifyWithManager(
  cluster: Cluster,
  timeout: () => number,
  onLogin: (name: string) => Promise<void>,
): VerifyPassword {
  return async (username, password) => {
    await onLogin(username)
    const node = cluster.view.master().name
    const call = { node, timeout: timeout(), caller: username, credentials: { username, password } }
    const result = await cluster.verify(createVersionCall(cluster, call))
    if (result.ok) return true
    if (result.fault === 'refusedCredentials') return false
    throw checkFailure(result, 'to check the credentials')
  }
}
