import { type FileHandle, open, readFile, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Log } from '../core/events.ts'
import { fileFingerprint, watched } from './file-watcher.ts'
import { hashPassword, passwordFault } from './passwords.ts'

/** The users that may log in, as their file says at this moment. */

export interface Users {
  /** The bcrypt hash of the user; `undefined` for a name that is not there. */
  hashOf(name: string): string | undefined
  /** All hashes, in the order of the file. */
  hashes(): readonly string[]
  close(): void
}

/**
 * Follows a users file: a removed or changed user is known within a second. Rejects when the file is broken at
 * start; broken later, the last good one stays and the log is told. `dropped` hears each name whose line changed.
 */
export async function watchUsers(file: string, log: Log, dropped: (name: string) => void): Promise<Users> {
  const source = await watched({
    folder: dirname(file),
    fingerprint: () => fileFingerprint(file),
    load: () => load(file),
    changed: (now, before) => {
      for (const [name, hash] of before.users) if (now.users.get(name) !== hash) dropped(name)
      log('info', 'users file read again', { file, users: now.users.size })
    },
    broken: (error) =>
      log('error', 'users file is broken, the last good one stays', {
        file,
        fault: error instanceof Error ? error.message : String(error),
      }),
  })
  return {
    hashOf: (name) => source.current().users.get(name),
    hashes: () => source.current().hashes,
    close: () => source.close(),
  }
}

async function load(file: string): Promise<{ users: ReadonlyMap<string, string>; hashes: readonly string[] }> {
  const { users, faults } = parseUsers(await readFile(file, 'utf8'))
  if (faults.length > 0) throw new Error(`users file ${file}: ${faults.join('; ')}`)
  return { users, hashes: [...users.values()] }
}

/**
 * The users file: `name:hash` lines as the htpasswd tool writes them, bcrypt only. Other forms are refused with
 * what to do about it: MD5 and SHA-1 fall to a graphics card in hours.
 */

const NAME = /^[^\p{Cc}\p{Z}:#]{1,128}$/u
const BCRYPT = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/
/** Above this, one login holds a core for seconds. */
const GREATEST_COST = 15
const MAKE = 'make the entry with `manager-edge user add NAME` or `htpasswd -B`'

const otherForms: readonly (readonly [RegExp, string])[] = [
  [/^\$apr1\$|^\$1\$/, 'an MD5 hash'],
  [/^\{SHA\}/, 'a SHA-1 hash'],
  [/^\$[56]\$/, 'a SHA-crypt hash'],
  [/^\$argon2|^\$scrypt|^\$7\$|^\$y\$/, 'a hash of another kind'],
  [/^\$2/, 'a damaged bcrypt hash'],
  [/^$/, 'no hash'],
]

export interface ParsedUsers {
  /** Name → bcrypt hash. */
  readonly users: ReadonlyMap<string, string>
  /** One sentence for each line that is not taken, without anything of the hash. */
  readonly faults: readonly string[]
}

/** Reads the text of a users file; empty lines and lines that begin with `#` are skipped. */
export function parseUsers(text: string): ParsedUsers {
  const users = new Map<string, string>()
  const faults: string[] = []
  for (const [index, line] of text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue
    const colon = line.indexOf(':')
    const name = colon < 0 ? '' : line.slice(0, colon)
    const fault = colon < 0 ? 'no colon between name and hash' : lineFault(name, line.slice(colon + 1), users)
    if (fault === undefined) users.set(name, line.slice(colon + 1))
    else faults.push(`line ${index + 1}: ${fault}`)
  }
  return { users, faults }
}

function lineFault(name: string, hash: string, users: ReadonlyMap<string, string>): string | undefined {
  if (!NAME.test(name)) return 'a name is 1 to 128 characters without blanks, colon and #'
  if (users.has(name)) return `${name} stands there twice`
  const cost = BCRYPT.exec(hash)?.[1]
  if (cost === undefined) {
    const form = otherForms.find(([pattern]) => pattern.test(hash))?.[1] ?? 'no bcrypt hash'
    return `${name} has ${form}; only bcrypt is taken: ${MAKE}`
  }
  if (Number(cost) < 4 || Number(cost) > GREATEST_COST)
    return `${name} has a bcrypt hash of cost ${cost}; 4 to ${GREATEST_COST} are taken: ${MAKE}`
  return undefined
}

/** Adds the user or replaces its password. Throws an `Error` in words for a name or password that cannot be. */
export async function putUser(file: string, name: string, password: string, cost = 10): Promise<'added' | 'replaced'> {
  if (!NAME.test(name)) throw new Error('a name is 1 to 128 characters without blanks, colon and #')
  const fault = passwordFault(password)
  if (fault !== undefined) throw new Error(fault)
  const line = `${name}:${await hashPassword(password, cost)}`
  return rewrite(file, (lines) => {
    const rest = lines.filter((other) => !other.startsWith(`${name}:`))
    const at = lines.findIndex((other) => other.startsWith(`${name}:`))
    return at < 0
      ? { lines: [...rest, line], result: 'added' }
      : { lines: rest.toSpliced(at, 0, line), result: 'replaced' }
  })
}

/** Takes the user out; `false` when it was not there. */
export async function removeUser(file: string, name: string): Promise<boolean> {
  return rewrite(file, (lines) => {
    const rest = lines.filter((other) => !other.startsWith(`${name}:`))
    return { lines: rest, result: rest.length < lines.length }
  })
}

/**
 * Replaces the file as a whole, so that no reader sees half of it. The new file is created exclusively: it is the
 * lock too, else two edits at once lose one.
 */
async function rewrite<T>(path: string, edit: (lines: string[]) => { lines: string[]; result: T }): Promise<T> {
  const file = await realpath(path).catch(() => path)
  const next = `${file}.new`
  const handle = await open(next, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
    throw new Error(`${next} exists: another edit is under way, or one broke off; in that case delete it`)
  })
  try {
    const text = await readFile(file, 'utf8').catch(emptyWhenAbsent)
    const { lines, result } = edit(text.split(/\r?\n/).filter((line, at, all) => line !== '' || at < all.length - 1))
    await handle.writeFile(lines.map((line) => `${line}\n`).join(''))
    await keepReaders(file, handle)
    await handle.sync()
    await handle.close()
    await rename(next, file)
    return result
  } catch (error) {
    await handle.close().catch(() => {})
    await rm(next, { force: true })
    throw error
  }
}

function emptyWhenAbsent(error: NodeJS.ErrnoException): string {
  if (error.code === 'ENOENT') return ''
  throw error
}

/** Edited by root, the file must stay readable for the account that the edge runs as, by itself or by its group. */
async function keepReaders(file: string, next: FileHandle): Promise<void> {
  const before = await stat(file).catch(() => undefined)
  const { uid, gid } = await next.stat()
  if (before !== undefined && (before.uid !== uid || before.gid !== gid)) await next.chown(before.uid, before.gid)
  // After the owner: a group that is not the file's own must never read it.
  await next.chmod(0o600 | ((before?.mode ?? 0) & 0o040))
}
