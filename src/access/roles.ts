/** What each user may do, kept ready for each request. */
import { type OwnRoles, ownRoleFaults, resolvePermissions } from './permissions.ts'

/** User name → names of roles. */
export type Assignment = Readonly<Record<string, readonly string[]>>

export interface Roles {
  /** Permissions of the user; none for one without roles. */
  ofUser(name: string): readonly string[]
  /** Permissions of these roles; roles that do not exist grant nothing. */
  of(roleNames: readonly string[]): readonly string[]
  /** From now on the users have these roles and no others. Throws, and changes nothing, when one does not exist. */
  assign(users: Assignment): void
}

const none: readonly string[] = Object.freeze([])

/** Throws an `Error` that tells everything that is wrong with the roles. */
export function createRoles(users: Assignment, ownRoles: OwnRoles, words?: readonly string[]): Roles {
  const faults = ownRoleFaults(ownRoles, words)
  if (faults.length > 0) throw new Error(`access.ownRoles: ${faults.join('; ')}`)
  let permissions = resolve(users, ownRoles)
  return {
    ofUser: (name) => permissions.get(name) ?? none,
    of: (roleNames) => resolvePermissions(roleNames, ownRoles).permissions,
    assign(changed) {
      permissions = resolve(changed, ownRoles)
    },
  }
}

function resolve(users: Assignment, ownRoles: OwnRoles): ReadonlyMap<string, readonly string[]> {
  const resolved = Object.entries(users).map(([name, roles]) => ({ name, ...resolvePermissions(roles, ownRoles) }))
  const faults = resolved.flatMap((user) => user.faults.map((fault) => `${user.name}: ${fault}`))
  if (faults.length > 0) throw new Error(`access.roles: ${faults.join('; ')}`)
  return new Map(resolved.map(({ name, permissions }) => [name, permissions]))
}
