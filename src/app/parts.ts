/** The parts of an edge in the order of their dependencies, and the way in which they end. */
import type { ClientPort } from '../admin/console/api-types.ts'
import { readinessOf } from '../admin/readiness.ts'
import { purgeAfterLayoutChange } from '../cache/purge.ts'
import { createCertificates } from '../config/certificates.ts'
import type { ReloadableConfig } from '../config/reloadable.ts'
import { createSharedDrains } from '../redis/shared-drains.ts'
import { createSharedSlots } from '../redis/shared-slots.ts'
import { warnOfUnusedDistribution } from '../upstream/distribution.ts'
import type { ClusterOptions } from '../upstream/index.ts'
import { buildAccess } from './access.ts'
import { buildApi } from './api.ts'
import { type Base, buildBase } from './base.ts'
import { buildCluster } from './cluster.ts'
import { buildConsolePorts, buildReplicas, compareReplicaSettings } from './console.ts'
import { type LogOutput, toLog } from './log.ts'
import { type LaterParts, observeTraffic, watchCapacity } from './observed.ts'
import { buildOperations } from './operations.ts'
import type { ProcessGroup } from './process.ts'
import type { Reloader } from './reload.ts'

/** What the process gives to its parts. */
interface ProcessParts extends LogOutput {
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

/** Time for the last spans at shutdown. Spans that the collector has not accepted by then are lost. */
export const SPAN_FLUSH_MS = 2000

/** `close` closes all parts. */
export async function buildParts(settings: ReloadableConfig, given: ProcessParts) {
  const { lifecycle, reloader, processGroup, ejection } = given
  const later: LaterParts = {}
  const base = await buildBase(settings, given)
  const { emit, events, audit, traces, replica, shared } = base
  const cluster = await connectCluster(base, later, ejection)
  const access = await buildAccess(base, cluster, async (name) => later.api?.acceptedTokens?.beginLogin(name))
  const observed = observeTraffic(base, cluster, later)
  const { monitors, history, webhook, incidents } = observed
  const api = await buildApi({ ...base, cluster, access, recordStages: monitors.records.recordStages })
  later.api = api
  const ready = () => readinessOf({ isDraining: lifecycle.isDraining, contacts: cluster.contacts })
  const capacity = watchCapacity(api, replica)
  const comparison = compareReplicaSettings(base, access)
  const reported = { ...base, ...observed, cluster, ready, capacity }
  const replicas = buildReplicas({ ...reported, settings: comparison })
  later.replicas = replicas
  const certificates = await createCertificates(settings)
  const clientPorts = () => lifecycle.clientPorts
  const shown = { ...reported, access, api, processGroup, replicas, comparison, certificates, clientPorts }
  const operated = { ...shown, reload: reloader.status }
  const ports = buildConsolePorts(operated)
  later.ports = ports
  const { app, listener, metrics } = await buildOperations(operated, ports)
  const close = async (spanFlushMs = SPAN_FLUSH_MS): Promise<void> => {
    await Promise.all([...api.fronts.map((front) => front.app.close()), app.close(), access.close(), cluster.close()])
    // The stores come last, because requests in flight may still store or invalidate responses.
    await api.closeCache()
    events.requests.drain()
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
  const flushLog = events.requests.drain
  const started = { cluster, shared, api, audit, operations: { app, listener }, history, monitors }
  return { ...started, metrics, ready, countUncaughtError, flushLog, close }
}

function connectCluster(
  { settings, log, emit, traces, replica, shared }: Base,
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
