import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Access } from '../access/access.ts'
import { createTokenOperations } from '../access/token-operations.ts'
import type { Audit } from '../audit/index.ts'
import { type CacheOperationsPorts, cacheOperations } from '../cache/operations.ts'
import type { CacheStore } from '../cache/stores/contract.ts'
import { createWriteLocks, writeLockStage } from '../cache/write-lock.ts'
import type { Endpoint } from '../catalogue/endpoint.ts'
import { catalogue } from '../catalogue/index.ts'
import type { Config } from '../config/index.ts'
import type { EventListeners } from '../core/events.ts'
import type { Handler } from '../core/request.ts'
import type { CacheStoreState } from '../core/response.ts'
import { createAuthenticator, tokenIssuer } from '../http/authenticate.ts'
import { addressOfRequests } from '../http/client-address.ts'
import { createHttp, type Http } from '../http/index.ts'
import { logRejected } from '../http/request-log.ts'
import { createAgentOwners, forwardToOwner } from '../join/agent-owners.ts'
import { type JoinReadsPorts, joinReads } from '../join/reads.ts'
import { joinValidation, joinWrites } from '../join/writes.ts'
import { createListener, type Listener } from '../listener/listener.ts'
import { buildPipeline, type PipelineParts } from '../pipeline.ts'
import type { OnStoreEvent } from '../redis/options.ts'
import type { RedisReplica } from '../redis/replica.ts'
import type { SharedAccess } from '../redis/shared-access.ts'
import { forward } from '../upstream/forward.ts'
import type { Cluster } from '../upstream/index.ts'
import { createRouter, type Router } from '../upstream/route.ts'
import { buildCache } from './cache.ts'
import { beginning, type Traces } from './telemetry.ts'

/** The public listener and what runs behind it. */

export interface FrontParts {
  readonly access: Access
  readonly cluster: Cluster
  readonly shared: SharedAccess | undefined
  readonly log: Logger
  /** Takes whole lines of the log. */
  readonly writeLine: (text: string) => void
  /** Absent: nothing is shared. */
  readonly replica: RedisReplica | undefined
  readonly onStoreEvent: OnStoreEvent
  readonly emit: Required<EventListeners>
  readonly audit: Audit
  readonly traces: Traces | undefined
}

export interface Front {
  readonly listener: Listener
  readonly app: FastifyInstance
  /** The whole road behind the listener, for what the operators' console does in a caller's name. */
  readonly handle: Handler
  readonly kept: CacheOperationsPorts
  /** Absent: nothing is kept. */
  readonly state?: (() => CacheStoreState) | undefined
  closeCache(): Promise<void>
}

/** Rejects in words when the certificate or a setting cannot be used. */
export async function buildFront(config: Config, parts: FrontParts): Promise<Front> {
  const { access, cluster, shared, log, writeLine, replica, onStoreEvent, emit, audit, traces } = parts
  const { listen } = config
  const addressOf = addressOfRequests(listen.trustedProxies)
  const onReject = logRejected(log, addressOf, emit.request)
  const listener = await createListener({ ...listen, cors: listen.cors.origins.length > 0, log, onReject })
  // Both are made of the app, which is made of what they are part of.
  let issue: (name: string) => Promise<string> = async () => ''
  let http: Http | undefined
  const route = createRouter(config.cluster.distribution)
  const cache = await buildCache(config, {
    cluster,
    route,
    replica,
    onStoreEvent,
    emit,
    resolveUrl: async (url, caller) => {
      if (http === undefined) throw new Error('nothing is served yet')
      return http.resolveUrl(url, caller)
    },
  })
  const road = buildPipeline({
    operations: {
      ...createTokenOperations({ issue: (name) => issue(name), revoke: (caller) => access.revokeTokens(caller) }),
      ...cacheOperations(cache.kept),
    },
    ...cache.stages,
    ...roads(config, { cluster, route, composed: emit.join, ...(cache.claim && { claim: cache.claim }) }),
  })
  const handle = audit.stage(road)
  http = await createHttp({
    catalogue,
    handle,
    observe: emit.request,
    ...(traces && { beginTrace: beginning(config, traces) }),
    serverFactory: listener.serverFactory,
    log,
    writeLine,
    limits: listen.limits,
    prefixes: config.cluster,
    experimental: config.cluster.experimental,
    minCompressedBytes: config.cache.compressFrom,
    corsOrigins: listen.cors.origins,
    clientAddress: addressOf,
    managerVersion: () => cluster.view.nodes().find(({ version }) => version !== undefined)?.version,
    authentication: async (instance) => {
      const authenticator = await createAuthenticator(instance, access, shared?.count)
      issue = tokenIssuer(instance, access)
      return authenticator
    },
  })
  return { listener, app: http.app, handle, kept: cache.kept, state: cache.state, closeCache: cache.close }
}

/** The ways to the nodes, as `cluster.distribution` says. */

export interface RoadParts {
  readonly cluster: Cluster
  readonly route: Router
  /** Of the store that replicas share. */
  readonly claim?: CacheStore['acquireFetchLock']
  readonly composed?: JoinReadsPorts['onJoin']
}

export function roads(
  config: Config,
  { cluster, route, claim, composed }: RoadParts,
): Pick<PipelineParts, 'forward' | 'writeLock' | 'multiNode'> {
  const { view, call } = cluster
  const { distribution, limits } = config.cluster
  return {
    forward: forward({ call, view, route, ...limits }),
    writeLock: writeLockStage({
      locks: createWriteLocks(claim),
      master: () => view.master().name,
      timeoutOf: ({ endpoint }) => (endpoint.slow === true ? limits.slowTimeout : limits.timeout),
    }),
    multiNode: (read, one) => {
      const owners = createAgentOwners({
        read,
        view,
        endpoints: { agents: record('GET', '/agents'), members: record('GET', '/agents/groups/:group_id') },
        ttl: config.cache.durations.agents ?? config.cache.defaultDuration,
        staleIfError: config.cache.staleIfError,
      })
      const endpoints = {
        restart: record('POST', '/agents/restart'),
        validation: record('GET', '/cluster/:node_id/configuration/validation'),
      }
      const reads = joinReads({
        read,
        view,
        owners,
        distribution,
        catalogue,
        ...limits,
        ...(composed && { onJoin: composed }),
      })
      const parts = { read, forward: one, view, owners, endpoints }
      if (distribution === 'manager') return { joinCollections: reads, joinResults: joinValidation(parts) }
      return { forwardToOwner: forwardToOwner(parts), joinCollections: reads, joinResults: joinWrites(parts) }
    },
  }
}

function record(method: Endpoint['method'], path: string): Endpoint {
  const found = catalogue.find((endpoint) => endpoint.method === method && endpoint.path === path)
  if (found === undefined) throw new Error(`the catalogue has no ${method} ${path}`)
  return found
}
