/**
 * The composition root: the only file that makes concrete things and hands them on. From the settings to an edge
 * that can be started and drained; nothing here decides anything about a request.
 */
import { readFile } from 'node:fs/promises'
import { type DestinationStream, type Logger, pino } from 'pino'
import { type Access, createAccess } from './auth/access.ts'
import { checkCatalogue } from './catalogue/check.ts'
import { catalogue, permissions } from './catalogue/index.ts'
import { type Cluster, createCluster } from './cluster/index.ts'
import type { Config } from './config.ts'
import { EdgeError } from './errors.ts'
import { authentication, tokenIssuer } from './http/authenticate.ts'
import { clientAddress } from './http/client-address.ts'
import { drain } from './http/drain.ts'
import { createHttp } from './http/index.ts'
import { createListener } from './http/listener.ts'
import { createOperations } from './operations/index.ts'
import { openApiDocument } from './operations/openapi.ts'
import { buildPipeline } from './pipeline/build.ts'
import { cacheOperations, nothingKept } from './pipeline/edge/cache.ts'
import { tokenOperations } from './pipeline/edge/tokens.ts'
import { forward } from './pipeline/forward.ts'
import { createRouter } from './pipeline/route.ts'

export interface EdgeOptions {
  /** Where log lines go; standard output when absent. */
  readonly logTo?: DestinationStream
}

export interface Edge {
  /** Listens on both ports; rejects when one is taken, and leaves nothing open then. */
  start(): Promise<{ readonly url: string; readonly operationsUrl: string }>
  /** Stops being ready, answers what is under way, and ends. `false`: the limit cut some connections. */
  drain(notice?: number): Promise<boolean>
  ready(): Readiness
  readonly log: Logger
}

export interface Readiness {
  readonly ok: boolean
  readonly reasons: readonly string[]
}

/** Rejects with an `Error` in words for what only shows when it is tried: certificates, keys, the users file. */
export async function buildEdge(config: Config, options: EdgeOptions = {}): Promise<Edge> {
  const faults = checkCatalogue(catalogue)
  if (faults.length > 0) throw new Error(`the catalogue cannot be served:\n${faults.join('\n')}`)
  const log = createLog(config, options)
  const cluster = await buildCluster(config, log)
  const access = await buildAccess(config, cluster, log)
  const { listener, app } = await buildFront(config, { access, cluster, log })
  let draining = false
  const ready = (): Readiness => {
    const reasons = [...(draining ? ['draining'] : []), ...(reachable(cluster) ? [] : ['no node is available'])]
    return { ok: reasons.length === 0, reasons }
  }
  const operations = createOperations({ ready, openApi: openApiDocument(catalogue), log })

  const close = async (): Promise<void> => {
    await Promise.all([app.close(), operations.close(), access.close(), cluster.close()])
  }
  return {
    log,
    ready,
    start: async () => {
      try {
        await cluster.start()
        const { host, port } = config.operations
        return {
          operationsUrl: await operations.listen({ host, port }),
          url: await app.listen({ host: config.listen.host, port: config.listen.port }),
        }
      } catch (fault) {
        await close()
        throw fault
      }
    },
    drain: async (notice = config.listen.drain.notice) => {
      draining = true
      const whole = await drain(listener, { notice, limit: config.listen.drain.limit })
      await close()
      return whole
    },
  }
}

function createLog(config: Config, { logTo }: EdgeOptions): Logger {
  const settings = { level: config.log.level, base: null }
  return logTo === undefined ? pino(settings) : pino(settings, logTo)
}

/** Readiness asks for one node that calls may be sent to; which calls it can answer is a matter of each request. */
function reachable({ view }: Cluster): boolean {
  return view.nodes().some(({ name }) => view.available(name))
}

async function buildCluster(config: Config, log: Logger): Promise<Cluster> {
  const { cluster } = config
  const { mode, username = '', password = '' } = cluster.credentials
  const [ca, cert, key] = await Promise.all([cluster.tls.ca, cluster.tls.cert, cluster.tls.key].map(readIfSet))
  return createCluster({
    nodes: cluster.nodes,
    discover: cluster.discover,
    credentials: mode === 'service' ? { mode, username, password } : { mode },
    tls: { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) },
    limits: cluster.limits,
    allowedAddresses: cluster.addresses,
    log: (level, message, fields) => log[level](fields, message),
  })
}

async function readIfSet(file: string | undefined): Promise<string | undefined> {
  return file === undefined ? undefined : readFile(file, 'utf8')
}

async function buildAccess(config: Config, cluster: Cluster, log: Logger): Promise<Access> {
  const { access } = config
  const perSecond = (max: number) => ({ max, window: 1000 })
  return createAccess({
    realm: 'manager-edge',
    users:
      config.cluster.credentials.mode === 'passthrough'
        ? { verify: askManager(cluster, config.cluster.limits.timeout), role: access.passthroughRole }
        : { file: access.users ?? '' },
    roles: access.roles,
    ownRoles: access.ownRoles,
    permissionWords: permissions,
    tokens: {
      lifetime: access.tokens.lifetime / 1000,
      ...(access.tokens.keys !== undefined && { keys: access.tokens.keys }),
      issuer: 'manager-edge',
      audience: 'manager-edge',
      // Settings are in milliseconds, tokens in seconds.
      issuers: access.tokens.issuers.map((each) => ({ ...each, lifetime: each.lifetime / 1000 })),
    },
    limits: {
      failedLogins: access.limits.failedLogins,
      perCaller: perSecond(access.limits.requests),
      perAddress: perSecond(access.limits.requests * 10),
    },
    log: (level, message, facts) => log[level](facts ?? {}, message),
  })
}

/** Mode passthrough: credentials are right when the manager answers a call that carries them. */
function askManager(cluster: Cluster, timeout: number): (username: string, password: string) => Promise<boolean> {
  return async (username, password) => {
    const result = await cluster.call({
      node: cluster.view.master().name,
      method: 'GET',
      path: '/version',
      repeatable: true,
      expect: 'bytes',
      timeout,
      signal: new AbortController().signal,
      requestId: 'credentials',
      credentials: { username, password },
    })
    if (result.ok) return result.reply.status === 200
    if (result.fault === 'refusedCredentials') return false
    throw new EdgeError(920, ` to check the credentials: ${result.detail}`)
  }
}

interface Inner {
  readonly access: Access
  readonly cluster: Cluster
  readonly log: Logger
}

async function buildFront(config: Config, { access, cluster, log }: Inner) {
  const { listen } = config
  const listener = await createListener({ ...listen, cors: listen.cors.origins.length > 0, log })
  const addressOf = clientAddress(listen.trustedProxies)
  let issue: (name: string) => Promise<string> = async () => ''
  const app = await createHttp({
    catalogue,
    handle: buildPipeline({
      operations: {
        ...tokenOperations({ issue: (name) => issue(name), revoke: (caller) => access.revokeTokens(caller) }),
        ...cacheOperations(nothingKept),
      },
      forward: forward({
        call: cluster.call,
        view: cluster.view,
        route: createRouter(config.cluster.distribution),
        ...config.cluster.limits,
      }),
    }),
    serverFactory: listener.serverFactory,
    log,
    limits: listen.limits,
    prefixes: config.cluster,
    experimental: config.cluster.experimental,
    corsOrigins: listen.cors.origins,
    clientAddress: ({ raw }) => addressOf(raw.socket.remoteAddress ?? '', forwardedFor(raw.headers['x-forwarded-for'])),
    managerVersion: () => cluster.view.nodes().find(({ version }) => version !== undefined)?.version,
    authentication: async (instance) => {
      const authenticate = await authentication(instance, access)
      issue = tokenIssuer(instance, access)
      return authenticate
    },
  })
  return { listener, app }
}

function forwardedFor(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header.join(',') : header
}
