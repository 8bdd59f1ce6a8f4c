/** `/metrics`: what a Prometheus scrapes. No label takes a value that a client chooses. */
import { collectDefaultMetrics, Registry } from '@prometheus-io/client'
import type { OperationsPart } from '../../admin/listener.ts'
import type { Observation } from '../emitter.ts'
import { cacheMetrics, storeMetrics } from './cache.ts'
import { callMetrics } from './calls.ts'
import { requestMetrics } from './requests.ts'
import { type StatePorts, stateMetrics } from './state.ts'

export type { NodeFigures, StatePorts } from './state.ts'

export interface MetricsOptions extends StatePorts {
  readonly observation: Pick<Observation, 'listen'>
  /** The names of the cache's groups. */
  readonly groups: readonly string[]
  /** The words of the store's events. */
  readonly storeEvents: readonly string[]
}

export interface Metrics {
  readonly contentType: string
  text(): Promise<string>
  close(): void
}

/** Of requests that no group keeps. */
const NO_GROUP = 'none'
/** Milliseconds: delays of the event loop below that are not of interest. */
const PRECISION = 20

export function createMetrics(options: MetricsOptions): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: PRECISION })
  stateMetrics(registry, options)
  const end = options.observation.listen({
    request: requestMetrics(registry, [...options.groups, NO_GROUP]),
    nodeCall: callMetrics(registry),
    ...cacheMetrics(registry, options.groups),
    ...(options.redis && storeMetrics(registry, options.storeEvents)),
  })
  return {
    contentType: registry.contentType,
    text: () => registry.metrics(),
    close: () => {
      end()
      registry.clear()
    },
  }
}

export function metricsPart({ contentType, text }: Omit<Metrics, 'close'>): OperationsPart {
  return (app) => {
    app.get('/metrics', async (_request, reply) => reply.type(contentType).send(await text()))
  }
}
