/** Connects the advice of the console with the settings and the model of the cache. */
import { isDeepStrictEqual } from 'node:util'
import { type ConsoleAdvice, createAdvice } from '../admin/console/advice.ts'
import type { CallerCounts } from '../admin/console/caller-counts.ts'
import type { Divergence } from '../admin/console/divergence-estimate.ts'
import { ttlOf } from '../cache/lifetimes.ts'
import { policyByName } from '../cache/purge.ts'
import { createReplay } from '../cache/replay.ts'
import type { ReloadableConfig } from '../config/reloadable.ts'
import type { Config } from '../config/schema.ts'
import { TriableSettings } from '../config/triable-settings.ts'
import type { EdgeEvents } from '../telemetry/events.ts'
import { readLifetimes } from './cache.ts'

export interface AdviceParts {
  readonly events: EdgeEvents
  readonly callers: CallerCounts
  readonly divergence: () => readonly Divergence[]
  readonly hasRedis: boolean
}

export function buildAdvice(
  settings: ReloadableConfig,
  { events, callers, divergence, hasRedis }: AdviceParts,
): ConsoleAdvice {
  const { current } = settings
  const lifetimesOf = readLifetimes(settings)
  const groupOf = (route: string) => policyByName.get(route)?.group
  const triable = () => new TriableSettings(current(), { groupOf, ttlOf })
  const advice = createAdvice({
    requests: events.requests,
    callers,
    settings: () => triable().present(),
    divergence,
    replay: createReplay({
      policyOf: (route) => policyByName.get(route),
      staleOf: ({ group, name }) => lifetimesOf(group, name),
      hasRedis,
    }),
    parse: (texts) => triable().parse(texts),
    changeOf: (setting, ttl) => triable().changeOfTtl(setting, ttl),
    format: (changes) => triable().format(changes),
  })
  settings.onReload((next) => {
    const before = current()
    return () => {
      if (!isDeepStrictEqual(lifetimesIn(next), lifetimesIn(before))) advice.clear()
    }
  })
  events.on(advice.listeners)
  return advice
}

function lifetimesIn({ cache: { ttl, endpoints, defaultTtl } }: Config): unknown {
  return [ttl, endpoints, defaultTtl]
}
