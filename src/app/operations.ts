/** The operations listener and what it shows: the composition of its parts. */
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Access } from '../auth/access.ts'
import { catalogue } from '../catalogue/index.ts'
import type { Cluster, NodeStatus } from '../cluster/index.ts'
import { redisPlace } from '../config/redis-place.ts'
import type { Config } from '../config.ts'
import { authentication } from '../http/authenticate.ts'
import { clientAddress } from '../http/client-address.ts'
import { madeOf } from '../http/encodings.ts'
import { consolePart } from '../operations/console/index.ts'
import { createReplicas, type Replicas } from '../operations/console/replicas.ts'
import { createTail } from '../operations/console/tail.ts'
import { createTraffic, type Traffic } from '../operations/console/traffic.ts'
import type { ConsolePorts, NodeState } from '../operations/console-ports.ts'
import { docsPart } from '../operations/docs.ts'
import { createOperations, type OperationsPart, openApiPart, type Readiness } from '../operations/index.ts'
import { type Metrics, metricsPart } from '../operations/metrics/index.ts'
import type { Observation } from '../operations/observation.ts'
import { openApiDocument } from '../operations/openapi.ts'
import { explain } from '../pipeline/cache/explain.ts'
import { createReplicaLines } from '../store/replica-lines.ts'
import type { SharedAccess } from '../store/shared-access.ts'
import type { Front } from './front.ts'
import { version } from './package.ts'
import { purger } from './purge.ts'
import type { StoreNews } from './store-news.ts'

/** What is counted and shown of each request and each call; made before there is anything that could be. */
export interface Watch {
  readonly traffic: Traffic
  readonly tail: ReturnType<typeof createTail>
  close(): void
}

export function createWatch({ listen }: Pick<Observation, 'listen'>): Watch {
  const traffic = createTraffic()
  const tail = createTail()
  const end = listen({
    answered: (event) => {
      traffic.answered(event)
      tail.answered(event)
    },
    called: (event) => {
      traffic.called(event)
      tail.called(event)
    },
  })
  const close = (): void => {
    end()
    tail.close()
  }
  return { traffic, tail, close }
}

export interface OperationsParts {
  readonly watch: Watch
  readonly access: Access
  readonly cluster: Cluster
  readonly front: Pick<Front, 'handle' | 'kept'>
  readonly news: StoreNews
  readonly shared: SharedAccess | undefined
  readonly log: Logger
  readonly ready: () => Readiness
  /** Where clients reach the edge, once it listens. */
  readonly url: () => string
  readonly metrics: Metrics
  readonly divergence: Observation['divergence']
  readonly further?: readonly OperationsPart[]
}

export async function buildOperations(config: Config, parts: OperationsParts): Promise<FastifyInstance> {
  const { access, shared, ready, log, further = [] } = parts
  const metrics = metricsPart(parts.metrics)
  const scraped = config.operations.metrics === 'open'
  const addressOf = clientAddress(config.listen.trustedProxies)
  const replicas = await buildReplicas(config, parts)
  const ports = portsOf(parts)
  const console = consolePart(replicas === undefined ? ports : { ...ports, replicas: replicas.others }, pageFolder())
  const app = await createOperations({
    ready,
    log,
    ...(scraped && { open: [metrics] }),
    signedIn: {
      signIn: {
        authentication: (app) => authentication(app, access, shared?.count),
        clientAddress: ({ raw }) => {
          const forwarded = raw.headers['x-forwarded-for']
          return addressOf(raw.socket.remoteAddress ?? '', Array.isArray(forwarded) ? forwarded.join(',') : forwarded)
        },
      },
      parts: [
        openApiPart(openApiDocument(catalogue, { version })),
        docsPart(catalogue, version),
        console,
        ...(scraped ? [] : [metrics]),
        ...further,
      ],
    },
  })
  app.addHook('onClose', async () => replicas?.stop())
  return app
}

/** Where the build put the page: beside this file, or, beside the sources (tests), in `dist`. */
function pageFolder(): string | undefined {
  const folders = ['../console', '../../dist/console'].map((path) => fileURLToPath(new URL(path, import.meta.url)))
  return folders.find((folder) => existsSync(`${folder}/assets`))
}

async function buildReplicas(config: Config, parts: OperationsParts): Promise<Replicas | undefined> {
  const place = await redisPlace(config.cache.redis)
  if (place === undefined) return undefined
  const lines = createReplicaLines(place, config.cache.redis.timeout)
  const { cluster, watch, ready } = parts
  const self = {
    name: hostname(),
    version,
    ready: () => ready().ok,
    rates: watch.traffic.rates,
    nodes: () => cluster.status().map((status) => stateOf(status, cluster)),
  }
  // Several replicas may run on one host.
  const name = `${hostname()} ${randomUUID()}`
  const replicas = createReplicas(self, (text) => lines.tell(name, text))
  const stop = (): void => {
    replicas.stop()
    lines.close()
  }
  return { ...replicas, stop }
}

function portsOf({ watch, cluster, front, news, ready, url, divergence }: OperationsParts): ConsolePorts {
  const { kept, handle } = front
  const { explained } = kept
  const permissions = new Map<string, string>(
    catalogue.filter(({ method }) => method === 'GET').map(({ path, permission }) => [path, permission]),
  )
  return {
    name: hostname(),
    version,
    url,
    ready,
    traffic: watch.traffic,
    tail: watch.tail,
    divergence,
    index: kept.index,
    purge: purger(handle),
    cache: () => ({ enabled: kept.enabled, shared: kept.sharedThroughRedis, ...news.standing() }),
    nodes: () => cluster.status().map((status) => stateOf(status, cluster)),
    permissionOf: (endpoint) => permissions.get(endpoint) ?? 'unknown',
    explain: async (asked, caller) => {
      if (explained === undefined) return { kept: false, why: 'the cache is off' }
      return explain(explained, await explained.askOf(asked, caller))
    },
    read: async ({ key, url: asked }, caller) => {
      if (explained === undefined) return { kind: 'gone' }
      const prepared = explained.prepare(await explained.askOf(asked, caller))
      // The key says for whose rights it was made: another key, another answer.
      if (typeof prepared === 'string' || prepared.key !== key) return { kind: 'others' }
      const look = await explained.store.look(key, prepared.tags)
      if (look.kind !== 'present') return { kind: 'gone' }
      const { bytes, etag, age, keepFor } = look.answer
      const { fenced } = look.mark
      return { kind: 'kept', etag, bytes, fenced, near: look.near, freshFor: keepFor - age, encodings: madeOf(bytes) }
    },
  }
}

function stateOf(status: NodeStatus, { view }: Cluster): NodeState {
  const { name, type, addressed, listed, inFlight, limit, queue, ejectedUntil, lastFailure } = status
  const known = view.find(name)?.version
  const now = Date.now()
  const state = !addressed
    ? 'no address'
    : ejectedUntil !== undefined
      ? 'ejected'
      : !view.available(name)
        ? 'full'
        : listed === false
          ? 'not listed'
          : 'up'
  return {
    name,
    type,
    state,
    inFlight,
    limit,
    queue,
    ...(known !== undefined && { version: known }),
    ...(ejectedUntil !== undefined && { ejectedFor: Math.max(0, ejectedUntil - now) }),
    ...(lastFailure && {
      lastFailure: { fault: lastFailure.fault, detail: lastFailure.detail, ago: now - lastFailure.at },
    }),
  }
}
