/** Builds the listener for operators: probes, metrics, sign-ins, console, OpenAPI and the endpoint reference. */
import { isDeepStrictEqual } from 'node:util'
import type { FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { Access } from '../access/access.ts'
import { createOperationsListener, metricsPart, problemsPart } from '../admin/listener.ts'
import { referencePlugin } from '../admin/reference.ts'
import { createIssuer, type Issuer, type IssuerSettings } from '../admin/sessions/issuer.ts'
import { createErrorPages, readCookie, SESSION_COOKIE, type SessionPorts } from '../admin/sessions/page-parts.ts'
import { sessionPart } from '../admin/sessions/routes.ts'
import type { SignIn } from '../admin/sign-in.ts'
import type { ReloadableConfig } from '../config/reloadable.ts'
import type { Config } from '../config/schema.ts'
import { catalogue } from '../contracts/index.ts'
import type { Caller } from '../core/request.ts'
import { createAuthenticator, type OperatorAuthenticator } from '../http/admit.ts'
import { addressOfRequests, clientAddress } from '../http/client-address.ts'
import { type CountRequest, rateLimitsOf } from '../http/rate-limit.ts'
import { groupOf } from '../http/request-events.ts'
import { createListener, type ListenerSettings } from '../listener/listener.ts'
import { STORE_EVENTS } from '../replicas/options.ts'
import type { EdgeView } from '../status/edge-view.ts'
import type { Problem } from '../status/problem-types.ts'
import { DEGRADATION_REASONS, degradationsOf } from '../status/problems.ts'
import { createMetrics, type Metrics } from '../telemetry/metrics/index.ts'
import { type ConsoleParts, loadConsole } from './console.ts'
import { toLog } from './log.ts'
import { type EdgePlugin, loadPlugins, registerPlugins } from './plugins.ts'
import { builtFolder, commit, version } from './process.ts'

/** `listener`: to close its failed connections. */
export async function buildOperations(parts: ConsoleParts, view: EdgeView) {
  const { settings, access, api, shared, ready, log, replicas } = parts
  const metrics = buildMetrics(parts, view.problems)
  const scraped = metricsPart(metrics)
  const isMetricsOpen = settings.initial.operations.metrics === 'open'
  const { signIn, errorPages, sessions } = buildSignIn(settings, { access, log, count: shared?.count })
  const listener = await createListener({ ...listenerSettings(settings.initial), cors: false, log })
  settings.onReload((next) => listener.prepareReload(listenerSettings(next)))
  const plugins: readonly EdgePlugin[] = [
    { name: 'reference', plugin: referencePlugin(api.descriptions, builtFolder('reference')) },
    await loadConsole(),
    ...(await loadPlugins(settings.initial.plugins, 'operations')),
  ]
  const app = await createOperationsListener({
    ready,
    degradations: () => degradationsOf(view.problems()),
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
        problemsPart(view.problems),
        ...(isMetricsOpen ? [] : [scraped]),
        // Last: the route of a plugin that the edge has too is the fault of the plugin.
        (scope) => registerPlugins(scope, plugins, view),
      ],
    },
  })
  app.addHook('onClose', async () => replicas?.stop())
  return { app, listener, metrics }
}

function buildMetrics(parts: ConsoleParts, problems: () => readonly Problem[]): Metrics {
  const { name, events, counts, cluster, api, audit, traces, certificates, capacity } = parts
  const { cache, storeState, recheckInterval } = api
  const groups = new Set(catalogue.map(groupOf))
  groups.delete('none')
  return createMetrics({
    events,
    requests: counts,
    version,
    commit,
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
    ready: () => parts.ready().ok,
    degraded: () => {
      const found = problems()
      return DEGRADATION_REASONS.map((reason) => [reason, found.some(({ kind }) => kind === reason)])
    },
    reload: parts.reload,
    certificates: certificates.current,
    nodes: () =>
      cluster.status().map(({ name, type, inFlight, limit, slots, queue, budget, ejectedFor, hangs, drain }) => ({
        name,
        type,
        inFlight,
        limit,
        slots,
        ...(budget && { budget }),
        queue,
        available: ejectedFor === undefined && cluster.view.isAvailable(name),
        ejected: drain === undefined && ejectedFor !== undefined,
        hangs: drain === undefined && hangs === true,
        drained: drain !== undefined,
        drainedWithoutEnd:
          drain === undefined || drain.until !== undefined ? 0 : Math.max(0, Date.now() - drain.at) / 1000,
      })),
  })
}

/** The same limits as for clients. The URL may be longer, because it may contain a percent-encoded URL to explain. */
function listenerSettings({ listen: { limits, timeouts }, operations: { tls } }: Config): ListenerSettings {
  return { tls, limits: { ...limits, url: 3 * limits.url }, timeouts, hosts: [] }
}

interface SignInParts {
  readonly access: Access
  readonly log: Logger
  /** Counts requests over all replicas. Absent: in this process. */
  readonly count: CountRequest | undefined
}

/**
 * Connects sign-ins with users, sessions, rate limits and the outside issuer. `sessions`: absent in mode passthrough, where
 * only the header `Authorization` signs in.
 */
function buildSignIn(settings: ReloadableConfig, { access, log, count }: SignInParts) {
  let authenticator: OperatorAuthenticator | undefined
  const readAuthenticator = (): OperatorAuthenticator => {
    if (authenticator === undefined) throw new Error('the operations listener has no authentication yet')
    return authenticator
  }
  const sessions = buildSessions(settings, { access, log, readAuthenticator })
  const signIn: SignIn = {
    authentication: async (app) => {
      const created = await createAuthenticator(app, access, rateLimitsOf(settings.derive), count)
      authenticator = created
      return async (request, reply) => {
        const caller = sessions && findSession(sessions, request)
        if (caller === undefined) return created.authenticate(request, reply, request.clientAddress, true)
        await created.countCaller(request, request.clientAddress, caller)
        return caller
      }
    },
    clientAddress: addressOfRequests(settings.derive(({ listen }) => clientAddress(listen.trustedProxies))).addressOf,
  }
  const errorPages = createErrorPages({ sessions, rolesOf: access.rolesOf })
  return { signIn, errorPages, sessions }
}

/** A session takes precedence over a password that the browser remembers: the user has signed in on purpose. */
function findSession(sessions: SessionPorts, request: FastifyRequest): Caller | undefined {
  const text = readCookie(request, SESSION_COOKIE)
  return text === undefined ? undefined : sessions.find(text)
}

interface SessionParts extends Pick<SignInParts, 'access' | 'log'> {
  readAuthenticator(): OperatorAuthenticator
}

function buildSessions(
  settings: ReloadableConfig,
  { access, log, readAuthenticator }: SessionParts,
): SessionPorts | undefined {
  const { sessions, signIns } = access
  if (sessions === undefined || signIns === undefined) return undefined
  let issuer = createIssuerOf(settings.initial)
  settings.onReload((next) => {
    const isSame = isDeepStrictEqual(issuer?.settings, issuerSettings(next))
    const replacement = isSame ? issuer : createIssuerOf(next)
    return () => {
      issuer = replacement
    }
  })
  return {
    challenge: `Bearer realm="${access.realm}"`,
    startWithPassword: async (request, login) => {
      const { name } = await readAuthenticator().authenticatePassword(request, request.clientAddress, login)
      return sessions.startWithPassword(name)
    },
    startWithClaims: sessions.startWithClaims,
    find: sessions.find,
    end: sessions.end,
    remember: signIns.remember,
    take: signIns.take,
    issuer: () => issuer,
    countAddress: (request) => readAuthenticator().countAddress(request, request.clientAddress),
    log: toLog(log),
  }
}

function createIssuerOf(config: Config): Issuer | undefined {
  const settings = issuerSettings(config)
  return settings && createIssuer(settings)
}

/** Returns `undefined` if no issuer is configured. */
export function issuerSettings({ operations: { signIn } }: Config): IssuerSettings | undefined {
  const { issuer, clientId, clientSecret, redirectUrl, scopes } = signIn
  if (issuer === undefined || clientId === undefined || redirectUrl === undefined) return undefined
  return { issuer, clientId, redirectUrl, scopes, ...(clientSecret !== undefined && { clientSecret }) }
}
