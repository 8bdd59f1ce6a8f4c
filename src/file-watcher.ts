/**
 * Values that are reloaded when their files change. Notifications of the operating system are fast but get lost
 * (network file systems, renamed folders, replaced symbolic links), so the files are also polled every 500 ms.
 */
import { watch } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const POLL_INTERVAL_MS = 500
const SETTLE_MS = 40
const MAX_SETTLE_ROUNDS = 5

interface WatchedSource<T> {
  /** The folder whose notifications trigger a reload. */
  readonly folder: string
  /** Returns a text that differs whenever the content may differ. */
  fingerprint(): Promise<string>
  /** Reads the value. Throws an error that tells an operator what to correct. */
  load(): Promise<T>
  /** Called after a reload. If it throws, `onError` is called; the new value stays. */
  onReload?(now: T, before: T): void
  /** Called once for each fault until the value is valid again, however often the files change. */
  onError(error: unknown): void
}

/**
 * Loads the value once and rejects if that fails. From then on, within a second of a change, `current` returns the
 * new value or `onError` was called.
 */
export async function watchFiles<T>(source: WatchedSource<T>) {
  let fingerprint = await source.fingerprint()
  let value = await source.load()
  let fault: string | undefined
  let isReloading = false
  let isClosed = false

  async function reload(): Promise<void> {
    if (isReloading || isClosed) return
    isReloading = true
    try {
      const settled = await settle(source, fingerprint)
      if (settled === fingerprint || isClosed) return
      fingerprint = settled
      const before = value
      value = await source.load()
      fault = undefined
      source.onReload?.(value, before)
    } catch (error) {
      const before = fault
      fault = String(error)
      if (fault !== before) source.onError(error)
    } finally {
      isReloading = false
    }
  }

  const timer = setInterval(() => void reload(), POLL_INTERVAL_MS)
  timer.unref()
  const stopWatching = watchFolder(source.folder, () => void reload())
  return {
    /** Returns the last value that was read without an error. */
    current: () => value,
    close: (): void => {
      isClosed = true
      clearInterval(timer)
      stopWatching()
    },
  }
}

/** Waits until a file that is being written in place stops changing: read too early, it would be empty or cut. */
async function settle<T>(source: WatchedSource<T>, known: string): Promise<string> {
  let found = await source.fingerprint()
  for (let round = 0; found !== known && round < MAX_SETTLE_ROUNDS; round++) {
    await sleep(SETTLE_MS)
    const next = await source.fingerprint()
    if (next === found) break
    found = next
  }
  return found
}

function watchFolder(folder: string, onChange: () => void): () => void {
  try {
    const watcher = watch(folder, { persistent: false }, onChange)
    // No inotify watches are left, or the folder was removed: polling continues.
    watcher.on('error', () => watcher.close())
    return () => watcher.close()
  } catch {
    return () => {}
  }
}

/** Returns a text that changes with the file's identity, size or times. A file that replaces it has another inode. */
export async function fingerprintFile(path: string): Promise<string> {
  try {
    const { ino, mtimeNs, ctimeNs, size } = await stat(path, { bigint: true })
    return `${ino}:${mtimeNs}:${ctimeNs}:${size}`
  } catch (error) {
    return error instanceof Error ? error.message : 'unreadable'
  }
}

/** As `fingerprintFile`, for all files of the folder with this extension. */
export async function fingerprintFolder(folder: string, extension: string): Promise<string> {
  try {
    const names = (await readdir(folder)).filter((name) => name.endsWith(extension)).sort()
    const fingerprints = await Promise.all(names.map((name) => fingerprintFile(join(folder, name))))
    return names.map((name, index) => `${name} ${fingerprints[index]}`).join('\n')
  } catch (error) {
    return error instanceof Error ? error.message : 'unreadable'
  }
}
