/** Opens the audit file, and finds the end of its chain. */
import { type FileHandle, open, stat } from 'node:fs/promises'
import { type ChainLink, parseRecord } from './record.ts'

/** Upper bound of one record, in bytes. */
export const MAX_RECORD_BYTES = 256 * 1024
/** Readable by the user and the group of the edge only. */
const FILE_MODE = 0o640

/** Opens the file for appending and creates it if it is absent. Rejects with the setting and a remedy. */
export function openAuditFile(file: string): Promise<FileHandle> {
  return open(file, 'a+', FILE_MODE).catch((cause) => throwWithRemedy(file, cause))
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
