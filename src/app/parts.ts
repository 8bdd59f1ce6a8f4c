/** The parts of an edge in the order of their dependencies, and the way in which they end. */
import { isDeepStrictEqual } from 'node:util'
import type { ClientPort } from '../admin/console/api-types.ts'
import { CallerCounts } from '../admin/console/caller-counts.ts'
import { ConsoleCosts } from '../admin/console/costs.ts'
import { countDivergence } from '../admin/console/divergence-estimate.ts'
import { createHistory } from '../admin/console/history.ts'
import { createIncidents } from '../admin/console/incidents.ts'
import type { ConsolePorts } from '../admin/console/ports.ts'
import { problemsOf } from '../admin/console/problems.ts'
import type { Replicas } from '../admin/console/replicas.ts'
import { readinessOf } from '../admin/readiness.ts'
import { purgeAfterLayoutChange } from '../cache/purge.ts'
import { createCertificates } from '../config/certificates.ts'
import type { ReloadableConfig } from '../config/reloadable.ts'
import { requestLog } from '../http/request-log.ts'
import type { OnStoreEvent } from '../redis/options.ts'
import { createSharedDrains } from '../redis/shared-drains.ts'
import { createSharedHistory } from '../redis/shared-history.ts'
import { createSharedSlots } from '../redis/shared-slots.ts'
import { createStoreStatus } from '../redis/store-status.ts'
import { createEdgeEvents } from '../telemetry/events.ts'
import { RequestCounts } from '../telemetry/request-counts.ts'
import { warnOfUnusedDistribution } from '../upstream/distribution.ts'
import type { Cluster, ClusterOptions } from '../upstream/index.ts'
import { buildAccess } from './access.ts'
import { buildAdvice } from './advice.ts'
import { type Api, buildApi } from './api.ts'
import { watchCapacity } from './capacity.ts'
import { buildCluster } from './cluster.ts'
import { buildConsolePorts, buildReplicas, compareReplicaSettings } from './console.ts'
import { createTrialLog, type LogOutput, toLog } from './log.ts'
import { buildOperations, createMonitors } from './operations.ts'
import { type ProcessGroup, replicaNameOf } from './process.ts'
import { buildReplica, createSharedAccess, readEncryptionKey } from './redis.ts'
import type { Reloader } from './reload.ts'
import { buildAudit, buildMetrics, buildTraces, buildWebhook } from './telemetry.ts'

/** What the process gives to its parts. */
export interface ProcessParts extends LogOutput {
  readonly lifecycle: Lifecycle
  readonly reloader: Pick<Reloader, 'status'>
  readonly processGroup: ProcessGroup | undefined
  readonly ejection: ClusterOptions['ejection'] | undefined
}

/** The state that changes while the edge runs. */
export interface Lifecycle {
  isDraining: boolean
  /** The ports for clients; none until the edge listens. */
  clientPorts: readonly ClientPort[]
}

/** Parts that earlier ones call, once they exist. */
interface LaterParts {
  api?: Api
  replicas?: Replicas | undefined
  ports?: ConsolePorts
}

/** Time for the last spans at shutdown. Spans that the collector has not accepted by then are lost. */
export const SPAN_FLUSH_MS = 2000

/** `close` closes all parts. */
export async function buildParts(settings: ReloadableConfig, given: ProcessParts) {
  const { lifecycle, reloader, processGroup, ejection } = given
  const config = settings.initial
  const later: LaterParts = {}
  const base = await buildBase(settings, given)
  const { name, log, events, audit, traces, replica, shared, encryptionKey, onStoreEvent, storeStatus, divergence } =
    base
  const { emit, requests } = events
  const cluster = await connectCluster(settings, base, later, ejection)
  const access = await buildAccess(settings, {
    cluster,
    shared,
    log,
    onFailedLogin: emit.failedLogin,
    onManagerLogin: async (name) => later.api?.acceptedTokens?.beginLogin(name),
  })
  const observed = observeTraffic(settings, base, cluster, later)
  const { counts, monitors, history, webhook, incidents } = observed
  const common = { name, access, cluster, replica, shared, log, audit }
  const { recordStages } = monitors.records
  const api = await buildApi(settings, { ...common, encryptionKey, onStoreEvent, emit, traces, recordStages })
  later.api = api
  const ready = () => readinessOf({ isDraining: lifecycle.isDraining, contacts: cluster.contacts })
  const capacity = watchCapacity(api, replica)
  const comparison = compareReplicaSettings(settings, { name, access, encryptionKey })
  const reported = { ...observed, name, replica, cluster, ready, capacity, settings: comparison }
  const replicas = buildReplicas(reported)
  later.replicas = replicas
  const certificates = await createCertificates(settings)
  const reload = reloader.status
  const { exemplars } = config.traces
  const clientPorts = () => lifecycle.clientPorts
  const shown = { ...observed, api, storeStatus, capacity, divergence, ready, replicas, comparison }
  const operated = { ...common, ...shown, processGroup, reload, certificates, clientPorts }
  const ports = buildConsolePorts(settings, operated)
  later.ports = ports
  const problems = () => problemsOf(ports)
  const measured = { name, events, requests: counts, cluster, api, audit, traces, webhook, certificates, exemplars }
  const metrics = buildMetrics({ ...measured, capacity, ready, problems, reload })
  const operations = await buildOperations(settings, { ...operated, metrics, ports, problems })
  const close = async (spanFlushMs = SPAN_FLUSH_MS): Promise<void> => {
    await Promise.all([
      ...api.fronts.map(({ app }) => app.close()),
      operations.app.close(),
      access.close(),
      cluster.close(),
    ])
    // The stores come last, because requests in flight may still store or invalidate responses.
    await api.closeCache()
    requests.drain()
    await audit.close()
    await traces?.stop(spanFlushMs)
    await incidents.close()
    await webhook.close()
    await history.close()
    await replica?.close()
    capacity.stop()
    monitors.close()
    await processGroup?.onClose(await metrics.values())
    metrics.close()
  }
  const { uncaughtConnectionError: countUncaughtError } = emit
  const flushLog = requests.drain
  const started = { cluster, shared, api, audit, operations, history, monitors, metrics }
  return { ...started, ready, countUncaughtError, flushLog, close }
}

/** What operators are shown of requests and calls: from the first one on, so this is created before anything serves. */
function observeTraffic(settings: ReloadableConfig, base: Base, cluster: Cluster, later: LaterParts) {
  const { name, events, divergence, replica } = base
  const counts = new RequestCounts()
  const monitors = createMonitors(events, cluster, counts)
  const store = replica && createSharedHistory(replica)
  const history = createHistory({ name, traffic: monitors.traffic, store })
  events.on(history.listeners)
  settings.onReload((next) => {
    const isChanged = !isDeepStrictEqual(next, settings.current())
    return isChanged ? () => history.recordEvent({ kind: 'reload' }) : () => undefined
  })
  const callers = new CallerCounts()
  events.on(callers)
  const { webhook, incidents } = watchIncidents(settings, base, { later, store, callers, history })
  const costs = new ConsoleCosts(events.requests, callers, () => settings.current().access.limits.requestsPerSecond)
  const advice = buildAdvice(settings, { events, callers, divergence, hasRedis: replica !== undefined })
  return { counts, monitors, history, webhook, incidents, costs, advice }
}

interface IncidentParts extends Pick<Parameters<typeof createIncidents>[0], 'store' | 'callers'> {
  readonly later: LaterParts
  readonly history: Pick<ReturnType<typeof createHistory>, 'recordEvent'>
}

/** Returns the incidents that the problems and the requests show, and the webhook that they are sent to. */
function watchIncidents(
  settings: ReloadableConfig,
  { name, log }: Base,
  { later, store, callers, history }: IncidentParts,
) {
  const webhook = buildWebhook(settings, log)
  const incidents = createIncidents({
    name,
    problems: () => (later.ports ? problemsOf(later.ports) : []),
    store,
    callers,
    notify: webhook.send,
    onChange: (event, problems) => {
      const isOver = event === 'end'
      log.warn({ problems }, isOver ? 'incident is over' : 'incident began')
      history.recordEvent({ kind: 'incident', text: isOver ? `over: ${problems}` : problems })
    },
  })
  return { webhook, incidents }
}

/** Builds what all other parts report to, and what replicas share. */
async function buildBase(settings: ReloadableConfig, { log, logTo, setEarlierLines, flush }: ProcessParts) {
  const config = settings.initial
  const events = createEdgeEvents((error, kind, requestId) =>
    log.error({ err: error, reqId: requestId }, kind === 'request' ? 'request not reported' : `${kind} not reported`),
  )
  setEarlierLines(events.requests.drain)
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
    events.emit.storeEvent(event)
    log.warn({ event, ...(reason && { reason }) }, 'cache store')
  }
  const replica = await buildReplica(config, { onEvent: onStoreEvent, onStep: events.emit.redisStep })
  const encryptionKey = await readEncryptionKey(config)
  const shared = replica && createSharedAccess({ replica, encryptionKey, log: toLog(log) })
  const name = replicaNameOf(config)
  return { name, log, events, divergence, audit, traces, storeStatus, onStoreEvent, replica, encryptionKey, shared }
}

type Base = Awaited<ReturnType<typeof buildBase>>

function connectCluster(
  settings: ReloadableConfig,
  { log, events: { emit }, traces, replica, shared }: Base,
  later: LaterParts,
  ejection: ProcessParts['ejection'],
) {
  return buildCluster(settings, log, {
    onCall: emit.nodeCall,
    onEject: emit.ejection,
    onListRead: () => later.replicas?.publish(),
    onLayoutChange: (change) => {
      purgeAfterLayoutChange(change, later.api?.cache.index, toLog(log))
      warnOfUnusedDistribution(change, settings.initial.cluster.distribution, toLog(log))
    },
    ...(ejection && { ejection }),
    ...(traces && { untracedTraceparent: traces.untracedTraceparent }),
    peers: () => later.replicas?.others() ?? [],
    ...(replica && {
      slots: createSharedSlots(replica),
      shareDrains: (onChange) => createSharedDrains({ replica, onChange, log: toLog(log) }),
    }),
    ...(shared && { counters: shared.counters }),
  })
}
