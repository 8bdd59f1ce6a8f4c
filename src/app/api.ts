/** Builds the pipeline: the operations of the edge, the cache, and the calls to nodes. */
import type { Access } from '../access/access.ts'
import { createTokenOperations } from '../access/index.ts'
import { cacheOperations } from '../cache/operations.ts'
import { type ShareReads, shareReads } from '../cache/shared-reads.ts'
import { refuseWritesInTrial } from '../cache/trial.ts'
import type { EdgeRead, EdgeRequest, Handler } from '../core/request.ts'
import { buildPipeline } from '../pipeline.ts'
import type { Cluster } from '../upstream/index.ts'
import type { KindOf } from '../upstream/kinds.ts'
import type { Base } from './base.ts'
import type { BuiltCache } from './cache.ts'
import type { Contracts } from './contracts.ts'
import { issueManagerToken } from './manager-tokens.ts'
import { buildNodeStages } from './node-stages.ts'
import type { Descriptions } from './reference.ts'

interface ApiParts {
  readonly access: Access
  readonly cluster: Cluster
  readonly cache: BuiltCache
  readonly kindOf: KindOf
  readonly findV4Read: Contracts['findV4Read']
  readonly descriptions: Descriptions
}

/** Returns the whole pipeline, for clients and for requests of the console in the name of a caller. */
export function buildApi(
  base: Pick<Base, 'settings' | 'audit' | 'endedTokens' | 'log' | 'events'>,
  { access, cluster, cache, kindOf, findV4Read, descriptions }: ApiParts,
): Handler {
  const { initial, current } = base.settings
  const { acquireWriteLock, acceptedTokens: accepted } = cache
  const issueOfManager = (request: EdgeRequest) =>
    issueManagerToken(request, { cluster, accepted, timeout: current().cluster.limits.timeout })
  // Only users of the edge share an account, and so the responses to it.
  const sharesReads = initial.listen.secondPort !== undefined && initial.cluster.credentials.mode === 'service'
  const resolveTarget = sharesReads ? cache.ports.explained?.resolveTarget : undefined
  const master = () => cluster.view.master().name
  const share =
    resolveTarget &&
    ((read: Handler<EdgeRead>): ShareReads =>
      shareReads({ read, call: cluster.call, resolveTarget, findRead: findV4Read, master }))
  return buildPipeline({
    audit: base.audit.stage,
    operations: {
      ...createTokenOperations({
        issue: (request) =>
          request.caller.credentials === undefined ? access.issueToken(request.caller.name) : issueOfManager(request),
        revoke: (caller) => access.revokeTokens(caller),
      }),
      ...cacheOperations(cache.ports),
      describeApi: descriptions.v3.handler,
      describeV4Api: descriptions.v4.handler,
    },
    ...cache.stages,
    endTokens: base.endedTokens.stage,
    ...buildNodeStages(base, { cluster, kindOf, acquireWriteLock, share }),
    ...(initial.cache.trial && { refuseWrites: refuseWritesInTrial }),
  })
}
