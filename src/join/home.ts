/** Where an agent reports to, and the one error for what is not known of it. */
import { EdgeError } from '../core/errors.ts'

/** `never`: it has not connected yet. `nowhere`: it has, and the master does not say where. */
export type Home = { readonly kind: 'node'; readonly node: string } | { readonly kind: 'never' | 'nowhere' }

/** By id. */
export type Homes = ReadonlyMap<string, Home>

/** Every node is `000` to itself; under that id clients mean the master. */
export const MANAGER = '000'

const NOT_KNOWN = 931
/** Seconds after which the master may know. */
const RETRY_AFTER = '5'

/** `cause`: the fault that kept the master from saying it; its own headers hold. */
export function notKnown(why: string, cause?: EdgeError): EdgeError {
  const headers = { 'retry-after': RETRY_AFTER, ...cause?.headers }
  return new EdgeError(NOT_KNOWN, ` (${why})`, { headers, ...(cause && { cause }) })
}

export function isNotKnown(fault: unknown): fault is EdgeError {
  return fault instanceof EdgeError && fault.code === NOT_KNOWN
}
