/** Finds requests that name a secret field in a parameter. */
import type { Endpoint } from './endpoint.ts'
import { secretFields } from './schemas/params.ts'

/** Kinds of value that contain field names. */
const FIELD_NAMING_KINDS: ReadonlySet<string> = new Set(['sort', 'query', 'select'])

/**
 * Returns whether a parameter names a secret field. Such a request needs `secrets:read`, and its response is never
 * stored.
 */
export function namesSecret(endpoint: Endpoint, query: Readonly<Record<string, string>>): boolean {
  return Object.entries(endpoint.query).some(([name, { kind }]) => {
    const value = FIELD_NAMING_KINDS.has(kind) ? query[name]?.toLowerCase() : undefined
    return value !== undefined && secretFields.some((field) => value.includes(field))
  })
}
