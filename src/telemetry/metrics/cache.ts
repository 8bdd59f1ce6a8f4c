/** What happens to kept answers, and the steps of the store that all replicas share. */
import { Counter, Histogram, type Registry } from '@prometheus-io/client'
import type { CacheEvent, EventListeners, InvalidationCause } from '../../core/events.ts'

const STEPS = [0.0002, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 1]
const CAUSES: readonly InvalidationCause[] = ['write', 'unknown', 'purgeAll', 'purgeGroup', 'purgeKey', 'softPurge']
const FILLS = ['kept', 'unkept', 'failed'] as const
const COMPARED = ['same', 'different', 'void'] as const

export function cacheMetrics(registry: Registry, groups: readonly string[]): Required<Pick<EventListeners, 'cache'>> {
  const registers = [registry]
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
    new Counter<Label>({ name, help, labelNames, registers })
  const fills = counter('edge_cache_fills_total', 'Calls for what may be kept.', ['group', 'outcome'])
  const time = counter('edge_cache_fill_seconds_total', 'Time of nodes that fills took.', ['group'])
  const joined = counter('edge_cache_joined_total', 'Requests that waited for the call of another.', ['group'])
  const stale = counter('edge_cache_invalidations_total', 'Writes and purges that made kept answers stale.', ['cause'])
  const tags = counter('edge_cache_invalidated_tags_total', 'Tags that they named.', ['cause'])
  const verified = counter(
    'edge_cache_verified_total',
    'Hits that were also asked of the nodes; void: a write or a failure came between.',
    ['group', 'outcome'],
  )
  for (const group of groups) {
    for (const outcome of FILLS) fills.inc({ group, outcome }, 0)
    for (const outcome of COMPARED) verified.inc({ group, outcome }, 0)
    time.inc({ group }, 0)
    joined.inc({ group }, 0)
  }
  for (const cause of CAUSES) {
    stale.inc({ cause }, 0)
    tags.inc({ cause }, 0)
  }
  return {
    cache: (event: CacheEvent) => {
      switch (event.kind) {
        case 'fill':
          fills.inc({ group: event.group, outcome: event.outcome })
          time.inc({ group: event.group }, event.ms / 1000)
          return
        case 'joined':
          return joined.inc({ group: event.group })
        case 'stale':
          stale.inc({ cause: event.cause })
          tags.inc({ cause: event.cause }, event.tags)
          return
        case 'verified':
          return verified.inc({ group: event.group, outcome: event.outcome })
      }
    },
  }
}

/** `events`: all words that the store has. */
export function storeMetrics(
  registry: Registry,
  events: readonly string[],
): Required<Pick<EventListeners, 'redisStep' | 'storeEvent'>> {
  const registers = [registry]
  const steps = new Histogram({
    name: 'edge_redis_step_duration_seconds',
    help: 'Steps over Redis; late: given up after cache.redis.timeout, away: there was no connection.',
    labelNames: ['outcome'],
    buckets: STEPS,
    registers,
  })
  const heard = new Counter({
    name: 'edge_redis_events_total',
    help: 'What the store over Redis said of itself (lost, returned, forgot, …).',
    labelNames: ['event'],
    registers,
  })
  for (const event of events) heard.inc({ event }, 0)
  for (const outcome of ['done', 'failed', 'late', 'away']) steps.zero({ outcome })
  const known = new Set(events)
  return {
    redisStep: ({ outcome, ms }) => steps.observe({ outcome }, ms / 1000),
    storeEvent: (event) => heard.inc({ event: known.has(event) ? event : 'other' }),
  }
}
