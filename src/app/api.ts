/** Builds the listener for clients and the pipeline behind it. */
import type { Logger } from 'pino'
import type { Access } from '../access/access.ts'
import { createTokenOperations } from '../access/index.ts'
import type { Audit } from '../audit/index.ts'
import { type CacheOperationsPorts, cacheOperations } from '../cache/operations.ts'
import { refuseWritesInTrial } from '../cache/trial.ts'
import type { Contract } from '../catalogue/endpoint.ts'
import { catalogue } from '../catalogue/index.ts'
import { newerContract as newerRecords, withManagerUsers } from '../catalogue/newer-contract/index.ts'
import type { ReloadableConfig } from '../config/reloadable.ts'
import type { Config } from '../config/schema.ts'
import type { CacheStoreState } from '../core/cache-index.ts'
import type { EventListeners } from '../core/events.ts'
import type { Handler } from '../core/request.ts'
import type { RecordStages } from '../core/trace.ts'
import { createAuthenticator, tokenIssuer } from '../http/authenticate.ts'
import { classicContract } from '../http/classic.ts'
import { addressOfRequests } from '../http/client-address.ts'
import type { CreateContract } from '../http/contract.ts'
import { createHttp, type Http } from '../http/index.ts'
import { newerContract } from '../http/newer/contract.ts'
import { problemForm } from '../http/newer/problem.ts'
import { rejectionReporter } from '../http/request-log.ts'
import type { ResolveUrl } from '../http/routes.ts'
import { createListener, type Listener } from '../listener/listener.ts'
import { buildPipeline } from '../pipeline.ts'
import type { OnStoreEvent } from '../redis/options.ts'
import type { RedisReplica } from '../redis/replica.ts'
import type { Cluster } from '../upstream/index.ts'
import { createKinds } from '../upstream/kinds/index.ts'
import { type ApiDescription, createApiDescription } from './api-description.ts'
import { buildCache } from './cache.ts'
import { checkTokensAtNode, issueManagerToken } from './manager-tokens.ts'
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
  /** The listeners for clients, with one contract each. The first one is that of `listen.port`. */
  readonly fronts: readonly Front[]
  /** The whole pipeline, for requests of the console in the name of a caller. */
  readonly handler: Handler
  readonly cache: CacheOperationsPorts
  readonly description: ApiDescription
  /** Absent: there is no cache store. */
  readonly storeState?: (() => CacheStoreState) | undefined
  closeCache(): Promise<void>
}

/** A port for clients of one contract. */
export interface Front extends Http {
  readonly listener: Listener
  readonly port: number
}

interface FrontSettings {
  readonly contract: Contract
  readonly port: number
}

function frontsOf({ contract, port, secondPort }: Config['listen']): readonly FrontSettings[] {
  const other = contract === 'classic' ? 'newer' : 'classic'
  return [{ contract, port }, ...(secondPort === undefined ? [] : [{ contract: other, port: secondPort } as const])]
}

/** Rejects with an `Error` for the operator if the certificate or a setting cannot be used. */
export async function buildApi(settings: ReloadableConfig, parts: ApiParts): Promise<Api> {
  const { initial, current } = settings
  const { access, cluster, shared, log, replica, encryptionKey, onStoreEvent, emit, audit } = parts
  const { traces, recordStages } = parts
  const addressOf = addressOfRequests(current)
  const onReject = rejectionReporter(addressOf, emit.request)
  const { listen, cluster: nodes } = initial
  // The pipeline needs these two, but they come from the HTTP applications, which need the pipeline.
  let issueToken: (name: string) => Promise<string> = async () => ''
  let resolveUrl: ResolveUrl | undefined
  const kindOf = createKinds(nodes.distribution)
  const cache = await buildCache(settings, {
    cluster,
    kindOf,
    replica,
    encryptionKey,
    onStoreEvent,
    emit,
    resolveUrl: async (url, caller) => {
      if (resolveUrl === undefined) throw new Error('the HTTP application is not created yet')
      return resolveUrl(url, caller)
    },
  })
  const description = createApiDescription(current)
  const pipeline = buildPipeline({
    operations: {
      ...createTokenOperations({
        issue: ({ name, credentials }) =>
          credentials === undefined
            ? issueToken(name)
            : issueManagerToken(cluster, name, credentials, current().cluster.limits.timeout),
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
  const usesManagerUsers = nodes.credentials.mode === 'passthrough'
  const managerTokens = checkTokensAtNode(access, {
    cluster,
    accepted: cache.acceptedTokens,
    timeout: () => current().cluster.limits.timeout,
  })
  const contracts: Readonly<Record<Contract, CreateContract>> = {
    classic: classicContract(catalogue),
    newer: newerContract({
      catalogue: usesManagerUsers ? withManagerUsers(newerRecords) : newerRecords,
      release: () => cluster.view.versions?.of(cluster.view.master().name),
    }),
  }
  const createFront = async ({ contract, port }: FrontSettings): Promise<Front> => {
    const form = contract === 'newer' && { rejectionForm: problemForm }
    const listener = await createListener({ ...listen, cors: listen.cors.origins.length > 0, log, onReject, ...form })
    const http = await createHttp({
      contract: contracts[contract],
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
        const checks = contract === 'newer' && usesManagerUsers ? managerTokens : access
        const authenticator = await createAuthenticator(instance, checks, shared?.count)
        if (!usesManagerUsers) issueToken = tokenIssuer(instance, access)
        return authenticator
      },
    })
    return { ...http, listener, port }
  }
  const fronts = await Promise.all(frontsOf(listen).map(createFront))
  resolveUrl = fronts[0]?.resolveUrl
  settings.onReload(async (next) => {
    const reloads = await Promise.all(fronts.map(({ listener }) => listener.prepareReload(next.listen)))
    return () => {
      for (const apply of reloads) apply()
      for (const { forgetUrls } of fronts) forgetUrls()
    }
  })
  const { ports, state: storeState, close: closeCache } = cache
  return { fronts, handler, cache: ports, description, storeState, closeCache }
}
