/** Builds the listener for clients and the pipeline behind it. */
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
import type { ReloadableConfig } from '../config/reloadable.ts'
import type { Config } from '../config/schema.ts'
import type { EventListeners } from '../core/events.ts'
import type { Handler } from '../core/request.ts'
import type { CacheStoreState } from '../core/response.ts'
import { createAuthenticator, tokenIssuer } from '../http/authenticate.ts'
import { addressOfRequests } from '../http/client-address.ts'
import { createHttp, type Http } from '../http/index.ts'
import { logRejected } from '../http/request-log.ts'
import { createAgentOwners, forwardToOwner } from '../join/agent-owners.ts'
import { type JoinCollectionsPorts, joinCollections } from '../join/join-collections.ts'
import { joinResults, joinValidations } from '../join/join-results.ts'
import { createListener, type Listener } from '../listener/listener.ts'
import { buildPipeline, type PipelineParts } from '../pipeline.ts'
import type { OnStoreEvent } from '../redis/options.ts'
import type { RedisReplica } from '../redis/replica.ts'
import type { SharedAccess } from '../redis/shared-access.ts'
import { createDistributionCheck } from '../upstream/distribution.ts'
import { forward } from '../upstream/forward.ts'
import type { Cluster } from '../upstream/index.ts'
import { createRouter, type Router } from '../upstream/route.ts'
import { buildCache } from './cache.ts'
import { createTraceStarter, type Traces } from './telemetry.ts'
import { withSettings } from './with-settings.ts'

export interface ApiParts {
  readonly access: Access
  readonly cluster: Cluster
  readonly shared: SharedAccess | undefined
  readonly log: Logger
  /** Writes a complete log line. */
  readonly writeLine: (line: string) => void
  /** Absent: replicas share nothing. */
  readonly replica: RedisReplica | undefined
  /** Absent: stored responses are not encrypted. */
  readonly encryptionKey: Buffer | undefined
  readonly onStoreEvent: OnStoreEvent
  readonly emit: Required<EventListeners>
  readonly audit: Audit
  readonly traces: Traces | undefined
}

export interface Api {
  readonly listener: Listener
  readonly app: FastifyInstance
  /** The whole pipeline, for requests of the console in the name of a caller. */
  readonly handler: Handler
  readonly cache: CacheOperationsPorts
  /** Absent: there is no cache store. */
  readonly storeState?: (() => CacheStoreState) | undefined
  closeCache(): Promise<void>
}

/** Rejects with an `Error` for the operator if the certificate or a setting cannot be used. */
export async function buildApi(settings: ReloadableConfig, parts: ApiParts): Promise<Api> {
  const { current: config } = settings
  const { access, cluster, shared, log, writeLine, replica, encryptionKey, onStoreEvent, emit, audit, traces } = parts
  const { listen } = config
  const addressOf = addressOfRequests(listen)
  const onReject = logRejected(log, addressOf, emit.request)
  const listener = await createListener({ ...listen, cors: listen.cors.origins.length > 0, log, onReject })
  // The pipeline needs these two, but they come from the HTTP application, which needs the pipeline.
  let issueToken: (name: string) => Promise<string> = async () => ''
  let http: Http | undefined
  const route = createRouter(config.cluster.distribution)
  const cache = await buildCache(settings, {
    cluster,
    route,
    replica,
    encryptionKey,
    onStoreEvent,
    emit,
    resolveUrl: async (url, caller) => {
      if (http === undefined) throw new Error('the HTTP application is not created yet')
      return http.resolveUrl(url, caller)
    },
  })
  const pipeline = buildPipeline({
    operations: {
      ...createTokenOperations({
        issue: (name) => issueToken(name),
        revoke: (caller) => access.revokeTokens(caller),
      }),
      ...cacheOperations(cache.ports),
    },
    ...cache.stages,
    ...buildNodeStages(config, { cluster, route, log, onJoin: emit.join, acquireFetchLock: cache.acquireFetchLock }),
  })
  const handler = audit.stage(pipeline)
  http = await createHttp({
    catalogue,
    handle: handler,
    observe: emit.request,
    ...(traces && { beginTrace: createTraceStarter(config, traces) }),
    serverFactory: listener.serverFactory,
    log,
    writeLine,
    limits: listen.limits,
    prefixes: config.cluster,
    get experimental() {
      return config.cluster.experimental
    },
    get compressionMinBytes() {
      return config.cache.compressionMinBytes
    },
    get corsOrigins() {
      return listen.cors.origins
    },
    clientAddress: addressOf,
    managerVersion: () => cluster.view.nodes().find(({ version }) => version !== undefined)?.version,
    authentication: async (instance) => {
      const authenticator = await createAuthenticator(instance, access, shared?.count)
      issueToken = tokenIssuer(instance, access)
      return authenticator
    },
  })
  const { forgetUrls } = http
  settings.onReload(async (next) => {
    const apply = await listener.prepareReload(next.listen)
    return () => {
      apply()
      forgetUrls()
    }
  })
  return { listener, app: http.app, handler, cache: cache.ports, storeState: cache.state, closeCache: cache.close }
}

interface NodeStageParts {
  readonly cluster: Cluster
  readonly route: Router
  readonly log: Logger
  readonly onJoin: NonNullable<JoinCollectionsPorts['onJoin']>
  /** Shared by replicas if there is Redis. Absent: write locks hold in this process only. */
  readonly acquireFetchLock: CacheStore['acquireFetchLock'] | undefined
}

/** Builds the stages that call nodes, for the mode in `cluster.distribution`. */
function buildNodeStages(
  config: Config,
  { cluster, route, log, onJoin, acquireFetchLock }: NodeStageParts,
): Pick<PipelineParts, 'forward' | 'writeLock' | 'multiNode'> {
  const { view, call } = cluster
  const { distribution, limits } = config.cluster
  const isDistributing = createDistributionCheck({
    call,
    view,
    log: (level, message, fields) => log[level](fields, message),
  })
  return {
    forward: forward(withSettings(limits, { call, view, route, onResponse: cluster.nodeList.observe })),
    writeLock: writeLockStage({
      locks: createWriteLocks(acquireFetchLock),
      master: () => view.master().name,
      timeoutOf: ({ endpoint }) => (endpoint.slow === true ? limits.slowTimeout : limits.timeout),
    }),
    multiNode: (read, forwardOne) => {
      const owners = createAgentOwners({
        read,
        view,
        endpoints: { agents: findEndpoint('GET', '/agents'), members: findEndpoint('GET', '/agents/groups/:group_id') },
        get ttl() {
          return config.cache.ttl.agents ?? config.cache.defaultTtl
        },
        get staleIfError() {
          return config.cache.staleIfError
        },
      })
      const endpoints = {
        restart: findEndpoint('POST', '/agents/restart'),
        validation: findEndpoint('GET', '/cluster/:node_id/configuration/validation'),
      }
      const common = { read, view, owners, isDistributing }
      const collections = joinCollections(withSettings(limits, { ...common, distribution, catalogue, onJoin }))
      const parts = { ...common, forward: forwardOne, endpoints }
      if (distribution === 'manager') return { joinCollections: collections, joinResults: joinValidations(parts) }
      return { forwardToOwner: forwardToOwner(parts), joinCollections: collections, joinResults: joinResults(parts) }
    },
  }
}

function findEndpoint(method: Endpoint['method'], path: string): Endpoint {
  const found = catalogue.find((endpoint) => endpoint.method === method && endpoint.path === path)
  if (found === undefined) throw new Error(`the catalogue has no ${method} ${path}`)
  return found
}
