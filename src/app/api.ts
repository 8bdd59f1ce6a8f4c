/** Builds the pipeline, and the ports for clients in front of it. */
import { createTokenOperations } from '../access/index.ts'
import type { Audit } from '../audit/index.ts'
import type { AcceptedTokens } from '../cache/accepted-tokens.ts'
import type { CoherenceCheck } from '../cache/coherence-check.ts'
import { type CacheOperationsPorts, cacheOperations } from '../cache/operations.ts'
import { type ShareReads, shareReads } from '../cache/shared-reads.ts'
import { refuseWritesInTrial } from '../cache/trial.ts'
import type { ReloadableConfig } from '../config/reloadable.ts'
import type { CacheStoreState } from '../core/cache-index.ts'
import { nameOf } from '../core/endpoint-names.ts'
import type { EdgeRead, Handler } from '../core/request.ts'
import { buildPipeline } from '../pipeline.ts'
import type { OnStoreEvent } from '../redis/options.ts'
import type { RedisReplica } from '../redis/replica.ts'
import { createKinds } from '../upstream/kinds/index.ts'
import { type ApiDescription, createApiDescription } from './api-description.ts'
import { buildCache } from './cache.ts'
import { buildFronts, type Front, type FrontParts, type Fronts, servesNewerContract } from './fronts.ts'
import { issueManagerToken } from './manager-tokens.ts'
import { buildNodeStages } from './node-stages.ts'

export interface ApiParts extends Omit<FrontParts, 'kindOf' | 'handler' | 'acceptedTokens'> {
  /** Absent: replicas share nothing. */
  readonly replica: RedisReplica | undefined
  /** Absent: stored responses are not encrypted. */
  readonly encryptionKey: Buffer | undefined
  readonly onStoreEvent: OnStoreEvent
  readonly audit: Audit
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
  readonly acceptedTokens: AcceptedTokens | undefined
  /** Returns the milliseconds after which tokens of the manager's users are checked again. Absent: there are none. */
  readonly recheckInterval?: () => number
  /** Absent: replicas share no stored responses. */
  readonly coherence: CoherenceCheck | undefined
  closeCache(): Promise<void>
}

/** Rejects with an `Error` for the operator if the certificate or a setting cannot be used. */
export async function buildApi(settings: ReloadableConfig, parts: ApiParts): Promise<Api> {
  const { initial, current } = settings
  const { access, cluster, log, replica, encryptionKey, onStoreEvent, emit, audit } = parts
  // The pipeline needs tokens and URLs of the HTTP applications, which need the pipeline.
  let fronts: Fronts | undefined
  const ofFronts = (): Fronts => {
    if (fronts === undefined) throw new Error('the HTTP applications are not created yet')
    return fronts
  }
  const kindOf = createKinds(initial.cluster.distribution)
  const cache = await buildCache(settings, {
    cluster,
    kindOf,
    replica,
    encryptionKey,
    onStoreEvent,
    emit,
    resolveUrl: async (url, caller) => ofFronts().resolveUrl(url, caller),
  })
  const description = createApiDescription(settings)
  // Only users of the edge share an account, and so the responses to it.
  const sharesReads = initial.listen.secondPort !== undefined && initial.cluster.credentials.mode === 'service'
  const resolveTarget = sharesReads ? cache.ports.explained?.resolveTarget : undefined
  const share =
    resolveTarget &&
    ((read: Handler<EdgeRead>): ShareReads =>
      shareReads({
        read,
        call: cluster.call,
        resolveTarget,
        resolveUrl: (url, caller) => ofFronts().resolveUrl(nameOf({ contract: 'newer', path: url }), caller),
        master: () => cluster.view.master().name,
      }))
  const pipeline = buildPipeline({
    operations: {
      ...createTokenOperations({
        issue: (request) =>
          request.caller.credentials === undefined
            ? ofFronts().issueToken(request.caller.name)
            : issueManagerToken(request, {
                cluster,
                accepted: cache.acceptedTokens,
                timeout: current().cluster.limits.timeout,
              }),
        revoke: (caller) => access.revokeTokens(caller),
      }),
      ...cacheOperations(cache.ports),
      describeApi: description.classic.handler,
      describeNewerApi: description.newer.handler,
    },
    ...cache.stages,
    ...buildNodeStages(settings, {
      cluster,
      kindOf,
      log,
      onJoin: emit.join,
      acquireFetchLock: cache.acquireFetchLock,
      share,
    }),
    ...(initial.cache.trial && { refuseWrites: refuseWritesInTrial }),
  })
  const handler = audit.stage(pipeline)
  const { acceptedTokens, recheckPace, coherence } = cache
  fronts = await buildFronts(settings, { ...parts, kindOf, handler, acceptedTokens })
  const { ports, state: storeState, close: closeCache } = cache
  const usesManagerTokens = initial.cluster.credentials.mode === 'passthrough' && servesNewerContract(initial.listen)
  return {
    fronts: fronts.all,
    handler,
    cache: ports,
    description,
    storeState,
    acceptedTokens,
    coherence,
    ...(usesManagerTokens && recheckPace && { recheckInterval: () => recheckPace.interval() }),
    closeCache,
  }
}
