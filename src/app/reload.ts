/**
 * Reloads the whole configuration: on SIGHUP, and within a second of a change of its files or of the certificates that it names.
 * A configuration with a fault is loaded again each second: it may name a file that appears later. A reload takes effect as a
 * whole or not at all, but each listener takes a new certificate whatever has a fault. What needs a restart is reported by
 * name. src/config/schema.ts states the effect of each setting.
 */
import { dirname } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Logger } from 'pino'
import type { LoadResult } from '../config/index.ts'
import type { ReloadableConfig } from '../config/reloadable.ts'
import { oneRunAtATime } from '../core/one-run-at-a-time.ts'
import type { ReloadStatus } from '../core/settings.ts'
import { fingerprintFile, watchFiles } from '../file-watcher.ts'

interface ReloadOptions {
  readonly config: ReloadableConfig
  /** Loads the configuration again. Absent: it has no file; only the certificates that it names are reloaded. */
  readonly load?: (() => Promise<LoadResult>) | undefined
  /** The files that the present configuration was read from. */
  readonly files?: readonly string[] | undefined
  readonly log: Logger
}

const RETRY_INTERVAL_MS = 1000

export class Reloader {
  readonly #options: ReloadOptions
  #status: ReloadStatus = { succeededAt: Date.now(), pendingRestart: [], counts: { succeeded: 0, failed: 0 } }
  #files: readonly string[]
  /** The certificates that were read last while the configuration had a fault. */
  #triedCertificates: { readonly fingerprints: string; readonly faults: readonly string[] } = {
    fingerprints: '',
    faults: [],
  }
  /** Whether an operator asked for the reload that has not begun. */
  #isRequested = false
  #watched: { close(): void } | undefined

  constructor(options: ReloadOptions) {
    this.#options = options
    this.#files = options.files ?? []
  }

  readonly status = (): ReloadStatus => this.#status

  /** Reloads once, because an operator asked for it. Results are logged, and the promise never rejects. */
  reload(): Promise<void> {
    this.#isRequested = true
    return this.#reload()
  }

  /** Reloads from now on whenever a file changes. */
  async watch(): Promise<void> {
    const { log } = this.#options
    this.#watched = await watchFiles<void>({
      folder: dirname(this.#watchedFiles[0] ?? '.'),
      fingerprint: async () =>
        [...(await Promise.all(this.#watchedFiles.map(fingerprintFile))), this.#attempt].join(' '),
      // The first reload finds changes since the process read its configuration.
      load: this.#reload,
      onError: (error) => log.error({ err: error }, 'configuration files cannot be watched'),
    })
  }

  close(): void {
    this.#watched?.close()
  }

  get #watchedFiles(): readonly string[] {
    return [...this.#files, ...this.#certificates]
  }

  get #certificates(): readonly string[] {
    const { cluster, listen, operations } = this.#options.config.current()
    const pairs = [cluster.tls, listen.tls, operations.tls].flatMap((tls) => [tls?.cert, tls?.key])
    return [cluster.tls.ca, ...pairs].filter((file) => file !== undefined)
  }

  /** Changes each second while the configuration has a fault. */
  get #attempt(): number {
    return this.#status.fault === undefined ? 0 : Math.floor(performance.now() / RETRY_INTERVAL_MS)
  }

  readonly #reload = oneRunAtATime(async () => {
    const { log } = this.#options
    const isRequested = this.#isRequested
    this.#isRequested = false
    const before = this.#status
    const counts = { ...before.counts }
    try {
      const { changed, pendingRestart } = await this.#apply()
      if (changed.length > 0) log.info({ changed }, 'configuration reloaded')
      else if (before.fault !== undefined) log.info('configuration is valid again')
      else if (isRequested) log.info('configuration unchanged')
      if (pendingRestart.length > 0 && !isDeepStrictEqual(pendingRestart, before.pendingRestart)) {
        log.warn({ settings: pendingRestart }, 'changed settings take effect after a restart only')
      }
      if (changed.length > 0 || before.fault !== undefined) counts.succeeded += 1
      this.#status = { succeededAt: Date.now(), pendingRestart, counts }
    } catch (error) {
      const fault = messageOf(error)
      // The same fault may be found again, by SIGHUP or after a change of another file.
      if (fault !== before.fault) {
        counts.failed += 1
        log.error({ fault }, 'configuration not reloaded, the last valid one stays in use')
      }
      this.#status = { ...before, fault, counts }
    }
  })

  /** Rejects if the configuration cannot be loaded or applied. */
  async #apply(): ReturnType<ReloadableConfig['apply']> {
    const { load, config } = this.#options
    const loaded = await load?.()
    if (loaded?.ok) this.#files = loaded.files
    try {
      if (loaded?.ok === false) throw new Error(loaded.faults.join('; '))
      return await config.apply(loaded?.config ?? config.initial)
    } catch (error) {
      const faults = await this.#reloadCertificates()
      throw new Error([...new Set([messageOf(error), ...faults])].join('; '))
    }
  }

  /** While the configuration has a fault, a certificate in use may end. Returns why certificates cannot be used. */
  async #reloadCertificates(): Promise<readonly string[]> {
    const fingerprints = String(await Promise.all(this.#certificates.map(fingerprintFile)))
    if (fingerprints !== this.#triedCertificates.fingerprints) {
      this.#triedCertificates = { fingerprints, faults: await this.#options.config.readFilesAgain() }
    }
    return this.#triedCertificates.faults
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
