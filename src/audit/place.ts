/** The place where an audit is written: how it is opened, whether it is still there, and where its chain ended. */
import { access, constants, type FileHandle, open, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { type Link, readLine } from './record.ts'

/** A line is shorter than that. */
const TAIL = 256 * 1024
/** Only those who run the edge read it. */
const MODE = 0o640

/** Rejects with what to do about it. */
export function openPlace(file: string): Promise<FileHandle> {
  return open(file, 'a+', MODE).catch((cause) => refuse(file, cause))
}

/** Rejects as `openPlace` would, and leaves nothing behind. */
export async function checkPlace(file: string): Promise<void> {
  try {
    const there = await open(file, 'r+').catch(absent)
    if (there === undefined) await access(dirname(file), constants.W_OK)
    else await there.close()
  } catch (cause) {
    refuse(file, cause)
  }
}

/** False where the file was moved away, removed, or replaced by another. */
export async function standsAt(handle: FileHandle, file: string): Promise<boolean> {
  const there = await stat(file).catch(absent)
  const { ino, dev } = await handle.stat()
  return there?.ino === ino && there.dev === dev
}

function refuse(file: string, cause: unknown): never {
  const { code } = cause as NodeJS.ErrnoException
  const told = `audit.file: ${file} cannot be opened (${code}); name a file in a folder that the edge may write to`
  throw new Error(told, { cause })
}

function absent(fault: NodeJS.ErrnoException): undefined {
  if (fault.code !== 'ENOENT') throw fault
}

/** The last whole line of what is there; `torn`: something that is none comes after it. */
export async function readTail(handle: FileHandle, size: number): Promise<{ link?: Link; torn: boolean }> {
  const length = Math.min(size, TAIL)
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, size - length)
  const text = buffer.toString('utf8', 0, bytesRead)
  const torn = text !== '' && !text.endsWith('\n')
  for (const line of text.split('\n').reverse()) {
    const read = readLine(line)
    if (read !== undefined) return { link: { seq: read.seq, digest: read.digest }, torn }
  }
  return { torn }
}
