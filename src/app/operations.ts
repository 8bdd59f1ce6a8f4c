/** Builds the listener for operators: probes, metrics, sign-ins, console, OpenAPI and the endpoint reference. */
import type { Access } from '../access/access.ts'
import { createOperationsListener, metricsPart, problemsPart } from '../admin/listener.ts'
import type { SignIn } from '../admin/sign-in.ts'
import type { Config } from '../config/schema.ts'
import { catalogue } from '../contracts/index.ts'
import { createAuthenticator, type OperatorAuthenticator } from '../http/authenticator.ts'
import { addressOfRequests, clientAddress } from '../http/client-address.ts'
import { rateLimitsOf } from '../http/rate-limit.ts'
import { groupOf } from '../http/request-events.ts'
import { createListener, type ListenerSettings } from '../listener/listener.ts'
import type { EdgeView, IssuerSettings, SessionsView, SignInPages } from '../status/edge-view.ts'
import { DEGRADATION_REASONS, degradationsOf } from '../status/problems.ts'
import { createMetrics, type Metrics } from '../telemetry/metrics/index.ts'
import type { Cluster } from '../upstream/index.ts'
import type { Base } from './base.ts'
import type { BuiltCache } from './cache.ts'
import { toLog } from './log.ts'
import { installedPlugins } from './packages.ts'
import { loadPlugins, registerPlugins } from './plugins.ts'
import { commit, version } from './process.ts'
import type { Descriptions } from './reference.ts'
import type { Reloader } from './reload.ts'
import type { Status } from './status.ts'

interface OperationsParts {
  readonly view: EdgeView
  readonly signIn: ReturnType<typeof buildSignIn>
  readonly metrics: Metrics
  readonly descriptions: Descriptions
}

/** `listener`: to close its failed connections. */
export async function buildOperations(
  { settings, log, audit }: Pick<Base, 'settings' | 'log' | 'audit'>,
  { view, signIn: { signIn, pages }, metrics, descriptions }: OperationsParts,
) {
  const scraped = metricsPart(metrics)
  const isMetricsOpen = settings.initial.operations.metrics === 'open'
  const listener = await createListener({ ...listenerSettings(settings.initial), cors: false, log })
  settings.onReload((next) => listener.prepareReload(listenerSettings(next)))
  const added = await loadPlugins(settings.initial.plugins, 'operations')
  const plugins = [...(await installedPlugins(descriptions)), ...added]
  const app = await createOperationsListener({
    ready: view.ready,
    degradations: () => degradationsOf(view.problems()),
    log,
    onRejected: audit.onRejected,
    server: listener.fastify,
    ...(isMetricsOpen && { openParts: [scraped] }),
    pages,
    signedIn: {
      signIn,
      parts: [
        problemsPart(view.problems),
        ...(isMetricsOpen ? [] : [scraped]),
        // Last: the route of a plugin that the edge has too is the fault of the plugin.
        async (scope) => void (await registerPlugins(scope, plugins, view)),
      ],
    },
  })
  return { app, listener, plugins: added }
}

interface MetricsParts {
  readonly cluster: Pick<Cluster, 'status' | 'view'>
  readonly cache: Pick<BuiltCache, 'ports' | 'state' | 'recheckInterval'>
  readonly status: Pick<Status, 'counts' | 'capacity' | 'sources' | 'problems'>
  readonly reloader: Pick<Reloader, 'status'>
}

export function buildMetrics(
  { name, events, audit, traces }: Pick<Base, 'name' | 'events' | 'audit' | 'traces'>,
  { cluster, cache: { ports, state, recheckInterval }, status, reloader }: MetricsParts,
): Metrics {
  const { counts, capacity, sources, problems } = status
  const groups = new Set(catalogue.map(groupOf))
  groups.delete('none')
  return createMetrics({
    events,
    requests: counts,
    version,
    commit,
    replica: name,
    groups: [...groups].sort(),
    redis: ports.sharedThroughRedis,
    ...(state && { store: state }),
    redisCapacity: () => capacity.current().redis ?? {},
    snapshots: () => ports.snapshots?.() ?? [],
    ...(recheckInterval && { recheckInterval }),
    audit: audit.state,
    ...(traces && { spans: traces.counts }),
    ready: () => sources.ready().ok,
    degraded: () => {
      const found = problems()
      return DEGRADATION_REASONS.map((reason) => [reason, found.some(({ kind }) => kind === reason)])
    },
    reload: reloader.status,
    certificates: sources.certificates,
    nodes: () => cluster.status().map((node) => ({ ...node, isAvailable: cluster.view.isAvailable(node.name) })),
  })
}

/** The same limits as for clients. The URL may be longer, because it may contain a percent-encoded URL to explain. */
function listenerSettings({ listen: { limits, timeouts }, operations: { tls } }: Config): ListenerSettings {
  return { tls, limits: { ...limits, url: 3 * limits.url }, timeouts, hosts: [] }
}

/** Connects sign-ins with users, sessions and rate limits. */
export function buildSignIn(
  { settings, log, countRequest }: Pick<Base, 'settings' | 'log' | 'countRequest'>,
  access: Access,
) {
  const addressOf = addressOfRequests(settings.derive(({ listen }) => clientAddress(listen.trustedProxies)))
  let authenticator: OperatorAuthenticator | undefined
  const readAuthenticator = (): OperatorAuthenticator => {
    if (authenticator === undefined) throw new Error('the operations listener has no authentication yet')
    return authenticator
  }
  let pages: SignInPages | undefined
  const signIn: SignIn = {
    authentication: async (app) => {
      const created = await createAuthenticator(app, access, rateLimitsOf(settings.derive), countRequest)
      authenticator = created
      return async (request, reply) => {
        const caller = pages?.findCaller(request)
        if (caller === undefined) return created.authenticate(request, reply, request.clientAddress, true)
        await created.countCaller(request, request.clientAddress, caller)
        return caller
      }
    },
    clientAddress: (request) => addressOf(request).address,
  }
  const usePages = (used: SignInPages): void => {
    pages = used
  }
  const { sessions } = access
  const view: SessionsView | undefined = sessions && {
    ...sessions,
    settings: settings.derive((config) => {
      const issuer = issuerSettings(config)
      return { lifetime: config.operations.signIn.lifetime, ...(issuer && { issuer }) }
    }),
    authenticate: async (request, login) =>
      void (await readAuthenticator().authenticatePassword(request, request.clientAddress, login)),
    countAddress: (request) => readAuthenticator().countAddress(request, request.clientAddress),
    log: toLog(log),
  }
  return { signIn, pages: () => pages, view: { usePages, ...(view && { sessions: view }) } }
}

/** Returns `undefined` if no issuer is configured. */
export function issuerSettings({ operations: { signIn } }: Config): IssuerSettings | undefined {
  const { lifetime: _, issuer, clientId, redirectUrl, ...others } = signIn
  if (issuer === undefined || clientId === undefined || redirectUrl === undefined) return undefined
  return { ...others, issuer, clientId, redirectUrl }
}
