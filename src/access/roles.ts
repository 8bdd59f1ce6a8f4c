/**
 * Who may do what, in words: a permission is `resource:action`, a role is a list of permissions. `agents:*` is every
 * action on agents, `*:read` reading everything, `*` (or `*:*`) everything. What is not granted is denied.
 */

/**
 * Reading these is more than reading: agent keys, the cluster key and file contents; the internals of the edge.
 * They are granted by name, by `secrets:*` or by `*`, never by `*:read`, so that a role to look around stays harmless.
 */
const namedOnly: ReadonlySet<string> = new Set(['secrets:read', 'operations:read'])

/** Does one of the granted permissions cover the needed one? A needed permission that is no `resource:action` is never covered. */
export function allows(granted: readonly string[], needed: string): boolean {
  const colon = needed.indexOf(':')
  if (colon < 1 || needed.includes('*')) return false
  const wholeResource = `${needed.slice(0, colon)}:*`
  const everywhere = namedOnly.has(needed) ? undefined : `*${needed.slice(colon)}`
  return granted.some(
    (permission) =>
      permission === needed ||
      permission === wholeResource ||
      permission === everywhere ||
      permission === '*' ||
      permission === '*:*',
  )
}

/**
 * The roles that exist without being written.
 * - `reader` reads everything but secrets and the operations listener.
 * - `operator` does the everyday work on agents and groups (adding, changing, removing, restarting agents), starts
 *   scans and clears the cache, and sees secrets, since whoever registers an agent handles its key. It does not
 *   upgrade agents or run commands on them (both act as root on every host), restart the manager or the cluster,
 *   write or delete files of the manager, or clear scan results, which are evidence.
 * - `administrator` does everything.
 */
export const readyMadeRoles: Readonly<Record<'reader' | 'operator' | 'administrator', readonly string[]>> = {
  reader: ['*:read'],
  operator: [
    '*:read',
    'secrets:read',
    'operations:read',
    'agents:write',
    'agents:delete',
    'agents:restart',
    'groups:write',
    'groups:delete',
    'rootcheck:run',
    'syscheck:run',
    'cache:purge',
  ],
  administrator: ['*'],
}

export type OwnRoles = Readonly<Record<string, readonly string[]>>

const PERMISSION = /^(?:\*|(?:\*|[a-z][a-z-]*):(?:\*|[a-z][a-z-]*))$/

export interface ResolvedRoles {
  readonly permissions: readonly string[]
  /** One sentence for each role that does not exist. */
  readonly faults: readonly string[]
}

/** All permissions of the roles, each once. A role that does not exist grants nothing. */
export function resolvePermissions(roleNames: readonly string[], ownRoles: OwnRoles): ResolvedRoles {
  const permissions = new Set<string>()
  const faults: string[] = []
  for (const name of roleNames) {
    const granted = roleOf(name, ownRoles)
    if (granted === undefined) faults.push(`role ${name} does not exist; there are ${roleList(ownRoles)}`)
    else for (const permission of granted) permissions.add(permission)
  }
  return { permissions: Object.freeze([...permissions]), faults }
}

/** One sentence for each own role that takes a ready-made name or grants what can never be needed. `words`: the permissions that exist. */
export function ownRoleFaults(ownRoles: OwnRoles, words?: readonly string[]): string[] {
  return Object.entries(ownRoles).flatMap(([name, granted]) => {
    const taken = Object.hasOwn(readyMadeRoles, name) ? [`role ${name} is ready-made; give yours another name`] : []
    return [...taken, ...granted.flatMap((permission) => permissionFault(name, permission, words))]
  })
}

function permissionFault(role: string, permission: string, words: readonly string[] | undefined): string[] {
  if (!PERMISSION.test(permission))
    return [`role ${role}: ${permission} is no permission; write resource:action, agents:*, *:read or *`]
  if (words === undefined || permission === '*' || words.some((word) => allows([permission], word))) return []
  return [`role ${role}: no endpoint needs ${permission}; there are ${words.join(', ')}`]
}

function roleOf(name: string, ownRoles: OwnRoles): readonly string[] | undefined {
  if (Object.hasOwn(readyMadeRoles, name)) return readyMadeRoles[name as keyof typeof readyMadeRoles]
  return Object.hasOwn(ownRoles, name) ? ownRoles[name] : undefined
}

function roleList(ownRoles: OwnRoles): string {
  return [...Object.keys(readyMadeRoles), ...Object.keys(ownRoles)].join(', ')
}

/** What each user may do, kept ready for each request. */

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
