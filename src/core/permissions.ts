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
