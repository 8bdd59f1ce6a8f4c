/** Builds the listener for operators: probes, metrics, console, OpenAPI and the endpoint reference. */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Access } from '../access/access.ts'
import { consolePart } from '../admin/console/index.ts'
import { createLiveTail, type LiveTail } from '../admin/console/live-tail.ts'
import { createRecentJoins, createTraffic, type RecentJoins, type Traffic } from '../admin/console/traffic.ts'
import { createOperationsListener, metricsPart, type Readiness } from '../admin/listener.ts'
import { openApiDocument } from '../admin/openapi/document.ts'
import { referencePart } from '../admin/reference.ts'
import type { Audit } from '../audit/index.ts'
import { catalogue } from '../catalogue/index.ts'
import type { Config } from '../config/index.ts'
import { createAuthenticator } from '../http/authenticate.ts'
import { addressOfRequests } from '../http/client-address.ts'
import { createListener, type ListenerOptions } from '../listener/listener.ts'
import type { RedisReplica } from '../redis/replica.ts'
import type { SharedAccess } from '../redis/shared-access.ts'
import type { Divergence, EdgeEvents } from '../telemetry/events.ts'
import type { Metrics } from '../telemetry/metrics/index.ts'
import type { Cluster } from '../upstream/index.ts'
import type { Api } from './api.ts'
import { buildConsolePorts, buildReplicas } from './console.ts'
import { version } from './package.ts'
import type { StoreStatus } from './telemetry.ts'

/** What the console shows of requests and calls. Created first, so that no event is missed. */
export interface Monitors {
  readonly traffic: Traffic
  readonly tail: LiveTail
  readonly joins: RecentJoins
  close(): void
}

export function createMonitors({ on }: Pick<EdgeEvents, 'on'>): Monitors {
  const traffic = createTraffic()
  const tail = createLiveTail()
  const joins = createRecentJoins()
  const unsubscribes = [on(traffic), on(tail), on(joins)]
  const close = (): void => {
    for (const unsubscribe of unsubscribes) unsubscribe()
    tail.close()
  }
  return { traffic, tail, joins, close }
}

export interface OperationsParts {
  readonly monitors: Monitors
  readonly access: Access
  readonly cluster: Cluster
  readonly api: Pick<Api, 'handler' | 'cache'>
  readonly storeStatus: StoreStatus
  /** Absent: replicas share nothing. */
  readonly replica: RedisReplica | undefined
  readonly shared: SharedAccess | undefined
  readonly log: Logger
  readonly ready: () => Readiness
  /** The URL for clients, as soon as the edge listens. */
  readonly url: () => string
  readonly metrics: Metrics
  readonly divergence: () => readonly Divergence[]
  readonly audit: Pick<Audit, 'onRequest'>
}

export async function buildOperations(config: Config, parts: OperationsParts): Promise<FastifyInstance> {
  const { access, shared, ready, log } = parts
  const metrics = metricsPart(parts.metrics)
  const isMetricsOpen = config.operations.metrics === 'open'
  const replicas = buildReplicas(parts)
  const ports = buildConsolePorts(parts)
  const console = consolePart(replicas === undefined ? ports : { ...ports, replicas: replicas.others }, consoleFolder())
  const { serverFactory } = await createListener(listenerOptions(config, log))
  const app = await createOperationsListener({
    ready,
    log,
    onRefused: parts.audit.onRequest,
    serverFactory,
    ...(isMetricsOpen && { openParts: [metrics] }),
    signedIn: {
      signIn: {
        authentication: async (app) => {
          const { authenticate } = await createAuthenticator(app, access, shared?.count)
          return (request, reply) => authenticate(request, reply, request.clientAddress)
        },
        clientAddress: addressOfRequests(config.listen.trustedProxies),
      },
      parts: [referencePart(openApiDocument(catalogue, { version })), console, ...(isMetricsOpen ? [] : [metrics])],
    },
  })
  app.addHook('onClose', async () => replicas?.stop())
  return app
}

/** The same limits as for clients. The URL may be longer, because it may contain a percent-encoded URL to explain. */
function listenerOptions({ listen, operations }: Config, log: Logger): ListenerOptions {
  const { tls } = operations
  const { limits, timeouts } = listen
  return { tls, limits: { ...limits, url: 3 * limits.url }, timeouts, hosts: [], cors: false, log }
}

/** Returns the folder of the built console page: next to this file, or in `dist` if the sources run (tests). */
function consoleFolder(): string | undefined {
  const folders = ['../console', '../../dist/console'].map((path) => fileURLToPath(new URL(path, import.meta.url)))
  return folders.find((folder) => existsSync(`${folder}/assets`))
}
