/** The users that may log in, as their file says at this moment. */
import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Log } from '../core/log.ts'
import { parseUsers } from './htpasswd.ts'
import { fileFingerprint, watched } from './watched.ts'

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
