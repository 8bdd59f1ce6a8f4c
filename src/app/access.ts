/** Builds authentication and authorisation from the configuration. */

import type { AcceptedTokens } from '../access/accepted-tokens.ts'
import type { Access } from '../access/access.ts'
import { createAccess } from '../access/index.ts'
import type { VerifyPassword } from '../access/passwords.ts'
import type { ExternalIssuerSettings } from '../access/token-issuers.ts'
import type { Config } from '../config/schema.ts'
import { permissions } from '../contracts/index.ts'
import { rulesOfSetting } from '../layouts/layout-rules.ts'
import type { Cluster } from '../upstream/index.ts'
import { createVersionCall } from '../upstream/probes.ts'
import type { Base } from './base.ts'
import { toLog } from './log.ts'
import { checkFailure } from './manager-tokens.ts'

const SECOND_MS = 1000
/**
 * Logins at nodes of the v4 layout. The upstream room sends up to four at a time, and those with a priority wait before it. Release
 * 5.0 takes 150 ms for each, one after the other: 128 end within the 20 s that a call may take.
 */
const LOGINS = { concurrency: 16, maxQueued: 112 }

/** Rejects with an `Error` for the operator if the users file, the keys or the roles are invalid. */
export async function buildAccess(
  {
    settings: { initial, derive, onReload },
    shared,
    events,
    log,
  }: Pick<Base, 'settings' | 'shared' | 'events' | 'log'>,
  cluster: Cluster,
  acceptedTokens: AcceptedTokens | undefined,
): Promise<Access> {
  const { access, cluster: nodes } = initial
  const built = await createAccess({
    users:
      nodes.credentials.mode === 'passthrough'
        ? {
            verify: verifyWithManager(
              cluster,
              derive((config) => config.cluster.limits.timeout),
              async (name) => acceptedTokens?.beginLogin(name),
            ),
            role: access.passthroughRole,
            ...(rulesOfSetting(nodes.layout).hasTokens && { checks: LOGINS }),
          }
        : { file: access.users ?? '' },
    roles: access.roles,
    customRoles: access.customRoles,
    knownPermissions: permissions,
    tokens: {
      // The configuration is in milliseconds, tokens are in seconds.
      lifetime: derive((config) => config.access.tokens.lifetime / SECOND_MS),
      ...(access.tokens.keys !== undefined && { keys: access.tokens.keys }),
      issuers: issuersOf(initial),
    },
    limits: { failedLogins: derive((config) => config.access.limits.failedLogins) },
    ...(shared && { counters: shared.counters, revocations: shared.revocations }),
    onFailedLogin: events.emit.failedLogin,
    log: toLog(log),
  })
  onReload((next) => built.prepareReload({ ...next.access, issuers: issuersOf(next) }))
  return built
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
  return async (credentials, clientAddress) => {
    const { username: caller } = credentials
    await onLogin(caller)
    const node = cluster.view.master().name
    const call = { node, timeout: timeout(), caller, credentials, clientAddress }
    const result = await cluster.verify(createVersionCall(cluster, call))
    if (result.ok) return true
    if (result.fault === 'refusedCredentials') return false
    throw checkFailure(result, 'to check the credentials')
  }
}
