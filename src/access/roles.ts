/**
 * The permissions of each user, resolved from the names of the user's roles; and how a claim of an outside issuer names
 * roles: the same for Bearer tokens and for sign-ins to the console.
 */
import { allows, builtInRoles } from '../core/access.ts'
import { ownEntry, ownField } from '../core/values.ts'

/** User name → names of roles. */
export type RoleAssignment = Readonly<Record<string, readonly string[]>>

/** Roles of the setting `access.customRoles`: name → permissions. */
export type CustomRoles = Readonly<Record<string, readonly string[]>>

export type Roles = Readonly<ReturnType<typeof createRoles>>

/** Of a user without roles. */
export const NO_PERMISSIONS: readonly string[] = Object.freeze([])

/** Throws an `Error` that lists the permissions that no endpoint needs. `knownPermissions`: those that endpoints need. */
export function createRoles(users: RoleAssignment, customRoles: CustomRoles, knownPermissions?: readonly string[]) {
  let assignment = users
  let custom = customRoles
  /**
   * Checks the next custom roles. Throws, and changes nothing, if they are invalid. Returns the function that puts them and
   * the next roles of all users to use.
   */
  const prepare = (nextUsers: RoleAssignment, nextCustom = custom): (() => void) => {
    const faults = knownPermissions === undefined ? [] : faultsOf(nextCustom, knownPermissions)
    if (faults.length > 0) throw new Error(`access.customRoles: ${faults.join('; ')}`)
    const resolved = resolveUsers(nextUsers, nextCustom)
    return () => {
      created.byUser = resolved
      assignment = nextUsers
      custom = nextCustom
    }
  }
  const created = {
    prepare,
    /** The permissions of the users who have roles. A reload replaces the map. */
    byUser: new Map() as ReadonlyMap<string, readonly string[]>,
    /** Returns the names of the user's roles; none for a user without roles. */
    rolesOfUser: (name: string): readonly string[] => ownEntry(assignment, name) ?? [],
    /** Returns the permissions of these roles. A role that does not exist grants nothing. */
    permissionsOfRoles: (roleNames: readonly string[]) => resolvePermissions(roleNames, custom),
  }
  prepare(users)()
  return created
}

/** Users with the same roles have the same list of permissions, so that comparing two of them costs nothing. */
function resolveUsers(users: RoleAssignment, customRoles: CustomRoles): ReadonlyMap<string, readonly string[]> {
  const byRoles = new Map<string, readonly string[]>()
  const resolve = (roles: readonly string[]) => {
    const names = roles.join(' ')
    const resolved = byRoles.get(names) ?? resolvePermissions(roles, customRoles)
    byRoles.set(names, resolved)
    return resolved
  }
  return new Map(Object.entries(users).map(([name, roles]) => [name, resolve(roles)]))
}

/** Returns all permissions of the roles, each once. A role that does not exist grants nothing. */
export function resolvePermissions(roleNames: readonly string[], customRoles: CustomRoles): readonly string[] {
  const granted = roleNames.flatMap(
    (name) => ownEntry<readonly string[]>(builtInRoles, name) ?? ownEntry(customRoles, name) ?? [],
  )
  return Object.freeze([...new Set(granted)])
}

/** Returns one sentence for each permission of a custom role that no endpoint needs. */
function faultsOf(customRoles: CustomRoles, known: readonly string[]): string[] {
  const isUnknown = (permission: string) => permission !== '*' && !known.some((each) => allows([permission], each))
  return Object.entries(customRoles).flatMap(([role, granted]) =>
    granted
      .filter(isUnknown)
      .map((permission) => `role ${role}: no endpoint needs ${permission}; available: ${known.join(', ')}`),
  )
}

export interface ClaimRoles {
  /** The claim that names roles: a list, or words with spaces between. `realm_access.roles` reads a nested claim. */
  readonly rolesClaim: string
  /** Words of that claim → roles of the edge. Absent: the words are the names of roles. */
  readonly roles?: Readonly<Record<string, readonly string[]>>
}

/** Returns the words of the claim that names roles; none if the claim is missing or has another type. */
export function wordsOfClaim(claims: unknown, { rolesClaim }: ClaimRoles): string[] {
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
