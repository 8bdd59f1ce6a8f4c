/** Default deny: what the caller holds against what the record asks for, before anything is looked up. */

import type { Endpoint } from '../catalogue/endpoint.ts'
import { namesSecret } from '../catalogue/secret.ts'
import { EdgeError } from '../core/errors.ts'
import { allows } from '../core/permissions.ts'
import type { Caller } from '../core/request.ts'
import type { Values } from './parameters.ts'

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
