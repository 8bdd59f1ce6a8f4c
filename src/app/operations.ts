/** Builds the listener for operators: probes, metrics, console, OpenAPI and the endpoint reference. */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance } from 'fastify'
import type { Problem } from '../admin/console/api-types.ts'
import { accountPart, consolePart } from '../admin/console/index.ts'
import { createLiveTail } from '../admin/console/live-tail.ts'
import type { ConsolePorts } from '../admin/console/ports.ts'
import { degradationsOf } from '../admin/console/problems.ts'
import { createQueueTrends } from '../admin/console/queue-trends.ts'
import { createRequestRecords } from '../admin/console/request-records.ts'
import { createRecentJoins, createTraffic } from '../admin/console/traffic.ts'
import { createOperationsListener, metricsPart } from '../admin/listener.ts'
import { referencePart } from '../admin/reference.ts'
import { sessionPart } from '../admin/sessions/routes.ts'
import type { ReloadableConfig } from '../config/reloadable.ts'
import type { Config } from '../config/schema.ts'
import { createListener, type Listener } from '../listener/listener.ts'
import type { ListenerSettings } from '../listener/options.ts'
import type { EdgeEvents } from '../telemetry/events.ts'
import type { Metrics } from '../telemetry/metrics/index.ts'
import type { RequestCounts } from '../telemetry/request-counts.ts'
import type { Cluster } from '../upstream/index.ts'
import type { Monitors, OperationsParts } from './console.ts'
import { buildSignIn } from './sign-in.ts'

/** `counts`: counts requests when the traffic passes them on. */
export function createMonitors(
  { on, requests }: Pick<EdgeEvents, 'on' | 'requests'>,
  cluster: Pick<Cluster, 'status'>,
  counts: RequestCounts,
): Monitors {
  const traffic = createTraffic({ counts, requests })
  const records = createRequestRecords(requests)
  const tail = createLiveTail(records)
  const joins = createRecentJoins()
  const queues = createQueueTrends(cluster.status)
  const unsubscribes = [on(traffic), on(records), on(joins)]
  const close = (): void => {
    for (const unsubscribe of unsubscribes) unsubscribe()
    tail.close()
    records.close()
    queues.stop()
  }
  return { traffic, tail, joins, records, queues, close }
}

/** `listener`: to end its connections gracefully. */
export async function buildOperations(
  settings: ReloadableConfig,
  parts: OperationsParts & {
    readonly metrics: Metrics
    readonly ports: ConsolePorts
    readonly problems: () => readonly Problem[]
  },
): Promise<{ readonly app: FastifyInstance; readonly listener: Listener }> {
  const { access, shared, ready: ownReadiness, problems, ports, log, processGroup } = parts
  const { contentType, text } = parts.metrics
  const metrics = metricsPart({ contentType, text: () => processGroup?.metrics() ?? text() })
  const ready = processGroup === undefined ? ownReadiness : () => processGroup.readiness(ownReadiness())
  const isMetricsOpen = settings.initial.operations.metrics === 'open'
  const { replicas } = parts
  const console = consolePart(ports, consoleFolder())
  const { signIn, errorPages, sessions } = buildSignIn(settings, { access, log, count: shared?.count })
  const listener = await createListener({ ...listenerSettings(settings.initial), cors: false, log })
  settings.onReload((next) => listener.prepareReload(listenerSettings(next)))
  const app = await createOperationsListener({
    ready,
    degradations: () => degradationsOf(problems()),
    log,
    onRejected: parts.audit.onRequest,
    server: listener.fastify,
    ...(isMetricsOpen && { openParts: [metrics] }),
    errorPages,
    ...(sessions && { pageChallenge: sessions.challenge }),
    signedIn: {
      signIn,
      parts: [
        ...(sessions ? [sessionPart(sessions)] : []),
        accountPart(access.rolesOf),
        referencePart(parts.api.description),
        console,
        ...(isMetricsOpen ? [] : [metrics]),
      ],
    },
  })
  app.addHook('onClose', async () => replicas?.stop())
  return { app, listener }
}

/** The same limits as for clients. The URL may be longer, because it may contain a percent-encoded URL to explain. */
function listenerSettings({ listen: { limits, timeouts }, operations: { tls } }: Config): ListenerSettings {
  return { tls, limits: { ...limits, url: 3 * limits.url }, timeouts, hosts: [] }
}

/** Returns the folder of the built console page: next to this file, or in `dist` if the sources run (tests). */
function consoleFolder(): string | undefined {
  const folders = ['../console', '../../dist/console'].map((path) => fileURLToPath(new URL(path, import.meta.url)))
  return folders.find((folder) => existsSync(`${folder}/assets`))
}
