/**
 * Opening the audit file: with which rights, whether it was moved since, and where its chain ends. And its lock: two
 * processes that append to one file would break its chain.
 */
import { access, constants, type FileHandle, open, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { type ChainLink, parseRecord } from './record.ts'

/** Upper bound of one record, in bytes. */
export const MAX_RECORD_BYTES = 256 * 1024
/** Readable by the user and the group of the edge only. */
const FILE_MODE = 0o640

/** Opens the file for appending and creates it if it is absent. Rejects with the setting and a remedy. */
export function openAuditFile(file: string): Promise<FileHandle> {
  return open(file, 'a+', FILE_MODE).catch((cause) => throwWithRemedy(file, cause))
}

/** Rejects as `openAuditFile` would, but creates nothing. */
export async function checkAuditFile(file: string): Promise<void> {
  try {
    const handle = await open(file, 'r+').catch(undefinedIfAbsent)
    if (handle === undefined) await access(dirname(file), constants.W_OK)
    else await handle.close()
  } catch (cause) {
    throwWithRemedy(file, cause)
  }
}

/** Returns whether the path still names the open file: not after it was moved, removed or replaced. */
export async function isOpenAt(handle: FileHandle, file: string): Promise<boolean> {
  const atPath = await stat(file).catch(undefinedIfAbsent)
  const { ino, dev } = await handle.stat()
  return atPath?.ino === ino && atPath.dev === dev
}

/** Returns the end of the chain in the file. `torn`: the file ends with an incomplete record. */
export async function readChainEnd(handle: FileHandle, size: number): Promise<{ link?: ChainLink; torn: boolean }> {
  const length = Math.min(size, MAX_RECORD_BYTES)
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, size - length)
  const text = buffer.toString('utf8', 0, bytesRead)
  const torn = text !== '' && !text.endsWith('\n')
  for (const line of text.split('\n').reverse()) {
    const record = parseRecord(line)
    if (record !== undefined) return { link: { seq: record.seq, digest: record.digest }, torn }
  }
  return { torn }
}

function throwWithRemedy(file: string, cause: unknown): never {
  const { code } = cause as NodeJS.ErrnoException
  const message = `audit.file: ${file} cannot be opened (${code}); name a file in a folder that the edge may write to`
  throw new Error(message, { cause })
}

function undefinedIfAbsent(fault: NodeJS.ErrnoException): undefined {
  if (fault.code !== 'ENOENT') throw fault
}

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
