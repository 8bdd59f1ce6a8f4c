/** Builds the stages of the pipeline that call nodes. */
import type { Logger } from 'pino'
import type { CacheStore } from '../cache/stores/contract.ts'
import { createWriteLocks, writeLockStage } from '../cache/write-lock.ts'
import type { Endpoint } from '../catalogue/endpoint.ts'
import { catalogue } from '../catalogue/index.ts'
import type { ReloadableConfig } from '../config/reloadable.ts'
import type { Handler } from '../core/request.ts'
import { timeLimitOf } from '../core/timing.ts'
import { traced } from '../core/traced.ts'
import { createAgentOwners, forwardToOwner } from '../join/agent-owners.ts'
import { cutPages } from '../join/cut-page.ts'
import { type JoinCollectionsPorts, joinCollections } from '../join/join-collections.ts'
import { joinResults, joinValidations } from '../join/join-results.ts'
import type { PipelineParts } from '../pipeline.ts'
import { layoutOfCluster, refuseWritesInMixture } from '../upstream/cluster-layout.ts'
import { createDistributionCheck } from '../upstream/distribution.ts'
import { forward } from '../upstream/forward.ts'
import type { Cluster } from '../upstream/index.ts'
import type { Router } from '../upstream/route.ts'

interface NodeStageParts {
  readonly cluster: Cluster
  readonly route: Router
  readonly log: Logger
  readonly onJoin: NonNullable<JoinCollectionsPorts['onJoin']>
  /** Shared by replicas if there is Redis. Absent: write locks hold in this process only. */
  readonly acquireFetchLock: CacheStore['acquireFetchLock'] | undefined
}

/** Builds the stages that call nodes, for the mode in `cluster.distribution`. */
export function buildNodeStages(
  { initial, current }: ReloadableConfig,
  { cluster, route, log, onJoin, acquireFetchLock }: NodeStageParts,
): Pick<PipelineParts, 'forward' | 'refuseWrites' | 'writeLock' | 'multiNode'> {
  const { view, call } = cluster
  const { distribution } = initial.cluster
  const limits = () => current().cluster.limits
  const isDistributing = createDistributionCheck({
    call,
    view,
    log: (level, message, fields) => log[level](fields, message),
  })
  return {
    forward: forward({ call, view, route, limits, onResponse: cluster.nodeList.observe }),
    refuseWrites: refuseWritesInMixture(view),
    writeLock: writeLockStage({
      locks: createWriteLocks(acquireFetchLock),
      master: () => view.master().name,
      timeoutOf: (request) => timeLimitOf(request, limits()),
    }),
    multiNode: (read, forwardOne) => {
      const owners = createAgentOwners({
        read,
        view,
        endpoints: { agents: findEndpoint('GET', '/agents'), members: findEndpoint('GET', '/agents/groups/:group_id') },
        lifetimes: () => {
          const { ttl, defaultTtl, staleIfError } = current().cache
          return { ttl: ttl.agents ?? defaultTtl, staleIfError }
        },
      })
      const endpoints = {
        restart: findEndpoint('POST', '/agents/restart'),
        validation: findEndpoint('GET', '/cluster/:node_id/configuration/validation'),
      }
      const common = { read, view, owners, isDistributing }
      // In the newer layout the master distributes requests, whatever the mode is, and it validates all nodes at once.
      const isNewer = () => layoutOfCluster(view) === 'newer'
      const joined = joinCollections({
        ...common,
        distribution: () => (isNewer() ? 'manager' : distribution),
        limits,
        catalogue,
        onJoin,
      })
      // The master of the newer layout returns the rows of all agents; its dialect joins them.
      const collections: Handler = (request) =>
        request.endpoint.target.kind === 'everyNode' && isNewer() ? forwardOne(request) : joined(request)
      const parts = { ...common, forward: forwardOne, endpoints }
      const unlessNewer = (handler: Handler): Handler => {
        return (request) => (isNewer() ? forwardOne(request) : handler(request))
      }
      if (distribution === 'manager') {
        return {
          forwardToOwner: cutPages(forwardOne),
          joinCollections: collections,
          joinResults: unlessNewer(joinValidations(parts)),
        }
      }
      return {
        forwardToOwner: unlessNewer(cutPages(traced('owner', forwardToOwner(parts)))),
        joinCollections: collections,
        joinResults: unlessNewer(joinResults(parts)),
      }
    },
  }
}

function findEndpoint(method: Endpoint['method'], path: string): Endpoint {
  const found = catalogue.find((endpoint) => endpoint.method === method && endpoint.path === path)
  if (found === undefined) throw new Error(`the catalogue has no ${method} ${path}`)
  return found
}
