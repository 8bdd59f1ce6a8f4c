/** The lock of the audit file: two processes that write one file would break its chain. */
import { stat } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'

/** A killed process leaves its lock. It renews it every two seconds, so after this time nothing renews it any more. */
const LEASE_MS = 5000
const RENEWAL_INTERVAL_MS = 2000
const RETRY_INTERVAL_MS = 250
/** The folder allows no lock, for example if the file is the mount point; or it is missing, which `open` reports. */
const NOT_LOCKABLE: ReadonlySet<string | undefined> = new Set(['EACCES', 'EPERM', 'EROFS', 'ENOENT'])

export interface FileLock {
  release(): Promise<void>
}

/**
 * Locks a file by the folder `<file>.lock`. Waits until the lock of a killed process has expired, and rejects if another
 * process still holds it then. Resolves to undefined if the folder of the file is not writable, or the file is a device
 * such as /dev/stdout. `onLost`: called if the lock was removed or could not be renewed.
 */
export async function lockAuditFile(file: string, onLost: () => void): Promise<FileLock | undefined> {
  const stats = await stat(file).catch(() => undefined)
  if (stats !== undefined && !stats.isFile()) return undefined
  const { lock } = await import('proper-lockfile')
  const deadline = performance.now() + LEASE_MS + RENEWAL_INTERVAL_MS
  const options = { realpath: false, stale: LEASE_MS, update: RENEWAL_INTERVAL_MS, onCompromised: onLost }
  for (;;) {
    try {
      const release = await lock(file, options)
      // The lock may be lost at any time; then there is nothing to release.
      return { release: () => release().catch(() => undefined) }
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException
      // Only a lock can expire: other faults do not delay the start.
      if (NOT_LOCKABLE.has(code)) return undefined
      if (code !== 'ELOCKED' || performance.now() >= deadline) throw lockFault(file, cause)
    }
    await wait(RETRY_INTERVAL_MS)
  }
}

function lockFault(file: string, cause: unknown): Error {
  const { code } = cause as NodeJS.ErrnoException
  const reason = code === 'ELOCKED' ? 'another process writes this file' : `its lock cannot be created (${code})`
  return new Error(`audit.file: ${file}: ${reason}; give each replica its own file (lock: ${file}.lock)`, { cause })
}
