import { watch } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * A value that stands in files and follows them. The operating system's notices are quick but get lost (network
 * file systems, a renamed folder, a swapped symbolic link), so a look each half second stands behind them.
 */

const EVERY = 500
const SETTLE = 40
const UNSETTLED = 5

export interface Source<T> {
  /** The folder whose notices are heard. */
  readonly folder: string
  /** Differs whenever the content may differ. */
  fingerprint(): Promise<string>
  /** Reads the value; throws an error that tells a person what to mend. */
  load(): Promise<T>
  changed?(now: T, before: T): void
  broken(error: unknown): void
}

export interface Watched<T> {
  /** The last good value. */
  current(): T
  close(): void
}

/** Loads once (and rejects if that fails), then follows: within a second of a change `current` is new, or `broken` was told. */
export async function watched<T>(source: Source<T>): Promise<Watched<T>> {
  let seen = await source.fingerprint()
  let value = await source.load()
  let looking = false
  let closed = false

  async function look(): Promise<void> {
    if (looking || closed) return
    looking = true
    try {
      const settled = await settle(source, seen)
      if (settled === seen || closed) return
      seen = settled
      const before = value
      value = await source.load()
      source.changed?.(value, before)
    } catch (error) {
      source.broken(error)
    } finally {
      looking = false
    }
  }

  const timer = setInterval(() => void look(), EVERY)
  timer.unref()
  const stop = listen(source.folder, () => void look())
  return {
    current: () => value,
    close: () => {
      closed = true
      clearInterval(timer)
      stop()
    },
  }
}

/** A file that is being written in place is read when the writing rests, else a moment's empty file refuses everyone. */
async function settle<T>(source: Source<T>, known: string): Promise<string> {
  let found = await source.fingerprint()
  for (let turn = 0; found !== known && turn < UNSETTLED; turn++) {
    await sleep(SETTLE)
    const again = await source.fingerprint()
    if (again === found) break
    found = again
  }
  return found
}

function listen(folder: string, heard: () => void): () => void {
  try {
    const watcher = watch(folder, { persistent: false }, heard)
    // Out of inotify watches, or the folder is gone: the timer is enough.
    watcher.on('error', () => watcher.close())
    return () => watcher.close()
  } catch {
    return () => {}
  }
}

/** Changes with the file's identity, size or times; a renamed replacement has another inode. */
export async function fileFingerprint(path: string): Promise<string> {
  try {
    const { ino, mtimeNs, ctimeNs, size } = await stat(path, { bigint: true })
    return `${ino}:${mtimeNs}:${ctimeNs}:${size}`
  } catch (error) {
    return error instanceof Error ? error.message : 'unreadable'
  }
}

/** As `fileFingerprint`, of all files of the folder that end so. */
export async function folderFingerprint(folder: string, ending: string): Promise<string> {
  try {
    const names = (await readdir(folder)).filter((name) => name.endsWith(ending)).sort()
    const prints = await Promise.all(names.map((name) => fileFingerprint(join(folder, name))))
    return names.map((name, index) => `${name} ${prints[index]}`).join('\n')
  } catch (error) {
    return error instanceof Error ? error.message : 'unreadable'
  }
}
