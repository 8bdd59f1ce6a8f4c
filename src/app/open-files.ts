/**
 * Whether the process is at its limit of open files. The system then refuses new connections without a word to this process,
 * so the process tries to open a file.
 */
import { open, readFile } from 'node:fs/promises'
import { devNull } from 'node:os'

const INTERVAL_MS = 1000
/** Between two log lines. A problem is also shown this long, because connections come and go. */
const REPORT_INTERVAL_MS = 60_000
const AT_LIMIT: ReadonlySet<unknown> = new Set(['EMFILE', 'ENFILE'])

interface OpenFilesOptions {
  readonly log: { warn(fields: object, message: string): void }
  readonly tryOpen?: () => Promise<void>
  readonly interval?: number
  /** Milliseconds, monotonic. */
  readonly clock?: () => number
}

export async function watchOpenFiles(options: OpenFilesOptions) {
  const { log, tryOpen = openAndClose, interval = INTERVAL_MS, clock = () => performance.now() } = options
  // Read now: at the limit, this file cannot be opened either.
  const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '')
  const limit = /^Max open files +(\S+)/m.exec(limits)?.[1] ?? 'unknown'
  let foundAt = Number.NEGATIVE_INFINITY
  let loggedAt = Number.NEGATIVE_INFINITY
  const check = async () => {
    const code = await tryOpen().then(
      () => undefined,
      (error: NodeJS.ErrnoException) => error.code,
    )
    if (!AT_LIMIT.has(code)) return
    foundAt = clock()
    if (foundAt - loggedAt < REPORT_INTERVAL_MS) return
    loggedAt = foundAt
    log.warn({ limit, code }, 'limit of open files reached; new connections are refused')
  }
  const timer = setInterval(() => void check(), interval).unref()
  return {
    /** Returns the limit if it was reached within the last minute, as text. */
    exhausted: (): string | undefined => (clock() - foundAt < REPORT_INTERVAL_MS ? limit : undefined),
    stop: () => clearInterval(timer),
  }
}

async function openAndClose(): Promise<void> {
  await (await open(devNull)).close()
}
