/** Default deny: what the caller holds against what the record asks for, before anything is looked up. */
import { allows } from '../auth/permissions.ts'
import type { Endpoint } from '../catalogue/endpoint.ts'
import { secretFields } from '../catalogue/schemas/params.ts'
import { EdgeError } from '../errors.ts'
import type { Caller } from '../pipeline/ports.ts'
import type { Values } from './parameters.ts'

const SECRETS = 'secrets:read'

/** Kinds of value that name fields. */
const NAMING: ReadonlySet<string> = new Set(['sort', 'query', 'select'])

/** Refuses with 902, naming the permission that is missing. */
export function authorise(caller: Caller, endpoint: Endpoint, query: Values): void {
  const needed = endpoint.permission
  if (needed !== 'signedIn' && !allows(caller.permissions, needed)) throw denied(needed)
  if ((endpoint.secret !== 'none' || namesSecret(endpoint, query)) && !allows(caller.permissions, SECRETS)) {
    throw denied(SECRETS)
  }
}

function namesSecret(endpoint: Endpoint, query: Values): boolean {
  return Object.entries(endpoint.query).some(([name, { kind }]) => {
    const value = NAMING.has(kind) ? query[name]?.toLowerCase() : undefined
    return value !== undefined && secretFields.some((field) => value.includes(field))
  })
}

function denied(permission: string): EdgeError {
  return new EdgeError(902, `. Permission needed: ${permission}`)
}
