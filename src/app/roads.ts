/** The ways to the nodes, as `cluster.distribution` says. */
import type { Endpoint } from '../catalogue/endpoint.ts'
import { catalogue } from '../catalogue/index.ts'
import type { Cluster } from '../cluster/index.ts'
import type { Config } from '../config.ts'
import type { Parts } from '../pipeline/build.ts'
import { forward } from '../pipeline/forward.ts'
import { ofOwner } from '../pipeline/of-owner.ts'
import { createOwners } from '../pipeline/owners.ts'
import type { Router } from '../pipeline/route.ts'

export interface RoadParts {
  readonly cluster: Cluster
  readonly route: Router
}

export function roads(config: Config, { cluster, route }: RoadParts): Pick<Parts, 'forward' | 'over'> {
  const { view, call } = cluster
  const { distribution, limits } = config.cluster
  const one = forward({ call, view, route, ...limits })
  return {
    forward: one,
    over: (read) => {
      const owners = createOwners({
        read,
        view,
        records: { agents: record('GET', '/agents'), members: record('GET', '/agents/groups/:group_id') },
        fresh: config.cache.durations.agents ?? config.cache.defaultDuration,
        staleIfError: config.cache.staleIfError,
      })
      // The seam of joined reads: `joinReads: joinReads({ read, forward: one, owners, view, distribution, … })`.
      return distribution === 'manager' ? {} : { ofOwner: ofOwner({ owners, forward: one }) }
    },
  }
}

function record(method: Endpoint['method'], path: string): Endpoint {
  const found = catalogue.find((endpoint) => endpoint.method === method && endpoint.path === path)
  if (found === undefined) throw new Error(`the catalogue has no ${method} ${path}`)
  return found
}
