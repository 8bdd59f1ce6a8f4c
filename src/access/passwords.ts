/**
 * Passwords: which texts can be one, and how one is compared with the hashes of the users file, outside the main thread.
 */
import { createHmac, randomBytes } from 'node:crypto'
import { verify } from '@node-rs/bcrypt'
import type { NameAndPassword } from '../core/values.ts'

/** Resolves to whether this is the password of this user. Rejects if that cannot be determined now. `address`: of the client. */
export type VerifyPassword = (pair: NameAndPassword, address: string) => Promise<boolean>

/** bcrypt ignores further bytes: a longer password would match by its beginning, so longer ones are refused. */
const MAX_PASSWORD_BYTES = 72
const DEFAULT_BCRYPT_COST = 10
/** Salt and digest of a well-formed hash that no known password has. */
const UNKNOWN_USER_HASH = 'C6UzMDM.H6dfI/f/IKcEe.O1Q3Hh8e0N7Wq7k1Y0nJ8mT6b5c4d3e'

/** Returns why this text cannot be a password; `undefined` if it can. */
export function checkPassword(password: string): string | undefined {
  if (password === '') return 'a password must not be empty'
  if (/\p{Cc}/u.test(password)) return 'a password must not contain control characters: HTTP Basic cannot carry them'
  if (Buffer.byteLength(password) > MAX_PASSWORD_BYTES)
    return `a password has at most ${MAX_PASSWORD_BYTES} bytes: bcrypt ignores further bytes`
  return undefined
}

/**
 * Returns a check against the users file. An unknown name is checked against the hash of no user, with the cost of a
 * line that the name selects: in a file of mixed costs, unknown names take the times that known names take. `compare` computes
 * the hash.
 */
export function createPasswordVerifier(
  users: { hashOf(name: string): string | undefined; hashes(): readonly string[] },
  compare: (password: string, bcryptHash: string) => Promise<boolean> = verify,
): VerifyPassword {
  const key = randomBytes(32)
  return async ({ username: name, password }) => {
    // The short cut reveals nothing about the name, because it is the same for all names.
    if (Buffer.byteLength(password) > MAX_PASSWORD_BYTES) return false
    const userHash = users.hashOf(name)
    const isRight = await compare(password, userHash ?? hashForUnknownUser(key, name, users.hashes()))
    return isRight && userHash !== undefined
  }
}

function hashForUnknownUser(key: Buffer, name: string, hashes: readonly string[]): string {
  const draw = createHmac('sha256', key).update(name).digest().readUInt32BE()
  const cost = hashes[draw % Math.max(1, hashes.length)]?.slice(4, 6) ?? String(DEFAULT_BCRYPT_COST)
  return `$2b$${cost}$${UNKNOWN_USER_HASH}`
}
