/** Builds the listener for clients and the pipeline behind it. */
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Access } from '../access/access.ts'
import { createTokenOperations } from '../access/index.ts'
import type { Audit } from '../audit/index.ts'
import { type CacheOperationsPorts, cacheOperations } from '../cache/operations.ts'
import { refuseWritesInTrial } from '../cache/trial.ts'
import { catalogue } from '../catalogue/index.ts'
import type { ReloadableConfig } from '../config/reloadable.ts'
import type { CacheStoreState } from '../core/cache-index.ts'
import type { EventListeners } from '../core/events.ts'
import type { Handler } from '../core/request.ts'
import type { RecordStages } from '../core/trace.ts'
import { createAuthenticator, tokenIssuer } from '../http/authenticate.ts'
import { addressOfRequests } from '../http/client-address.ts'
import { createHttp, type Http } from '../http/index.ts'
import { rejectionReporter } from '../http/request-log.ts'
import { createListener, type Listener } from '../listener/listener.ts'
import { buildPipeline } from '../pipeline.ts'
import type { OnStoreEvent } from '../redis/options.ts'
import type { RedisReplica } from '../redis/replica.ts'
import type { Cluster } from '../upstream/index.ts'
import { createKinds } from '../upstream/kinds/index.ts'
import { type ApiDescription, createApiDescription } from './api-description.ts'
import { buildCache } from './cache.ts'
import { buildNodeStages } from './node-stages.ts'
import type { SharedAccess } from './redis.ts'
import { createTraceStarter, type Traces } from './telemetry.ts'

export interface ApiParts {
  readonly access: Access
  readonly cluster: Cluster
  readonly shared: SharedAccess | undefined
  readonly log: Logger
  /** Absent: replicas share nothing. */
  readonly replica: RedisReplica | undefined
  /** Absent: stored responses are not encrypted. */
  readonly encryptionKey: Buffer | undefined
  readonly onStoreEvent: OnStoreEvent
  readonly emit: Required<EventListeners>
  readonly audit: Audit
  readonly traces: Traces | undefined
  readonly recordStages: RecordStages
}

export interface Api {
  readonly listener: Listener
  readonly app: FastifyInstance
  /** The whole pipeline, for requests of the console in the name of a caller. */
  readonly handler: Handler
  readonly cache: CacheOperationsPorts
  readonly description: ApiDescription
  /** Absent: there is no cache store. */
  readonly storeState?: (() => CacheStoreState) | undefined
  closeCache(): Promise<void>
}

/** Rejects with an `Error` for the operator if the certificate or a setting cannot be used. */
export async function buildApi(settings: ReloadableConfig, parts: ApiParts): Promise<Api> {
  const { initial, current } = settings
  const { access, cluster, shared, log, replica, encryptionKey, onStoreEvent, emit, audit } = parts
  const { traces, recordStages } = parts
  const addressOf = addressOfRequests(current)
  const onReject = rejectionReporter(addressOf, emit.request)
  const { listen, cluster: nodes } = initial
  const listener = await createListener({ ...listen, cors: listen.cors.origins.length > 0, log, onReject })
  // The pipeline needs these two, but they come from the HTTP application, which needs the pipeline.
  let issueToken: (name: string) => Promise<string> = async () => ''
  let http: Http | undefined
  const kindOf = createKinds(nodes.distribution)
  const cache = await buildCache(settings, {
    cluster,
    kindOf,
    replica,
    encryptionKey,
    onStoreEvent,
    emit,
    resolveUrl: async (url, caller) => {
      if (http === undefined) throw new Error('the HTTP application is not created yet')
      return http.resolveUrl(url, caller)
    },
  })
  const description = createApiDescription(current)
  const pipeline = buildPipeline({
    operations: {
      ...createTokenOperations({
        issue: (name) => issueToken(name),
        revoke: (caller) => access.revokeTokens(caller),
      }),
      ...cacheOperations(cache.ports),
      describeApi: description.handler,
    },
    ...cache.stages,
    ...buildNodeStages(settings, { cluster, kindOf, log, onJoin: emit.join, acquireFetchLock: cache.acquireFetchLock }),
    ...(initial.cache.trial && { refuseWrites: refuseWritesInTrial }),
  })
  const handler = audit.stage(pipeline)
  http = await createHttp({
    catalogue,
    handle: handler,
    observe: emit.request,
    ...(traces && { beginTrace: createTraceStarter(current, traces) }),
    recordStages,
    server: listener.fastify,
    log,
    settings: current,
    clientAddress: addressOf,
    managerVersion: () => kindOf(cluster.view).clientVersion(cluster.view),
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
  const { ports, state: storeState, close: closeCache } = cache
  return { listener, app: http.app, handler, cache: ports, description, storeState, closeCache }
}
