/**
 * The users file: `name:hash` lines as the htpasswd tool writes them, bcrypt only. Other hashes are refused, because
 * a graphics card breaks MD5 and SHA-1 within hours.
 */
import { type FileHandle, open, readFile, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { hash } from '@node-rs/bcrypt'
import type { Log } from '../core/events.ts'
import { digestText } from '../core/settings.ts'
import { fingerprintFile, watchFiles } from '../file-watcher.ts'
import { checkPassword } from './passwords.ts'

/**
 * Loads a users file and reloads it within a second of a change. Rejects if the file is invalid at the start. If it
 * becomes invalid later, the last valid users stay in use and the log has an error. `onUserChanged` is called with
 * the name of each user whose line was changed or removed.
 */
export async function watchUsers(file: string, log: Log, onUserChanged: (name: string) => void) {
  const watched = await watchFiles({
    folder: dirname(file),
    fingerprint: () => fingerprintFile(file),
    load: () => loadUsers(file),
    onReload: (now, before) => {
      for (const [name, hash] of before.users) if (now.users.get(name) !== hash) onUserChanged(name)
      log('info', 'users file reloaded', { file, users: now.users.size })
    },
    onError: (error) =>
      log('error', 'users file cannot be reloaded, the last valid users stay in use', {
        file,
        fault: error instanceof Error ? error.message : String(error),
      }),
  })
  return {
    /** Returns the bcrypt hash of the user; `undefined` for an unknown name. */
    hashOf: (name: string) => watched.current().users.get(name),
    /** Returns all hashes, in the order of the file. */
    hashes: () => watched.current().hashes,
    /** Returns a digest of all users with their hashes, in any order. */
    digest: () => watched.current().digest,
    close: watched.close,
  }
}

/** The users that may log in, as the file lists them now. */
export type Users = Awaited<ReturnType<typeof watchUsers>>

async function loadUsers(file: string) {
  const { users, faults } = parseUsers(await readFile(file, 'utf8'))
  if (faults.length > 0) throw new Error(`users file ${file}: ${faults.slice(0, MAX_FAULTS).join('; ')}`)
  return { users, hashes: [...users.values()], digest: digestText(JSON.stringify([...users].sort())) }
}

/** More of them would fill the screen and the log. */
const MAX_FAULTS = 5

const NAME_PATTERN = /^[^\p{Cc}\p{Z}:#]{1,128}$/u

const NAME_RULE = 'a name is 1 to 128 characters without spaces, colon and #'

const BCRYPT_PATTERN = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/

const MIN_BCRYPT_COST = 4

/** With a greater cost, one login would occupy a core for seconds. */
const MAX_BCRYPT_COST = 15

const HOW_TO_CREATE = 'create the line with `manager-edge user add NAME` or `htpasswd -B`'

const UNSUPPORTED_HASHES: readonly (readonly [RegExp, string])[] = [
  [/^\$apr1\$|^\$1\$/, 'an MD5 hash'],
  [/^\{SHA\}/, 'a SHA-1 hash'],
  [/^\$[56]\$/, 'a SHA-crypt hash'],
  [/^\$argon2|^\$scrypt|^\$7\$|^\$y\$/, 'a hash of another kind'],
  [/^\$2/, 'a damaged bcrypt hash'],
  [/^$/, 'no hash'],
]

/**
 * Parses the text of a users file: name → bcrypt hash, and one sentence for each line that is refused, without any part of the
 * hash. Empty lines and lines that start with `#` are skipped.
 */
export function parseUsers(text: string) {
  const users = new Map<string, string>()
  const faults: string[] = []
  const lines = text.replace(/^\uFEFF/, '').split(/\r?\n/)
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue
    const colon = line.indexOf(':')
    const name = colon < 0 ? '' : line.slice(0, colon)
    const fault =
      colon < 0 ? `no colon between name and hash; ${HOW_TO_CREATE}` : checkLine(name, line.slice(colon + 1), users)
    if (fault === undefined) users.set(name, line.slice(colon + 1))
    else faults.push(`line ${index + 1}: ${fault}`)
  }
  return { users, faults }
}

function checkLine(name: string, hash: string, users: ReadonlyMap<string, string>): string | undefined {
  if (!NAME_PATTERN.test(name)) return NAME_RULE
  if (users.has(name)) return `${name} is listed twice`
  const cost = BCRYPT_PATTERN.exec(hash)?.[1]
  if (cost === undefined) {
    const kind = UNSUPPORTED_HASHES.find(([pattern]) => pattern.test(hash))?.[1] ?? 'no bcrypt hash'
    return `${name} has ${kind}; only bcrypt is accepted: ${HOW_TO_CREATE}`
  }
  if (Number(cost) < MIN_BCRYPT_COST || Number(cost) > MAX_BCRYPT_COST)
    return `${name} has a bcrypt hash of cost ${cost}; ${MIN_BCRYPT_COST} to ${MAX_BCRYPT_COST} are accepted: ${HOW_TO_CREATE}`
  return undefined
}

/** Adds the user or replaces its password. Throws an `Error` if the name or the password is not allowed. */
export async function putUser(file: string, name: string, password: string, cost = 10): Promise<'added' | 'replaced'> {
  if (!NAME_PATTERN.test(name)) throw new Error(NAME_RULE)
  const fault = checkPassword(password)
  if (fault !== undefined) throw new Error(fault)
  const line = `${name}:${await hash(password, cost)}`
  return rewriteFile(file, (lines) => {
    const rest = lines.filter((other) => !other.startsWith(`${name}:`))
    const index = lines.findIndex((other) => other.startsWith(`${name}:`))
    return index < 0
      ? { lines: [...rest, line], result: 'added' }
      : { lines: rest.toSpliced(index, 0, line), result: 'replaced' }
  })
}

/** Removes the user. Resolves to `false` if the file does not list it. */
export async function removeUser(file: string, name: string): Promise<boolean> {
  return rewriteFile(file, (lines) => {
    const rest = lines.filter((other) => !other.startsWith(`${name}:`))
    return { lines: rest, result: rest.length < lines.length }
  })
}

/**
 * Replaces the file as a whole, so that no reader sees half of it. The new file is created exclusively and serves as
 * the lock, because two edits at the same time would lose one of them.
 */
async function rewriteFile<T>(path: string, edit: (lines: string[]) => { lines: string[]; result: T }): Promise<T> {
  const file = await realpath(path).catch(() => path)
  const next = `${file}.new`
  const handle = await open(next, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
    throw new Error(`${next} exists: another edit is in progress or was interrupted; if it was interrupted, delete it`)
  })
  try {
    const text = await readFile(file, 'utf8').catch(emptyIfMissing)
    const { lines, result } = edit(text.split(/\r?\n/).filter((line, at, all) => line !== '' || at < all.length - 1))
    await handle.writeFile(lines.map((line) => `${line}\n`).join(''))
    await copyOwnerAndMode(file, handle)
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

function emptyIfMissing(error: NodeJS.ErrnoException): string {
  if (error.code === 'ENOENT') return ''
  throw error
}

/** If root edits the file, it must stay readable for the account of the edge, as its owner or by its group. */
async function copyOwnerAndMode(file: string, next: FileHandle): Promise<void> {
  const before = await stat(file).catch(() => undefined)
  const { uid, gid } = await next.stat()
  if (before !== undefined && (before.uid !== uid || before.gid !== gid)) await next.chown(before.uid, before.gid)
  // The mode comes after the owner, so that no other group can read the file in between.
  await next.chmod(0o600 | ((before?.mode ?? 0) & 0o040))
}
