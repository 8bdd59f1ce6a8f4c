/** What a Prometheus may scrape of this edge. */
import type { Audit } from '../audit/index.ts'
import { storeEvents } from '../cache/stores/redis/index.ts'
import { catalogue } from '../catalogue/index.ts'
import { groupOf } from '../http/observe.ts'
import { createMetrics, type Metrics } from '../telemetry/metrics/index.ts'
import type { Observation } from '../telemetry/observation.ts'
import type { Cluster } from '../upstream/index.ts'
import type { Front } from './front.ts'
import { version } from './package.ts'
import type { Traces } from './traces.ts'

export interface MetricsParts {
  readonly observation: Observation
  readonly cluster: Cluster
  readonly front: Pick<Front, 'kept' | 'state'>
  readonly audit: Pick<Audit, 'state'>
  readonly traces: Pick<Traces, 'figures'> | undefined
  ready(): { readonly ok: boolean }
}

export function buildMetrics({ observation, cluster, front, audit, traces, ready }: MetricsParts): Metrics {
  const { kept, state } = front
  const groups = new Set(catalogue.map(groupOf))
  groups.delete('none')
  return createMetrics({
    observation,
    version,
    groups: [...groups].sort(),
    storeEvents,
    redis: kept.sharedThroughRedis,
    ...(state && { store: state }),
    audit: audit.state,
    ...(traces && { spans: traces.figures }),
    ready: () => ready().ok,
    nodes: () =>
      cluster.status().map(({ name, type, inFlight, limit, queue, ejectedUntil }) => ({
        name,
        type,
        inFlight,
        limit,
        queue,
        available: cluster.view.isAvailable(name),
        ejected: ejectedUntil !== undefined,
      })),
  })
}
