/** What the process does with the whole edge: start, reload, drain. */
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Access } from '../access/access.ts'
import type { Config } from '../config/schema.ts'
import type { ClientPort } from '../status/view-types.ts'
import type { Metrics } from '../telemetry/metrics/index.ts'
import type { Cluster } from '../upstream/index.ts'
import type { Base } from './base.ts'
import type { BuiltCache } from './cache.ts'
import type { Front } from './fronts.ts'
import type { LogOutput } from './log.ts'
import type { Reloader } from './reload.ts'
import type { Status } from './status.ts'

export interface Urls {
  readonly url: string
  /** Of the port for the other contract, if there is one. */
  readonly secondUrl?: string
  readonly operationsUrl: string
}

/** The state that changes while the edge runs. */
export interface Lifecycle {
  isDraining: boolean
  /** The ports for clients; none until the edge listens. */
  clientPorts: readonly ClientPort[]
}

interface EdgeParts {
  readonly base: Pick<Base, 'settings' | 'events' | 'audit' | 'traces' | 'shared'>
  readonly output: LogOutput
  readonly reloader: Reloader
  readonly lifecycle: Lifecycle
  readonly cluster: Cluster
  readonly cache: Pick<BuiltCache, 'close'>
  readonly access: Pick<Access, 'close'>
  readonly status: Pick<Status, 'capacity' | 'stop'>
  readonly metrics: Pick<Metrics, 'close'>
  readonly operations: Pick<Front, 'app' | 'listener'>
  readonly fronts: readonly Front[]
  /** The plugins of both listeners, a line each. */
  readonly plugins: readonly string[]
}

/** Time for the last spans at shutdown. Spans that the collector has not accepted by then are lost. */
const SPAN_FLUSH_MS = 2000

/** What the process does with the whole. */
export class Edge {
  readonly #parts: EdgeParts

  constructor(parts: EdgeParts) {
    this.#parts = parts
  }

  get log(): Logger {
    return this.#parts.output.log
  }

  get plugins(): readonly string[] {
    return this.#parts.plugins
  }

  /** Reloads the configuration. Failures are logged. */
  reload(): Promise<void> {
    return this.#parts.reloader.reload()
  }

  /** Opens the audit file again after it was moved. */
  reopenAudit(): Promise<void> {
    return this.#parts.base.audit.reopen()
  }

  /** Closes the connection of a client that has failed with this error. Returns `false` if there is none. */
  closeFailedConnection(error: unknown): boolean {
    const { fronts, operations } = this.#parts
    return [...fronts, operations].some(({ listener }) => listener.closeFailedConnection(error))
  }

  /** Counts an error of a connection that no code had handled. */
  countUncaughtError(code: string): void {
    this.#parts.base.events.emit.uncaughtConnectionError(code)
  }

  /** Writes the log lines of the requests that have ended, before the process does. */
  flushLog(): void {
    this.#parts.base.events.requests.drain()
  }

  /** Opens connections, files and ports. If one cannot be opened, it closes everything and rejects. */
  async start(): Promise<Urls> {
    const { base, cluster, operations, reloader, status, lifecycle, fronts } = this.#parts
    const { settings, audit, shared, events } = base
    const { initial } = settings
    try {
      // One after the other until nothing but a port can fail: what fails ends nothing that is still being opened.
      await audit.open()
      await reloader.watch()
      await shared?.replica.start()
      shared?.replicas.publish()
      void status.capacity.sample()
      const startCluster = async () => {
        await cluster.drains.start()
        await cluster.start()
      }
      await Promise.all([startCluster(), shared?.revocations.start()])
      const operationsUrl = await listen(operations.app, initial.operations)
      const open = ({ app, port }: Front) => listen(app, { ...initial.listen, port }, (text) => this.log.info(text))
      const [url = '', secondUrl] = await Promise.all(fronts.map(open))
      const urls = [url, ...(secondUrl === undefined ? [] : [secondUrl])]
      lifecycle.clientPorts = fronts.map(({ contract }, at) => ({ contract, url: urls[at] ?? '' }))
      events.emit.operation({ kind: 'start' })
      return { operationsUrl, url, ...(secondUrl !== undefined && { secondUrl }) }
    } catch (error) {
      await this.#close()
      throw error
    }
  }

  /** Becomes not ready, completes the requests in flight, and ends. Resolves to `false` if connections were cut. */
  async drain(delay = this.#drainSettings.delay): Promise<boolean> {
    this.#parts.lifecycle.isDraining = true
    const { limit } = this.#drainSettings
    const deadline = performance.now() + limit
    const drains = this.#parts.fronts.map(({ listener }) => listener.drain({ delay, limit }))
    const isComplete = (await Promise.all(drains)).every(Boolean)
    await this.#close(Math.min(SPAN_FLUSH_MS, Math.max(0, deadline - performance.now())))
    return isComplete
  }

  get #drainSettings(): Config['listen']['drain'] {
    return this.#parts.base.settings.current().listen.drain
  }

  async #close(spanFlushMs: number = SPAN_FLUSH_MS): Promise<void> {
    const { base, output, reloader, cluster, cache, access, status, metrics, operations, fronts } = this.#parts
    reloader.close()
    base.shared?.replicas.stop()
    const apps = [...fronts, operations].map(({ app }) => app.close())
    await Promise.all([...apps, access.close(), cluster.close()])
    // The stores come last, because requests in flight may still store or invalidate responses.
    await cache.close()
    this.flushLog()
    await base.audit.close()
    await base.traces?.stop(spanFlushMs)
    await base.shared?.replica.close()
    status.stop()
    metrics.close()
    output.flushRepeated()
  }
}

/**
 * Connections that the kernel completes before the process accepts them. The kernel lowers it to its own limit
 * (`net.core.somaxconn`). With the 511 of Node, the kernel drops or resets connections when many clients connect at once
 * or the process is busy for a moment.
 */
const LISTEN_BACKLOG = 65_535

/**
 * Fastify reports http:// for every server that it did not create itself. `onAddress` gets the text for each address that
 * is bound, where Fastify itself has no logger.
 */
async function listen(
  app: FastifyInstance,
  { host, port, tls }: Config['listen' | 'operations'],
  onAddress?: (text: string) => void,
): Promise<string> {
  const withScheme = (url: string): string => (tls === undefined ? url : url.replace(/^http:/, 'https:'))
  const listenTextResolver = (url: string): string => {
    const text = `bound to ${withScheme(url)}`
    onAddress?.(text)
    return text
  }
  return withScheme(await app.listen({ host, port, backlog: LISTEN_BACKLOG, listenTextResolver }))
}
