/** The ways to the nodes, as `cluster.distribution` says. */

import { createTurns, inTurn } from '../cache/in-turn.ts'
import type { CacheStore } from '../cache/stores/contract.ts'
import type { Endpoint } from '../catalogue/endpoint.ts'
import { catalogue } from '../catalogue/index.ts'
import type { Config } from '../config/index.ts'
import { ofOwner } from '../join/of-owner.ts'
import { createOwners } from '../join/owners.ts'
import { type JoinPorts, joinReads } from '../join/reads.ts'
import { joinActs, joinVerdict } from '../join/writes.ts'
import type { PipelineParts } from '../pipeline.ts'
import { forward } from '../upstream/forward.ts'
import type { Cluster } from '../upstream/index.ts'
import type { Router } from '../upstream/route.ts'

export interface RoadParts {
  readonly cluster: Cluster
  readonly route: Router
  /** Of the store that replicas share. */
  readonly claim?: CacheStore['acquireFetchLock']
  readonly composed?: JoinPorts['composed']
}

export function roads(
  config: Config,
  { cluster, route, claim, composed }: RoadParts,
): Pick<PipelineParts, 'forward' | 'inTurn' | 'over'> {
  const { view, call } = cluster
  const { distribution, limits } = config.cluster
  return {
    forward: forward({ call, view, route, ...limits }),
    inTurn: inTurn({
      turns: createTurns(claim),
      master: () => view.master().name,
      patience: ({ endpoint }) => (endpoint.slow === true ? limits.slowTimeout : limits.timeout),
    }),
    over: (read, one) => {
      const owners = createOwners({
        read,
        view,
        records: { agents: record('GET', '/agents'), members: record('GET', '/agents/groups/:group_id') },
        fresh: config.cache.durations.agents ?? config.cache.defaultDuration,
        staleIfError: config.cache.staleIfError,
      })
      const records = {
        restart: record('POST', '/agents/restart'),
        validation: record('GET', '/cluster/:node_id/configuration/validation'),
      }
      const reads = joinReads({ read, view, owners, distribution, catalogue, ...limits, ...(composed && { composed }) })
      const parts = { read, forward: one, view, owners, records }
      if (distribution === 'manager') return { joinReads: reads, joinActs: joinVerdict(parts) }
      return { askOwner: ofOwner(parts), joinReads: reads, joinActs: joinActs(parts) }
    },
  }
}

function record(method: Endpoint['method'], path: string): Endpoint {
  const found = catalogue.find((endpoint) => endpoint.method === method && endpoint.path === path)
  if (found === undefined) throw new Error(`the catalogue has no ${method} ${path}`)
  return found
}
