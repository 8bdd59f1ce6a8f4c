/** Passwords of the account on the nodes that the manager ships with, and the first guesses of every attacker. */
const KNOWN_PASSWORDS = new Set([
  'foo',
  'bar',
  'wazuh',
  'wazuh-wui',
  'admin',
  'password',
  'changeme',
  'secret',
  '123456',
])

const REMEDY = 'set a new password for this user on the manager, and use it here'

/** Returns what is wrong with the password, and the remedy; `undefined`: nothing is known against it. */
export function weaknessOf({
  username,
  password,
}: {
  readonly username?: string
  readonly password?: string
}): string | undefined {
  if (username === undefined || password === undefined) return undefined
  if (password.toLowerCase() === username.toLowerCase()) return `the password is the name of the user; ${REMEDY}`
  if (KNOWN_PASSWORDS.has(password.toLowerCase())) return `the password is a known default; ${REMEDY}`
  return undefined
}
