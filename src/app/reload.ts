/**
 * Reloads the whole configuration: within a second of a change of its files, and on SIGHUP. A configuration with a fault
 * is loaded again each second: it may name a file that appears later. A reload takes effect as a whole or not at all.
 * What needs a restart is reported by name. src/config/schema.ts states the effect of each setting.
 */
import { dirname } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Logger } from 'pino'
import type { LoadResult } from '../config/index.ts'
import type { ReloadableConfig } from '../config/reloadable.ts'
import { fingerprintFile, watchFiles } from '../file-watcher.ts'

/** The result of the latest reload. The load at the start of the process counts as the first one. */
interface ReloadStatus {
  /** Why the latest reload failed; absent if it succeeded. */
  readonly fault?: string
  /** When a configuration was last put to use, in milliseconds since 1970. */
  readonly succeededAt: number
  /** Settings that have another value in the file than in this process. They take effect with the next start. */
  readonly pendingRestart: readonly string[]
  /** Reloads since the start that changed something, and those that found another fault than the one before. */
  readonly counts: { readonly succeeded: number; readonly failed: number }
}

export type Reloader = ReturnType<typeof createReloader>

interface ReloadOptions {
  readonly config: ReloadableConfig
  /** Loads the configuration again. Absent: it has no file; only the certificates that it names are reloaded. */
  readonly load?: (() => Promise<LoadResult>) | undefined
  /** The files that the present configuration was read from. */
  readonly files?: readonly string[] | undefined
  readonly log: Logger
}

const RETRY_INTERVAL_MS = 1000

export function createReloader({ config, load, log, ...options }: ReloadOptions) {
  const loadAgain = load ?? (async () => ({ ok: true, config: config.initial, files: [], warnings: [] }) as const)
  let status: ReloadStatus = { succeededAt: Date.now(), pendingRestart: [], counts: { succeeded: 0, failed: 0 } }
  let files = options.files ?? []
  let latest = Promise.resolve()
  /** The reload that has not begun, and whether an operator asked for it. */
  let pending: Promise<void> | undefined
  let isPendingRequested = false
  let close = (): void => undefined

  const reloadNow = async (isRequested: boolean): Promise<void> => {
    try {
      const loaded = await loadAgain()
      if (!loaded.ok) throw new Error(loaded.faults.join('; '))
      files = loaded.files
      const { changed, pendingRestart } = await config.apply(loaded.config)
      if (changed.length > 0) log.info({ changed }, 'configuration reloaded')
      else if (status.fault !== undefined) log.info('configuration is valid again')
      else if (isRequested) log.info('configuration unchanged')
      if (pendingRestart.length > 0 && !isDeepStrictEqual(pendingRestart, status.pendingRestart)) {
        log.warn({ settings: pendingRestart }, 'changed settings take effect after a restart only')
      }
      const counts = { ...status.counts }
      if (changed.length > 0 || status.fault !== undefined) counts.succeeded += 1
      status = { succeededAt: Date.now(), pendingRestart, counts }
    } catch (error) {
      const fault = error instanceof Error ? error.message : String(error)
      const counts = { ...status.counts }
      if (fault !== status.fault) counts.failed += 1
      // The same fault may be found again, by SIGHUP or after a change of another file.
      if (fault !== status.fault) log.error({ fault }, 'configuration not reloaded, the last valid one stays in use')
      status = { ...status, fault, counts }
    }
  }
  /** One reload after the other. Calls during a reload lead to one more, which reads the newest files. */
  const reload = (isRequested: boolean): Promise<void> => {
    isPendingRequested ||= isRequested
    pending ??= latest.then(() => {
      const isRequestedNow = isPendingRequested
      pending = undefined
      isPendingRequested = false
      return reloadNow(isRequestedNow)
    })
    latest = pending
    return pending
  }
  const watchedFiles = (): string[] => {
    const { ca, cert, key } = config.current().cluster.tls
    return [...files, ca, cert, key].filter((file) => file !== undefined)
  }
  /** Changes each second while the configuration has a fault. */
  const attempt = (): number => (status.fault === undefined ? 0 : Math.floor(performance.now() / RETRY_INTERVAL_MS))
  return {
    /** Reloads once, because an operator asked for it. Results are logged, and the promise never rejects. */
    reload: () => reload(true),
    status: () => status,
    /** Reloads from now on whenever a file changes. */
    watch: async (): Promise<void> => {
      const watched = await watchFiles<void>({
        folder: dirname(watchedFiles()[0] ?? '.'),
        fingerprint: async () => [...(await Promise.all(watchedFiles().map(fingerprintFile))), attempt()].join(' '),
        // The first reload finds changes since the process read its configuration.
        load: () => reload(false),
        onError: (error) => log.error({ err: error }, 'configuration files cannot be watched'),
      })
      close = () => watched.close()
    },
    close: () => close(),
  }
}
