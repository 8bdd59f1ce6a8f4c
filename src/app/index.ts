/**
 * The composition root: builds all parts of the edge from the configuration and connects them. The parts decide about
 * requests; this folder does not. This file has the order of the parts, and what the process can do with the whole.
 */
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { purgeAfterLayoutChange } from '../cache/purge.ts'
import type { LoadResult } from '../config/index.ts'
import { createCertificates } from '../config/named-files.ts'
import { createReloadableConfig, type ReloadableConfig } from '../config/reloadable.ts'
import { weaknessOf } from '../config/rules.ts'
import type { Config } from '../config/schema.ts'
import { createSharedDrains } from '../replicas/shared-drains.ts'
import { createSharedSlots } from '../replicas/shared-slots.ts'
import { watchProblems } from '../status/problem-watch.ts'
import { problemsOf } from '../status/problems.ts'
import { readinessOf } from '../status/readiness.ts'
import type { ClientPort } from '../status/view-types.ts'
import { warnOfUnusedDistribution } from '../upstream/distribution.ts'
import { buildAccess } from './access.ts'
import { buildApi } from './api.ts'
import { type Base, buildBase } from './base.ts'
import { buildCluster } from './cluster.ts'
import { buildEdgeView, buildProblemSources, buildReplicas, compareReplicaSettings, createReported } from './console.ts'
import { buildFronts, type Front } from './fronts.ts'
import { createLog, type LogDestination, type LogOutput, toLog } from './log.ts'
import { type LaterParts, observeTraffic, watchCapacity } from './observed.ts'
import { watchOpenFiles } from './open-files.ts'
import { buildOperations, buildSignIn } from './operations.ts'
import { loadPlugins, registerPlugins } from './plugins.ts'
import { createReloader, type Reloader } from './reload.ts'
import type { EdgeTimes } from './times.ts'

interface EdgeOptions {
  /** The destination of log lines, which may buffer them. Absent: standard output. */
  readonly logTo?: LogDestination
  /** Loads the configuration again, for reloads. Absent: only certificates of the nodes are reloaded. */
  readonly load?: () => Promise<LoadResult>
  /** The files that the configuration was read from. */
  readonly files?: readonly string[]
  /** Settings that are probably a mistake; logged as warnings. */
  readonly warnings?: readonly string[]
  readonly times?: EdgeTimes
}

export interface Urls {
  readonly url: string
  /** Of the port for the other contract, if there is one. */
  readonly secondUrl?: string
  readonly operationsUrl: string
}

export type Edge = Awaited<ReturnType<typeof buildEdge>>

/**
 * Reads every file that the configuration names, and opens nothing: no connection, no port, no file for writing. So commands can
 * build an edge to check its configuration. Rejects with an `Error` for the operator if a file is invalid.
 */
export async function buildEdge(initial: Config, options: EdgeOptions = {}) {
  const settings = createReloadableConfig(initial)
  const { current } = settings
  const output = createLog(settings, options.logTo)
  const { log } = output
  for (const warning of options.warnings ?? []) log.warn({ warning }, 'questionable setting')
  watchCredentials(settings, log)
  const lifecycle: Lifecycle = { isDraining: false, clientPorts: [] }
  const reloader = createReloader({ ...options, config: settings, log })
  const parts = await buildParts(settings, output, { ...options, lifecycle, reloader })
  const { cluster, shared, replica, replicas, capacity, fronts, audit, operations, emit } = parts
  const close = async (spanFlushMs?: number): Promise<void> => {
    reloader.close()
    await parts.close(spanFlushMs)
    output.flushRepeated()
  }
  return {
    log,
    config: current,
    /** The plugins of both listeners, a line each. */
    plugins: parts.plugins,
    /** Reloads the configuration. Failures are logged. */
    reload: reloader.reload,
    /** Opens the audit file again after it was moved. */
    reopenAudit: () => audit.reopen(),
    /** Closes the connection of a client that has failed with this error. Returns `false` if there is none. */
    closeFailedConnection: (error: unknown): boolean =>
      [...fronts, operations].some(({ listener }) => listener.closeFailedConnection(error)),
    /** Counts an error of a connection that no code had handled. */
    countUncaughtError: parts.countUncaughtError,
    /** Writes the log lines of the requests that have ended, before the process does. */
    flushLog: parts.flushLog,
    /** Opens connections, files and ports. If one cannot be opened, it closes everything and rejects. */
    start: async (): Promise<Urls> => {
      try {
        // One after the other until nothing but a port can fail: what fails ends nothing that is still being opened.
        await audit.open()
        await reloader.watch()
        await replica?.start()
        replicas?.publish()
        capacity.sample()
        const startCluster = async () => {
          await cluster.drains.start()
          await cluster.start()
        }
        await Promise.all([startCluster(), shared?.revocations.start()])
        const operationsUrl = await listen(operations.app, initial.operations)
        const open = ({ app, port }: Front) => listen(app, { ...initial.listen, port }, (text) => log.info(text))
        const [url = '', secondUrl] = await Promise.all(fronts.map(open))
        const urls = [url, ...(secondUrl === undefined ? [] : [secondUrl])]
        lifecycle.clientPorts = fronts.map(({ contract }, at) => ({ contract, url: urls[at] ?? '' }))
        emit.operation({ kind: 'start' })
        return { operationsUrl, url, ...(secondUrl !== undefined && { secondUrl }) }
      } catch (error) {
        await close()
        throw error
      }
    },
    /** Becomes not ready, completes the requests in flight, and ends. Resolves to `false` if connections were cut. */
    drain: async (delay = current().listen.drain.delay): Promise<boolean> => {
      lifecycle.isDraining = true
      const { limit } = current().listen.drain
      const deadline = performance.now() + limit
      const drains = fronts.map(({ listener }) => listener.drain({ delay, limit }))
      const isComplete = (await Promise.all(drains)).every(Boolean)
      await close(Math.min(SPAN_FLUSH_MS, Math.max(0, deadline - performance.now())))
      return isComplete
    },
  }
}

/** The state that changes while the edge runs. */
interface Lifecycle {
  isDraining: boolean
  /** The ports for clients; none until the edge listens. */
  clientPorts: readonly ClientPort[]
}

/** Time for the last spans at shutdown. Spans that the collector has not accepted by then are lost. */
const SPAN_FLUSH_MS = 2000

/** Builds the parts in the order of their dependencies. `close` closes all of them. */
async function buildParts(
  settings: ReloadableConfig,
  output: LogOutput,
  given: Pick<EdgeOptions, 'times'> & {
    readonly lifecycle: Lifecycle
    readonly reloader: Reloader
  },
) {
  const { lifecycle, reloader, times = {} } = given
  const later: LaterParts = {}
  const base = await buildBase(settings, output, times)
  const { emit, events, audit, traces, replica, shared } = base
  const cluster = await connectCluster(base, later, times)
  const access = await buildAccess(base, cluster, async (name) => later.api?.acceptedTokens?.beginLogin(name))
  const observed = observeTraffic(base, cluster)
  const { counts, queues } = observed
  const api = await buildApi({ ...base, cluster, access })
  later.api = api
  const ready = () => readinessOf({ isDraining: lifecycle.isDraining, contacts: cluster.contacts })
  const capacity = watchCapacity(api, replica, times.capacityInterval)
  const openFiles = await watchOpenFiles(base)
  const comparison = compareReplicaSettings(base, access, times.reportInterval)
  const reported = createReported()
  const described = { ...base, ...observed, cluster, ready, capacity, openFiles, reported }
  const replicas = buildReplicas({ ...described, settings: comparison }, times.reportInterval)
  later.replicas = replicas
  const certificates = await createCertificates(settings)
  const clientPorts = () => lifecycle.clientPorts
  const shown = { ...described, access, api, replicas, comparison, certificates, clientPorts }
  const operated = { ...shown, reload: reloader.status }
  const sources = buildProblemSources(operated)
  const totals = () => {
    events.requests.drain()
    return counts.sums()
  }
  const problems = watchProblems({ find: () => problemsOf(sources), totals })
  const signIn = buildSignIn(operated)
  const view = buildEdgeView(operated, sources, problems.current, signIn.view)
  const { app, listener, metrics, plugins: operating } = await buildOperations(operated, view, signIn)
  const plugins = await loadPlugins(settings.initial.plugins, 'clients')
  let hooking: ReadonlySet<string> = new Set()
  const { contracts, kindOf, handler, acceptedTokens, callerRights } = api
  const fronts = await buildFronts(base, {
    access,
    cluster,
    contracts,
    kindOf,
    handler,
    acceptedTokens,
    callerRights,
    registerPlugins: async (scope) => {
      hooking = await registerPlugins(scope, plugins, view)
      return hooking.size > 0
    },
  })
  const close = async (spanFlushMs = SPAN_FLUSH_MS): Promise<void> => {
    await Promise.all([...fronts.map((front) => front.app.close()), app.close(), access.close(), cluster.close()])
    // The stores come last, because requests in flight may still store or invalidate responses.
    await api.closeCache()
    events.requests.drain()
    await audit.close()
    await traces?.stop(spanFlushMs)
    await replica?.close()
    capacity.stop()
    openFiles.stop()
    problems.stop()
    queues.stop()
    metrics.close()
  }
  const describedPlugins = [
    ...operating.map(({ name }) => `${name} (operations)`),
    ...plugins.map(({ name }) => `${name} (clients${hooking.has(name) ? '; its hooks switch prepared hits off' : ''})`),
  ]
  const { uncaughtConnectionError: countUncaughtError } = emit
  const flushLog = events.requests.drain
  const started = { cluster, shared, replica, replicas, capacity, fronts, audit, operations: { app, listener }, emit }
  return { ...started, plugins: describedPlugins, countUncaughtError, flushLog, close }
}

function connectCluster(
  { settings, log, emit, traces, replica, shared, endedTokens }: Base,
  later: LaterParts,
  times: EdgeTimes,
) {
  return buildCluster(settings, log, {
    onCall: emit.nodeCall,
    onEject: emit.ejection,
    onListRead: () => later.replicas?.publish(),
    onLayoutChange: (change) => {
      purgeAfterLayoutChange(change, later.api?.cache.index, toLog(log))
      warnOfUnusedDistribution(change, settings.initial.cluster.distribution, toLog(log))
    },
    ...times.cluster,
    ...(traces && { untracedTraceparent: traces.untracedTraceparent }),
    hasEndedToken: endedTokens.hasEnded,
    peers: () => later.replicas?.others() ?? [],
    ...(replica && {
      slots: createSharedSlots(replica),
      shareDrains: (onChange) => createSharedDrains({ replica, onChange, log: toLog(log) }),
    }),
    ...(shared && { counters: shared.counters }),
  })
}

/** Warns of a weak password now and after each reload. */
function watchCredentials({ initial, onReload }: ReloadableConfig, log: Logger): void {
  const warn = ({ cluster }: Config): void => {
    const warning = weaknessOf(cluster.credentials)
    if (warning !== undefined)
      log.warn({ setting: 'cluster.credentials', warning }, 'weak password of the account on the nodes')
  }
  warn(initial)
  onReload((next) => () => warn(next))
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
