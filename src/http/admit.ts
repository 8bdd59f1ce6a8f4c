import type { Endpoint } from '../catalogue/endpoint.ts'
import { namesSecret } from '../catalogue/secret.ts'
import { EdgeError } from '../core/errors.ts'
import { allows } from '../core/permissions.ts'
import type { Caller } from '../core/request.ts'
import type { Values } from './parameters.ts'

/** Default deny: what the caller holds against what the record asks for, before anything is looked up. */

const SECRETS = 'secrets:read'

/** Refuses with 902, naming the permission that is missing. */
export function authorise(caller: Caller, endpoint: Endpoint, query: Values): void {
  const needed = endpoint.permission
  if (needed !== 'signedIn' && !allows(caller.permissions, needed)) throw denied(needed)
  if ((endpoint.secret !== 'none' || namesSecret(endpoint, query)) && !allows(caller.permissions, SECRETS)) {
    throw denied(SECRETS)
  }
}

function denied(permission: string): EdgeError {
  return new EdgeError(902, `. Permission needed: ${permission}`)
}

/**
 * `wazuh-app-version`: a client that names its version wants a manager of the same major and minor one
 * (contract, errors.yaml 801 and 802). Answered here, from the version that the nodes report.
 */

const VERSION = /^v?([0-9]{1,4})\.([0-9]{1,4})\.[0-9]{1,4}$/

/** `managerVersion` as discovery gave it (`3.11.5`, `Wazuh v3.11.5`); while none is known, nothing is refused but nonsense. */
export function checkAppVersion(header: string | string[] | undefined, managerVersion: string | undefined): void {
  if (header === undefined) return
  const app = typeof header === 'string' ? VERSION.exec(header) : null
  if (app === null) throw new EdgeError(801)
  const manager = managerVersion === undefined ? null : VERSION.exec(managerVersion.split(' ').at(-1) ?? '')
  if (manager !== null && (app[1] !== manager[1] || app[2] !== manager[2])) throw new EdgeError(802)
}
