/** Builds the listener for operators: probes, metrics, console, OpenAPI and the endpoint reference. */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Problem } from '../admin/console/api-types.ts'
import { accountPart, consolePart } from '../admin/console/index.ts'
import type { ConsolePorts } from '../admin/console/ports.ts'
import { DEGRADATION_REASONS, degradationsOf, problemsOf } from '../admin/console/problems.ts'
import { createOperationsListener, metricsPart } from '../admin/listener.ts'
import { referencePart } from '../admin/reference.ts'
import { sessionPart } from '../admin/sessions/routes.ts'
import { catalogue } from '../catalogue/index.ts'
import type { Config } from '../config/schema.ts'
import { groupOf } from '../http/request-events.ts'
import type { ListenerSettings } from '../listener/listener.ts'
import { createListener } from '../listener/listener.ts'
import { STORE_EVENTS } from '../redis/options.ts'
import { createMetrics, type Metrics } from '../telemetry/metrics/index.ts'
import type { ConsoleParts } from './console.ts'
import { commit, version } from './process.ts'
import { buildSignIn } from './sign-in.ts'

/** `listener`: to end its connections gracefully. */
export async function buildOperations(parts: ConsoleParts, ports: ConsolePorts) {
  const { settings, access, api, shared, ready: ownReadiness, log, processGroup, replicas } = parts
  const problems = () => problemsOf(ports)
  const metrics = buildMetrics(parts, problems)
  const { contentType, text } = metrics
  const scraped = metricsPart({ contentType, text: () => processGroup?.metrics() ?? text() })
  const ready = processGroup === undefined ? ownReadiness : () => processGroup.readiness(ownReadiness())
  const isMetricsOpen = settings.initial.operations.metrics === 'open'
  const { signIn, errorPages, sessions } = buildSignIn(settings, { access, log, count: shared?.count })
  const listener = await createListener({ ...listenerSettings(settings.initial), cors: false, log })
  settings.onReload((next) => listener.prepareReload(listenerSettings(next)))
  const app = await createOperationsListener({
    ready,
    degradations: () => degradationsOf(problems()),
    log,
    onRejected: parts.audit.onRejected,
    server: listener.fastify,
    ...(isMetricsOpen && { openParts: [scraped] }),
    errorPages,
    ...(sessions && { pageChallenge: sessions.challenge }),
    signedIn: {
      signIn,
      parts: [
        ...(sessions ? [sessionPart(sessions)] : []),
        accountPart(access.rolesOf),
        referencePart(api.description),
        consolePart(ports, consoleFolder()),
        ...(isMetricsOpen ? [] : [scraped]),
      ],
    },
  })
  app.addHook('onClose', async () => replicas?.stop())
  return { app, listener, metrics }
}

function buildMetrics(parts: ConsoleParts, problems: () => readonly Problem[]): Metrics {
  const { settings, name, events, counts, cluster, api, audit, traces, webhook, certificates, capacity } = parts
  const { cache, storeState, recheckInterval } = api
  const groups = new Set(catalogue.map(groupOf))
  groups.delete('none')
  return createMetrics({
    events,
    requests: counts,
    version,
    commit,
    exemplars: settings.initial.traces.exemplars,
    replica: name,
    groups: [...groups].sort(),
    storeEvents: STORE_EVENTS,
    redis: cache.sharedThroughRedis,
    ...(storeState && { store: storeState }),
    redisCapacity: () => capacity.current().redis ?? {},
    snapshots: () => cache.snapshots?.() ?? [],
    ...(recheckInterval && { recheckInterval }),
    audit: audit.state,
    ...(traces && { spans: traces.counts }),
    webhook: webhook.counts,
    ready: () => parts.ready().ok,
    degraded: () => {
      const found = problems()
      return DEGRADATION_REASONS.map((reason) => [reason, found.some(({ kind }) => kind === reason)])
    },
    reload: parts.reload,
    certificates: certificates.current,
    nodes: () =>
      cluster.status().map(({ name, type, inFlight, limit, slots, queue, budget, ejectedUntil, hangs, drain }) => ({
        name,
        type,
        inFlight,
        limit,
        slots,
        ...(budget && { budget }),
        queue,
        available: ejectedUntil === undefined && cluster.view.isAvailable(name),
        ejected: drain === undefined && ejectedUntil !== undefined,
        hangs: drain === undefined && hangs === true,
        drained: drain !== undefined,
        drainedWithoutEnd: drain === undefined || drain.until !== undefined ? 0 : secondsSince(drain.at),
      })),
  })
}

function secondsSince(at: number): number {
  return Math.max(0, Date.now() - at) / 1000
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
