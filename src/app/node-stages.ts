/** Builds the stages of the pipeline that call nodes. */
import type { Logger } from 'pino'
import type { CacheStore } from '../cache/stores/contract.ts'
import { createWriteLocks, writeLockStage } from '../cache/write-lock.ts'
import type { ReadEndpoint, WriteEndpoint } from '../catalogue/endpoint.ts'
import { catalogue } from '../catalogue/index.ts'
import type { ReloadableConfig } from '../config/reloadable.ts'
import type { EdgeRead, EdgeRequest, Handler } from '../core/request.ts'
import { timeLimitOf } from '../core/timing.ts'
import { traced } from '../core/traced.ts'
import { createAgentOwners, forwardToOwner } from '../join/agent-owners.ts'
import { cutPages } from '../join/cut-page.ts'
import { type JoinCollectionsPorts, joinCollections } from '../join/join-collections.ts'
import { joinValidations, joinVerdicts, joinWrites } from '../join/join-results.ts'
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
        endpoints: { agents: findRead('/agents'), members: findRead('/agents/groups/:group_id') },
        lifetimes: () => {
          const { ttl, defaultTtl, staleIfError } = current().cache
          return { ttl: ttl.agents ?? defaultTtl, staleIfError }
        },
      })
      const endpoints = {
        restart: restartOfAgents(),
        validation: findRead('/cluster/:node_id/configuration/validation'),
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
      const collections: Handler<EdgeRead> = (request) =>
        request.endpoint.target.kind === 'everyNode' && isNewer() ? forwardOne(request) : joined(request)
      const parts = { ...common, forward: forwardOne, endpoints }
      const unlessNewer = <R extends EdgeRequest>(handler: Handler<R>): Handler<R> => {
        return (request) => (isNewer() ? forwardOne(request) : handler(request))
      }
      if (distribution === 'manager') {
        return {
          forwardToOwner: cutPages(forwardOne),
          joinCollections: collections,
          joinVerdicts: unlessNewer(joinValidations(parts)),
          joinWrites: forwardOne,
        }
      }
      return {
        forwardToOwner: unlessNewer(cutPages(traced('owner', forwardToOwner(parts)))),
        joinCollections: collections,
        joinVerdicts: unlessNewer(joinVerdicts(parts)),
        joinWrites: unlessNewer(joinWrites(parts)),
      }
    },
  }
}

function findRead(path: string): ReadEndpoint {
  const found = catalogue.find((endpoint) => endpoint.path === path && endpoint.method === 'GET')
  if (found?.method !== 'GET') throw new Error(`the catalogue has no GET ${path}`)
  return found
}

function restartOfAgents(): WriteEndpoint {
  const found = catalogue.find(({ method, path }) => method === 'POST' && path === '/agents/restart')
  if (found === undefined || found.method === 'GET') throw new Error('the catalogue has no POST /agents/restart')
  return found
}
