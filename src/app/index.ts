/**
 * The composition root: makes the concrete things (here and in `app/`) and hands them on. From the settings to an
 * edge that can be started and drained; nothing here decides anything about a request.
 */
import type { FastifyInstance } from 'fastify'
import { type DestinationStream, type Logger, pino } from 'pino'
import type { Readiness } from '../admin/listener.ts'
import { checkCatalogue } from '../catalogue/checks/index.ts'
import { catalogue } from '../catalogue/index.ts'
import type { Config } from '../config/index.ts'
import { drain } from '../listener/drain.ts'
import type { OnStoreEvent } from '../redis/options.ts'
import { countDivergence } from '../telemetry/divergence.ts'
import { createEdgeEvents } from '../telemetry/events.ts'
import type { Cluster } from '../upstream/index.ts'
import { buildAccess } from './access.ts'
import { buildCluster } from './cluster.ts'
import { buildFront } from './front.ts'
import { buildOperations, createWatch } from './operations.ts'
import { buildReplica, buildSharedAccess } from './redis.ts'
import { startReloading } from './reload.ts'
import { buildAudit, buildMetrics, buildTraces, createStoreNews } from './telemetry.ts'

export interface EdgeOptions {
  /** Where log lines go; standard output when absent. */
  readonly logTo?: DestinationStream
  /** The file that the settings came from: roles and nodes that change in it hold without a restart. */
  readonly configFile?: string
}

export interface Edge {
  /** Listens on both ports; rejects when one is taken, and leaves nothing open then. */
  start(): Promise<{ readonly url: string; readonly operationsUrl: string }>
  /** Stops being ready, answers what is under way, and ends. `false`: the limit cut some connections. */
  drain(notice?: number): Promise<boolean>
  ready(): Readiness
  /** Opens the file of the audit anew, once it was moved away. */
  reopenAudit(): Promise<void>
  readonly log: Logger
}

/** Milliseconds for the spans that are left; what the collector does not take by then is lost. */
const LAST_SPANS = 2000

/** What changes while the edge runs. */
interface Course {
  draining: boolean
  /** Where clients reach it; empty until it listens. */
  url: string
}

/** Rejects with an `Error` in words for what only shows when it is tried: certificates, keys, the users file. */
export async function buildEdge(config: Config, options: EdgeOptions = {}): Promise<Edge> {
  const faults = checkCatalogue(catalogue)
  if (faults.length > 0) throw new Error(`the catalogue cannot be served:\n${faults.join('\n')}`)
  const lines = createLog(config, options)
  const { log } = lines
  const course: Course = { draining: false, url: '' }
  const { cluster, shared, access, front, audit, ready, operations, close } = await buildParts(config, lines, course)
  let followed: { close(): void } | undefined
  const follow = async (): Promise<void> => {
    followed = await startReloading({ cluster, access, config, log, file: options.configFile })
  }
  const closeAll = async (spansFor?: number): Promise<void> => {
    await close(spansFor)
    followed?.close()
  }
  return {
    log,
    ready,
    reopenAudit: () => audit.reopen(),
    start: async () => {
      try {
        await Promise.all([cluster.start(), shared?.start(), follow(), audit.open()])
        const operationsUrl = await listenOn(operations, config.operations)
        course.url = await listenOn(front.app, config.listen)
        return { operationsUrl, url: course.url }
      } catch (fault) {
        await closeAll()
        throw fault
      }
    },
    drain: async (notice = config.listen.drain.notice) => {
      course.draining = true
      const { limit } = config.listen.drain
      const end = performance.now() + limit
      const whole = await drain(front.listener, { notice, limit })
      await closeAll(Math.min(LAST_SPANS, Math.max(0, end - performance.now())))
      return whole
    },
  }
}

/** All of it, each part with what it needs of those before; `close` ends all of them. */
async function buildParts(config: Config, { log, writeLine }: Lines, course: Course) {
  const events = createEdgeEvents()
  const { emit } = events
  const divergence = countDivergence(events)
  const audit = buildAudit(config, log)
  events.on({ nodeCall: audit.onNodeCall, request: audit.onRequest })
  const traces = await buildTraces(config, log)
  const cluster = await buildCluster(config, log, {
    onCall: emit.nodeCall,
    ...(traces && { untracedTraceparent: traces.untracedTraceparent }),
  })
  const ready = (): Readiness => {
    const reasons = [...(course.draining ? ['draining'] : []), ...(reachable(cluster) ? [] : ['no node is available'])]
    return { ok: reasons.length === 0, reasons }
  }
  const news = createStoreNews()
  const onStoreEvent: OnStoreEvent = (event, reason) => {
    news.heard(event, reason)
    emit.storeEvent(event)
    log.warn({ event, ...(reason && { reason }) }, 'cache store')
  }
  const replica = await buildReplica(config, { onEvent: onStoreEvent, onStep: emit.redisStep })
  const shared = await buildSharedAccess(config, replica, log)
  const access = await buildAccess(config, { cluster, shared, log })
  const watch = createWatch(events)
  const told = { replica, onStoreEvent, emit, audit, traces }
  const front = await buildFront(config, { access, cluster, shared, log, writeLine, ...told })
  const metrics = buildMetrics({ events, cluster, front, audit, traces, ready })
  const shown = { replica, news, watch, metrics, audit, divergence, ready, url: () => course.url }
  const operations = await buildOperations(config, { access, cluster, shared, log, front, ...shown })
  const close = async (spansFor = LAST_SPANS): Promise<void> => {
    await Promise.all([front.app.close(), operations.close(), access.close(), cluster.close()])
    // Last: what is under way until now may still want to keep or to drop something.
    await front.closeCache()
    await audit.close()
    await traces?.stop(spansFor)
    await replica?.close()
    watch.close()
    metrics.close()
  }
  return { cluster, shared, access, front, audit, ready, operations, close }
}

/** The framework does not know what the server that was made for it speaks. */
async function listenOn(app: FastifyInstance, { host, port, tls }: Config['listen' | 'operations']): Promise<string> {
  const spoken = (url: string): string => (tls === undefined ? url : url.replace(/^http:/, 'https:'))
  return spoken(await app.listen({ host, port, listenTextResolver: (url) => `bound to ${spoken(url)}` }))
}

interface Lines {
  readonly log: Logger
  /** Takes whole lines at level `info`. */
  readonly writeLine: (text: string) => void
}

function createLog(config: Config, { logTo = pino.destination(1) }: EdgeOptions): Lines {
  const log = pino({ level: config.log.level, base: null }, logTo)
  return { log, writeLine: log.isLevelEnabled('info') ? (text) => logTo.write(text) : () => undefined }
}

/** Readiness asks for one node that calls may be sent to; which calls it can answer is a matter of each request. */
function reachable({ view }: Cluster): boolean {
  return view.nodes().some(({ name }) => view.isAvailable(name))
}
