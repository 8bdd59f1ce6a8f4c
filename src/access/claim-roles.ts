/** How a claim of an outside issuer names roles of the edge: the same for Bearer tokens and for sign-ins to the console. */
import { ownEntry, ownField } from '../core/values.ts'

export interface ClaimRoles {
  /** The claim that names roles: a list, or words with spaces between. `realm_access.roles` reads a nested claim. */
  readonly rolesClaim?: string
  /** Words of that claim → roles of the edge. Absent: the words are the names of roles. */
  readonly roles?: Readonly<Record<string, readonly string[]>>
}

const DEFAULT_CLAIM = 'roles'

/** Returns the words of the claim that names roles; none if the claim is missing or has another type. */
export function wordsOfClaim(claims: unknown, { rolesClaim = DEFAULT_CLAIM }: ClaimRoles): string[] {
  const dot = rolesClaim.indexOf('.')
  const isNested = dot > 0 && ownField(claims, rolesClaim) === undefined
  const value = isNested
    ? ownField(ownField(claims, rolesClaim.slice(0, dot)), rolesClaim.slice(dot + 1))
    : ownField(claims, rolesClaim)
  if (typeof value === 'string') return value.split(' ').filter((word) => word !== '')
  return Array.isArray(value) ? value.filter((word) => typeof word === 'string') : []
}

/** Returns the names of roles. The roles need not exist. */
export function rolesOfWords(words: readonly string[], { roles }: ClaimRoles): readonly string[] {
  return roles === undefined ? words : words.flatMap((word) => ownEntry(roles, word) ?? [])
}
