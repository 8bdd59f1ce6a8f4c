/** The operators' listener, and what it is told of the edge. */
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
import type { Divergence } from '../telemetry/divergence.ts'
import type { EdgeEvents } from '../telemetry/events.ts'
import type { Metrics } from '../telemetry/metrics/index.ts'
import type { Cluster } from '../upstream/index.ts'
import { buildReplicas, consolePorts } from './console.ts'
import type { Front } from './front.ts'
import { version } from './package.ts'
import type { StoreNews } from './telemetry.ts'

/** What is counted and shown of each request and each call; made before there is anything that could be. */
export interface Watch {
  readonly traffic: Traffic
  readonly tail: LiveTail
  readonly joins: RecentJoins
  close(): void
}

export function createWatch({ on }: Pick<EdgeEvents, 'on'>): Watch {
  const traffic = createTraffic()
  const tail = createLiveTail()
  const joins = createRecentJoins()
  const ends = [on(traffic), on(tail), on(joins)]
  const close = (): void => {
    for (const end of ends) end()
    tail.close()
  }
  return { traffic, tail, joins, close }
}

export interface OperationsParts {
  readonly watch: Watch
  readonly access: Access
  readonly cluster: Cluster
  readonly front: Pick<Front, 'handle' | 'kept'>
  readonly news: StoreNews
  /** Absent: nothing is shared. */
  readonly replica: RedisReplica | undefined
  readonly shared: SharedAccess | undefined
  readonly log: Logger
  readonly ready: () => Readiness
  /** Where clients reach the edge, once it listens. */
  readonly url: () => string
  readonly metrics: Metrics
  readonly divergence: () => readonly Divergence[]
  readonly audit: Pick<Audit, 'onRequest'>
}

export async function buildOperations(config: Config, parts: OperationsParts): Promise<FastifyInstance> {
  const { access, shared, ready, log } = parts
  const metrics = metricsPart(parts.metrics)
  const scraped = config.operations.metrics === 'open'
  const replicas = buildReplicas(parts)
  const ports = consolePorts(parts)
  const console = consolePart(replicas === undefined ? ports : { ...ports, replicas: replicas.others }, pageFolder())
  const { serverFactory } = await createListener(listenerOf(config, log))
  const app = await createOperationsListener({
    ready,
    log,
    onRefused: parts.audit.onRequest,
    serverFactory,
    ...(scraped && { openParts: [metrics] }),
    signedIn: {
      signIn: {
        authentication: async (app) => {
          const { authenticate } = await createAuthenticator(app, access, shared?.count)
          return (request, reply) => authenticate(request, reply, request.clientAddress)
        },
        clientAddress: addressOfRequests(config.listen.trustedProxies),
      },
      parts: [referencePart(openApiDocument(catalogue, { version })), console, ...(scraped ? [] : [metrics])],
    },
  })
  app.addHook('onClose', async () => replicas?.stop())
  return app
}

/** As strict as the public one. A URL may hold another one, percent-encoded, that is to be explained. */
function listenerOf({ listen, operations }: Config, log: Logger): ListenerOptions {
  const { tls } = operations
  const { limits, timeouts } = listen
  return { tls, limits: { ...limits, url: 3 * limits.url }, timeouts, hosts: [], cors: false, log }
}

/** Where the build put the page: beside this file, or, beside the sources (tests), in `dist`. */
function pageFolder(): string | undefined {
  const folders = ['../console', '../../dist/console'].map((path) => fileURLToPath(new URL(path, import.meta.url)))
  return folders.find((folder) => existsSync(`${folder}/assets`))
}
