/** Builds the stages of the pipeline that call the nodes. */
import type { ShareReads } from '../cache/shared-reads.ts'
import type { AcquireWriteLock } from '../cache/stores/contract.ts'
import { createWriteLocks, writeLockStage } from '../cache/write-locks.ts'
import type { Config } from '../config/schema.ts'
import type { ReadEndpoint, WriteEndpoint } from '../contracts/endpoint.ts'
import { catalogue } from '../contracts/index.ts'
import type { EdgeRead, Handler } from '../core/request.ts'
import { timeLimitOf } from '../core/timing.ts'
import { traced } from '../core/traced.ts'
import { createAgentOwners, cutPages, forwardToOwner } from '../join/agent-owners.ts'
import { joinCollections } from '../join/join-collections.ts'
import { joinValidations, joinVerdicts, joinWrites } from '../join/join-results.ts'
import { readFromOwners } from '../join/read-from-owners.ts'
import { readThroughMaster } from '../join/read-through-master.ts'
import type { MultiNodeHandlers, PipelineParts } from '../pipeline.ts'
import { createDistributionCheck } from '../upstream/distribution.ts'
import { forward } from '../upstream/forward.ts'
import type { Cluster } from '../upstream/index.ts'
import { type ClusterKind, type KindOf, refuseWritesInMixture } from '../upstream/kinds.ts'
import type { Base } from './base.ts'
import { toLog } from './log.ts'

interface NodeStageParts {
  readonly cluster: Cluster
  readonly kindOf: KindOf
  /** Shared by replicas if there is Redis. Absent: write locks hold in this process only. */
  readonly acquireWriteLock: AcquireWriteLock | undefined
  /** Absent: calls share no responses. */
  readonly share: ((read: Handler<EdgeRead>) => ShareReads) | undefined
}

export function buildNodeStages(
  base: Pick<Base, 'settings' | 'log' | 'events'>,
  { cluster, kindOf, acquireWriteLock, share }: NodeStageParts,
): Pick<PipelineParts, 'forward' | 'refuseWrites' | 'writeLock' | 'multiNode'> {
  const { initial, derive } = base.settings
  const { view, call, nodeList } = cluster
  const limits = derive((config) => config.cluster.limits)
  const onNodeList = nodeList.observe.bind(nodeList)
  const isDistributing = createDistributionCheck({ call, view, log: toLog(base.log) })
  return {
    forward: (read) => {
      const { guards } = initial.cluster
      return forward({ call, view, kindOf, limits, guards, onNodeList, ...(share && { share: share(read) }) })
    },
    refuseWrites: refuseWritesInMixture(view),
    writeLock: writeLockStage({
      locks: createWriteLocks(acquireWriteLock),
      master: () => view.master().name,
      timeoutOf: (request) => timeLimitOf(request, limits()),
    }),
    multiNode: (read, forwardOne) => {
      const handlers = createMultiNodeHandlers(base, { read, view, forwardOne, isDistributing, limits })
      return {
        forwardToOwner: (request) => handlers[kindOf(view).name].forwardToOwner(request),
        joinCollections: (request) => handlers[kindOf(view).name].joinCollections(request),
        joinVerdicts: (request) => handlers[kindOf(view).name].joinVerdicts(request),
        joinWrites: (request) => handlers[kindOf(view).name].joinWrites(request),
      }
    },
  }
}

interface MultiNodeParts {
  readonly read: Handler<EdgeRead>
  readonly forwardOne: Handler
  readonly view: Cluster['view']
  readonly isDistributing: ReturnType<typeof createDistributionCheck>
  readonly limits: () => Config['cluster']['limits']
}

/** Returns how each kind of cluster answers requests to several nodes. */
function createMultiNodeHandlers(
  { settings: { derive }, events }: Pick<Base, 'settings' | 'events'>,
  { read, view, forwardOne, isDistributing, limits }: MultiNodeParts,
): Readonly<Record<ClusterKind['name'], MultiNodeHandlers>> {
  const owners = createAgentOwners({
    read,
    view,
    endpoints: { agents: findRead('/agents'), members: findRead('/agents/groups/:group_id') },
    lifetimes: derive(({ cache: { ttl, defaultTtl, staleIfError, outage } }) => ({
      ttl: ttl.agents ?? defaultTtl,
      staleIfError: Math.max(staleIfError, outage.agents ?? 0),
    })),
  })
  const endpoints = {
    restart: restartOfAgents(),
    validation: findRead('/cluster/:node_id/configuration/validation'),
  }
  const common = { read, view, owners, isDistributing }
  const parts = { ...common, forward: forwardOne, endpoints }
  const joinsPorts = { ...common, limits, catalogue, onJoin: events.emit.join }
  const joinedThroughMaster = joinCollections(joinsPorts, readThroughMaster)
  return {
    manager: {
      forwardToOwner: cutPages(forwardOne),
      joinCollections: joinedThroughMaster,
      joinVerdicts: joinValidations(parts),
      joinWrites: forwardOne,
    },
    edge: {
      forwardToOwner: cutPages(traced('owner', forwardToOwner(parts))),
      joinCollections: joinCollections(joinsPorts, readFromOwners),
      joinVerdicts: joinVerdicts(parts),
      joinWrites: joinWrites(parts),
    },
    // The master distributes requests, validates all nodes at once, and returns the rows of all agents.
    v4: {
      forwardToOwner: forwardOne,
      joinCollections: (request) =>
        request.endpoint.target.kind === 'everyNode' ? forwardOne(request) : joinedThroughMaster(request),
      joinVerdicts: forwardOne,
      joinWrites: forwardOne,
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
