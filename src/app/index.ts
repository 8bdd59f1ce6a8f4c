/**
 * The composition root: builds all parts of the edge from the configuration and connects them. The parts decide about
 * requests; this folder does not.
 */
import { isDeepStrictEqual } from 'node:util'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Replicas } from '../admin/console/replicas.ts'
import { requestDetailsOf } from '../admin/console/request-details.ts'
import type { RequestDetails } from '../admin/console/request-types.ts'
import { type Readiness, readinessOf } from '../admin/readiness.ts'
import { purgeAfterLayoutChange } from '../cache/purge.ts'
import type { Deprecation } from '../config/deprecated.ts'
import type { LoadResult } from '../config/index.ts'
import { weaknessOf } from '../config/named-files.ts'
import { createReloadableConfig, type ReloadableConfig } from '../config/reloadable.ts'
import type { Config } from '../config/schema.ts'
import { requestLog } from '../http/request-log.ts'
import type { DrainOptions } from '../listener/drain.ts'
import type { OnStoreEvent } from '../redis/options.ts'
import { createSharedDrains } from '../redis/shared-drains.ts'
import { createSharedSlots } from '../redis/shared-slots.ts'
import { countDivergence, createEdgeEvents } from '../telemetry/events.ts'
import type { ProcessMetrics } from '../telemetry/metrics/sum.ts'
import { RequestCounts } from '../telemetry/request-counts.ts'
import { ContactProbes } from '../upstream/contact-probes.ts'
import { warnOfUnusedDistribution } from '../upstream/distribution.ts'
import { createDrains } from '../upstream/drains.ts'
import type { ClusterOptions } from '../upstream/index.ts'
import { NodeContacts } from '../upstream/node-contacts.ts'
import { buildAccess } from './access.ts'
import { type Api, buildApi } from './api.ts'
import { createCertificates } from './certificates.ts'
import { buildCluster } from './cluster.ts'
import { buildReplicas } from './console.ts'
import { buildHistory } from './history.ts'
import { createLog, type LogDestination, type LogOutput, toLog } from './log.ts'
import { buildOperations, createMonitors } from './operations.ts'
import type { ProcessGroup } from './process-group.ts'
import { buildReplica, createSharedAccess, readEncryptionKey } from './redis.ts'
import { createDeprecationLog, createReloader, type Reloader, type ReloadStatus } from './reload.ts'
import { replicaNameOf } from './replica-name.ts'
import { createStoreStatus } from './store-status.ts'
import { buildAudit, buildMetrics, buildTraces } from './telemetry.ts'
import { createTrialLog } from './trial-log.ts'

export interface EdgeOptions {
  /** The destination of log lines, which may buffer them. Absent: standard output. */
  readonly logTo?: LogDestination
  /** Loads the configuration again, for reloads. Absent: only certificates of the nodes are reloaded. */
  readonly load?: () => Promise<LoadResult>
  /** The files that the configuration was read from. */
  readonly files?: readonly string[]
  /** Settings that have their old name; logged as warnings. */
  readonly deprecations?: readonly Deprecation[]
  /** Absent: this is the only process behind its ports. */
  readonly processGroup?: ProcessGroup
  /** When nodes are ejected. Absent: the times that apply; tests have shorter ones. */
  readonly ejection?: ClusterOptions['ejection']
}

export interface Edge {
  /** Listens on both ports. If a port is in use, it closes everything and rejects. */
  start(): Promise<{ readonly url: string; readonly operationsUrl: string }>
  /** Becomes not ready, completes the requests in flight, and ends. Resolves to `false` if connections were cut. */
  drain(delayMs?: number, options?: Pick<DrainOptions, 'isPortShared'>): Promise<boolean>
  /** Whether this process is ready. */
  ready(): Readiness
  metrics(): Promise<ProcessMetrics>
  /** Returns what this process has measured of a request; `undefined`: it has no record of it. */
  requestDetails(id: string): RequestDetails | undefined
  reloadStatus(): ReloadStatus
  /** Returns the settings in use. */
  config(): Config
  /** Reloads the configuration. Failures are logged. */
  reload(): Promise<void>
  /** Opens the audit file again after it was moved. */
  reopenAudit(): Promise<void>
  /** Closes the connection of a client that has failed with this error. Returns `false` if there is none. */
  closeFailedConnection(error: unknown): boolean
  /** Counts an error of a connection that no code had handled. */
  countUncaughtError(code: string): void
  /** Writes the log lines of the requests that have ended, before the process does. */
  flushLog(): void
  readonly log: Logger
}

/** Time for the last spans at shutdown. Spans that the collector has not accepted by then are lost. */
const SPAN_FLUSH_MS = 2000

/** Time for requests of operators, where another process takes over. Streams of the console are cut then. */
const OPERATIONS_DRAIN_MS = 2000

/** The state that changes while the edge runs. */
interface Lifecycle {
  isDraining: boolean
  /** The URL for clients; empty until the edge listens. */
  url: string
}

/** Rejects with an `Error` for the operator if a file is invalid, such as a certificate, a key or the users file. */
export async function buildEdge(initial: Config, options: EdgeOptions = {}): Promise<Edge> {
  const settings = createReloadableConfig(initial)
  const { current } = settings
  const output = createLog(settings, options.logTo)
  const { log } = output
  const warnOfDeprecations = createDeprecationLog(log)
  warnOfDeprecations(options.deprecations ?? [])
  warnOfWeakCredentials(initial, log)
  settings.onReload((next) => () => warnOfWeakCredentials(next, log))
  const lifecycle: Lifecycle = { isDraining: false, url: '' }
  const reloader = createReloader({ ...options, config: settings, log, warnOfDeprecations })
  const { processGroup, ejection } = options
  const parts = await buildParts(settings, { ...output, lifecycle, reloader, processGroup, ejection })
  const { cluster, drains, shared, api, audit, probes, operations, history, monitors, metrics } = parts
  const close = async (spanFlushMs?: number): Promise<void> => {
    reloader.close()
    await parts.close(spanFlushMs)
    output.flushRepeated()
  }
  return {
    log,
    config: current,
    ready: parts.ready,
    metrics: metrics.values,
    requestDetails: (id) => {
      const found = monitors.records.find(id)
      return found && requestDetailsOf(found)
    },
    reloadStatus: reloader.status,
    reload: () => reloader.reload(),
    reopenAudit: () => audit.reopen(),
    closeFailedConnection: (error) =>
      [api.listener, operations.listener].some((listener) => listener.closeFailedConnection(error)),
    countUncaughtError: parts.countUncaughtError,
    flushLog: parts.flushLog,
    start: async () => {
      try {
        const startCluster = () => cluster.start().then(probes.start)
        await Promise.all([
          drains.start().then(startCluster),
          shared?.revocations.start(),
          reloader.watch(),
          audit.open(),
        ])
        const operationsUrl = await listen(operations.app, initial.operations)
        lifecycle.url = await listen(api.app, initial.listen, (text) => log.info(text))
        history.recordEvent({ kind: 'start' })
        return { operationsUrl, url: lifecycle.url }
      } catch (error) {
        await close()
        throw error
      }
    },
    drain: async (delay = current().listen.drain.delay, { isPortShared = false } = {}) => {
      lifecycle.isDraining = true
      const { limit } = current().listen.drain
      const deadline = performance.now() + limit
      const isComplete = await api.listener.drain({ delay, limit, isPortShared })
      // Probes and scrapes end as well: they must not notice that this process is replaced.
      if (isPortShared) await operations.listener.drain({ delay: 0, limit: OPERATIONS_DRAIN_MS, isPortShared })
      await close(Math.min(SPAN_FLUSH_MS, Math.max(0, deadline - performance.now())))
      return isComplete
    },
  }
}

function warnOfWeakCredentials({ cluster }: Config, log: Logger): void {
  const warning = weaknessOf(cluster.credentials)
  if (warning !== undefined)
    log.warn({ setting: 'cluster.credentials', warning }, 'weak password of the account on the nodes')
}

/** Builds the parts in the order of their dependencies. `close` closes all of them. */
async function buildParts(settings: ReloadableConfig, parts: ProcessParts) {
  const { log, logTo, setEarlierLines, flush, lifecycle, reloader, processGroup } = parts
  const { initial: config, current } = settings
  const name = replicaNameOf(config)
  const events = createEdgeEvents((error, kind, requestId) =>
    log.error({ err: error, reqId: requestId }, kind === 'request' ? 'request not reported' : `${kind} not reported`),
  )
  const { emit, requests } = events
  setEarlierLines(requests.drain)
  events.on({ request: requestLog({ log, logTo }) })
  const divergence = countDivergence(events)
  const audit = buildAudit(settings, log, flush)
  events.on({ nodeCall: audit.onNodeCall, request: audit.onRequest })
  if (config.cache.trial) events.on({ cache: createTrialLog(log) })
  const traces = await buildTraces(settings, log)
  const storeStatus = createStoreStatus(
    () => replica?.heartbeat.failure,
    () => replica?.wrongTypes.keys ?? [],
  )
  const onStoreEvent: OnStoreEvent = (event, error) => {
    const reason = storeStatus.record(event, error)
    emit.storeEvent(event)
    log.warn({ event, ...(reason && { reason }) }, 'cache store')
  }
  const replica = await buildReplica(config, { onEvent: onStoreEvent, onStep: emit.redisStep })
  const encryptionKey = await readEncryptionKey(config)
  const shared = replica && createSharedAccess({ replica, encryptionKey, log: toLog(log) })
  let replicas: Replicas | undefined
  let api: Api | undefined
  let onRecover: (node: string) => unknown = () => undefined
  const cluster = await buildCluster(settings, log, {
    onCall: emit.nodeCall,
    onEject: emit.ejection,
    onRecover: (node) => onRecover(node),
    onListRead: () => replicas?.publish(),
    onLayoutChange: (change) => {
      purgeAfterLayoutChange(change, api?.cache.index, toLog(log))
      warnOfUnusedDistribution(change, config.cluster.distribution, toLog(log))
    },
    ...(parts.ejection && { ejection: parts.ejection }),
    ...(traces && { untracedTraceparent: traces.untracedTraceparent }),
    ...(replica && { slots: createSharedSlots(replica) }),
    ...(shared && { counters: shared.counters }),
  })
  const drains = createDrains({
    cluster,
    share: replica && ((onChange) => createSharedDrains({ replica, onChange, log: toLog(log) })),
    verifiesUsersAtMaster: config.cluster.credentials.mode === 'passthrough',
  })
  const access = await buildAccess(settings, { cluster, shared, log, onFailedLogin: emit.failedLogin })
  const counts = new RequestCounts()
  const monitors = createMonitors(events, cluster, counts)
  const history = buildHistory(settings, { name, events, traffic: monitors.traffic, replica })
  const common = { name, drains, access, cluster, replica, shared, log, audit }
  const { recordStages } = monitors.records
  api = await buildApi(settings, { ...common, encryptionKey, onStoreEvent, emit, traces, recordStages })
  const hasOwnCredentials = config.cluster.credentials.mode === 'service'
  const contacts = new NodeContacts({ cluster, hasOwnCredentials, peers: () => replicas?.others() ?? [] })
  const probes = new ContactProbes(contacts)
  events.on({ nodeCall: contacts.onNodeCall, ejection: contacts.onEject })
  onRecover = probes.probe
  settings.onReload((next) => {
    const isChanged = !isDeepStrictEqual(next.cluster.credentials, current().cluster.credentials)
    return isChanged ? probes.probeAll : () => undefined
  })
  const ready = () =>
    readinessOf({
      isDraining: lifecycle.isDraining,
      contacts,
      addressed: cluster.view.nodes().filter((node) => node.addressed).length,
      redis: storeStatus.current().faults,
      others: {
        weakCredentials: weaknessOf(current().cluster.credentials) !== undefined,
        configurationNotReloaded: reloader.status().fault !== undefined,
        mixedLayouts: cluster.view.layoutMixture?.() !== undefined,
      },
    })
  replicas = buildReplicas({ name, replica, cluster, monitors, ready, contact: contacts.report })
  const certificates = await createCertificates(settings)
  const metrics = buildMetrics({
    name,
    events,
    requests: counts,
    cluster,
    api,
    audit,
    traces,
    certificates,
    exemplars: config.traces.exemplars,
    ready,
    reload: reloader.status,
  })
  const url = () => lifecycle.url
  const operations = await buildOperations(settings, {
    ...common,
    api,
    storeStatus,
    monitors,
    history,
    metrics,
    divergence,
    ready,
    processGroup,
    replicas,
    reload: reloader.status,
    certificates,
    url,
  })
  const close = async (spanFlushMs = SPAN_FLUSH_MS): Promise<void> => {
    probes.stop()
    drains.stop()
    await Promise.all([api.app.close(), operations.app.close(), access.close(), cluster.close()])
    // The stores come last, because requests in flight may still store or invalidate responses.
    await api.closeCache()
    requests.drain()
    await audit.close()
    await traces?.stop(spanFlushMs)
    await history.close()
    await replica?.close()
    monitors.close()
    await processGroup?.onClose(await metrics.values())
    metrics.close()
  }
  const { uncaughtConnectionError: countUncaughtError } = emit
  return {
    cluster,
    drains,
    shared,
    api,
    audit,
    probes,
    ready,
    operations,
    history,
    monitors,
    metrics,
    countUncaughtError,
    flushLog: requests.drain,
    close,
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

interface ProcessParts extends LogOutput {
  readonly lifecycle: Lifecycle
  readonly reloader: Pick<Reloader, 'status'>
  readonly processGroup: ProcessGroup | undefined
  readonly ejection: EdgeOptions['ejection']
}
