/** The lock of an audit file: two processes that append to one file would break its chain. */
import { stat } from 'node:fs/promises'
import { lock } from 'proper-lockfile'

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
  const retries = Math.ceil((LEASE_MS + RENEWAL_INTERVAL_MS) / RETRY_INTERVAL_MS)
  try {
    const release = await lock(file, {
      realpath: false,
      stale: LEASE_MS,
      update: RENEWAL_INTERVAL_MS,
      retries: { retries, minTimeout: RETRY_INTERVAL_MS, maxTimeout: RETRY_INTERVAL_MS, factor: 1 },
      onCompromised: onLost,
    })
    // The lock may be lost at any time; then there is nothing to release.
    return { release: () => release().catch(() => undefined) }
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (NOT_LOCKABLE.has(code)) return undefined
    const reason = code === 'ELOCKED' ? 'another process writes this file' : `its lock cannot be created (${code})`
    throw new Error(`audit.file: ${file}: ${reason}; give each replica its own file (lock: ${file}.lock)`, {
      cause,
    })
  }
}
