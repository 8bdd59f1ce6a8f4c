/** Which requests ask for a secret by its name, besides the records that hold one. */
import type { Endpoint } from './endpoint.ts'
import { secretFields } from './schemas/params.ts'

/** Kinds of value that name fields. */
const NAMING: ReadonlySet<string> = new Set(['sort', 'query', 'select'])

/** Such a request needs `secrets:read`, and its answer is never kept. */
export function namesSecret(endpoint: Endpoint, query: Readonly<Record<string, string>>): boolean {
  return Object.entries(endpoint.query).some(([name, { kind }]) => {
    const value = NAMING.has(kind) ? query[name]?.toLowerCase() : undefined
    return value !== undefined && secretFields.some((field) => value.includes(field))
  })
}
