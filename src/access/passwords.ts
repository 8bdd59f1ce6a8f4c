/** Passwords against bcrypt hashes, off the main thread, with the same work for users that do not exist. */
import { createHmac, randomBytes } from 'node:crypto'
import { hash, verify } from '@node-rs/bcrypt'
import type { Users } from './users-file.ts'

/** Is this the password of this user? Rejects when it cannot be known now. */
export type CheckPassword = (name: string, password: string) => Promise<boolean>

/** bcrypt reads no further: longer passwords would match by their beginning, so they are refused. */
const GREATEST_BYTES = 72
const DEFAULT_COST = 10
/** Salt and digest of a well-formed hash that no known password has. */
const NOBODYS = 'C6UzMDM.H6dfI/f/IKcEe.O1Q3Hh8e0N7Wq7k1Y0nJ8mT6b5c4d3e'

/** Why this cannot be a password, in words; `undefined` when it can. */
export function passwordFault(password: string): string | undefined {
  if (password === '') return 'a password must not be empty'
  if (/\p{Cc}/u.test(password)) return 'a password must not hold control characters: HTTP Basic cannot carry them'
  if (Buffer.byteLength(password) > GREATEST_BYTES)
    return `a password has at most ${GREATEST_BYTES} bytes: bcrypt ignores what follows`
  return undefined
}

/** A bcrypt hash as htpasswd writes it; about 50 ms of another thread's CPU at cost 10, doubling with each step. */
export function hashPassword(password: string, cost: number): Promise<string> {
  return hash(password, cost)
}

/**
 * Checks against the users file. A name that is not there is checked against a hash of nobody: its cost is that of
 * a line chosen by the name, so that in a file of mixed costs unknown names take the times that known ones take.
 */
export function checkAgainst(users: Pick<Users, 'hashOf' | 'hashes'>): CheckPassword {
  const key = randomBytes(32)
  return async (name, password) => {
    // Says nothing about the name: it is so for all of them.
    if (Buffer.byteLength(password) > GREATEST_BYTES) return false
    const own = users.hashOf(name)
    const right = await verify(password, own ?? hashOfNobody(key, name, users.hashes()))
    return right && own !== undefined
  }
}

function hashOfNobody(key: Buffer, name: string, hashes: readonly string[]): string {
  const draw = createHmac('sha256', key).update(name).digest().readUInt32BE()
  const cost = hashes[draw % Math.max(1, hashes.length)]?.slice(4, 6) ?? String(DEFAULT_COST)
  return `$2b$${cost}$${NOBODYS}`
}
