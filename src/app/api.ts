/** Builds the pipeline, and what the ports for clients in front of it accept. */
import type { Access } from '../access/access.ts'
import { createTokenOperations } from '../access/index.ts'
import { cacheOperations } from '../cache/operations.ts'
import { type ShareReads, shareReads } from '../cache/shared-reads.ts'
import { refuseWritesInTrial } from '../cache/trial.ts'
import type { EdgeRead, Handler } from '../core/request.ts'
import { buildPipeline } from '../pipeline.ts'
import type { Cluster } from '../upstream/index.ts'
import { createKinds } from '../upstream/kinds.ts'
import { issueManagerToken } from './access.ts'
import type { Base } from './base.ts'
import { buildCache } from './cache.ts'
import { buildNodeStages } from './cluster.ts'
import { buildContracts, servesV4Contract } from './fronts.ts'
import { builtFolder } from './process.ts'
import { readDescriptions } from './reference.ts'

interface ApiParts extends Base {
  readonly access: Access
  readonly cluster: Cluster
}

export type Api = Awaited<ReturnType<typeof buildApi>>

/** Rejects with an `Error` for the operator if the certificate or a setting cannot be used. */
export async function buildApi(parts: ApiParts) {
  const { settings, access, cluster, audit } = parts
  const { initial, current } = settings
  const contracts = buildContracts(settings, cluster)
  const kindOf = createKinds(initial.cluster.distribution)
  const cache = await buildCache(parts, kindOf, async (url, caller) => contracts.resolveUrl(url, caller))
  const descriptions = readDescriptions(settings, builtFolder('reference'))
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
        findRead: contracts.findV4Read,
        master: () => cluster.view.master().name,
      }))
  const handler = buildPipeline({
    audit: audit.stage,
    operations: {
      ...createTokenOperations({
        issue: (request) =>
          request.caller.credentials === undefined
            ? access.issueToken(request.caller.name)
            : issueManagerToken(request, {
                cluster,
                accepted: cache.acceptedTokens,
                timeout: current().cluster.limits.timeout,
              }),
        revoke: (caller) => access.revokeTokens(caller),
      }),
      ...cacheOperations(cache.ports),
      describeApi: descriptions.v3.handler,
      describeV4Api: descriptions.v4.handler,
    },
    ...cache.stages,
    endTokens: parts.endedTokens.stage,
    ...buildNodeStages(parts, kindOf, { acquireWriteLock: cache.acquireWriteLock, share }),
    ...(initial.cache.trial && { refuseWrites: refuseWritesInTrial }),
  })
  const { acceptedTokens, callerRights, recheckPace } = cache
  const usesManagerTokens = initial.cluster.credentials.mode === 'passthrough' && servesV4Contract(initial.listen)
  return {
    contracts: contracts.served,
    kindOf,
    callerRights,
    /** The whole pipeline, for requests of the console in the name of a caller. */
    handler,
    cache: cache.ports,
    descriptions,
    /** Absent: there is no cache store. */
    storeState: cache.state,
    acceptedTokens,
    /** Returns the milliseconds after which tokens of the manager's users are checked again. Absent: there are none. */
    recheckInterval: usesManagerTokens && recheckPace ? () => recheckPace.interval() : undefined,
    closeCache: cache.close,
  }
}
