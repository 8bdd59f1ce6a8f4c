/** Connects the advice of the console with the settings and the model of the cache. */
import { isDeepStrictEqual } from 'node:util'
import { Document, Scalar } from 'yaml'
import { type AdviceSettings, type ConsoleAdvice, createAdvice, type TriedSettings } from '../admin/console/advice.ts'
import type { SettingChange } from '../admin/console/advice-types.ts'
import type { Divergence } from '../admin/console/divergence-estimate.ts'
import { policyByName } from '../cache/purge.ts'
import { createReplay } from '../cache/replay.ts'
import { formats } from '../config/formats.ts'
import type { ReloadableConfig } from '../config/reloadable.ts'
import { type Config, schema } from '../config/schema.ts'
import { getIn, schemaAt, setIn } from '../config/tree.ts'
import { EdgeError } from '../core/errors.ts'
import type { EdgeEvents } from '../telemetry/events.ts'
import { readLifetimes, ttlOf } from './cache.ts'

export interface AdviceParts {
  readonly events: EdgeEvents
  readonly divergence: () => readonly Divergence[]
  readonly hasRedis: boolean
}

export function buildAdvice(settings: ReloadableConfig, { events, divergence, hasRedis }: AdviceParts): ConsoleAdvice {
  const { current } = settings
  const lifetimesOf = readLifetimes(settings)
  const advice = createAdvice({
    requests: events.requests,
    settings: () => adviceSettings(current()),
    divergence,
    replay: createReplay({
      policyOf: (route) => policyByName.get(route),
      staleOf: ({ group, name }) => lifetimesOf(group, name),
      hasRedis,
    }),
    parse: (texts) => parseTried(current(), texts),
    changeOf: (setting, ttl) => changeOf(current(), setting, durationText(ttl)),
    format: (changes) => formatChanges(current(), changes),
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

const ENDPOINTS = 'cache.endpoints.'

function adviceSettings({ cache, access }: Config): AdviceSettings {
  return {
    ttlOf: (group, route) => ttlOf(cache, group, route),
    settingOf: (group, route) => (Object.hasOwn(cache.endpoints, route) ? ENDPOINTS + route : `cache.ttl.${group}`),
    localBytes: cache.localBytes,
    requestsPerSecond: access.limits.requestsPerSecond,
  }
}

/** Names of endpoints contain dots and colons. */
function pathOf(name: string): readonly string[] {
  return name.startsWith(ENDPOINTS) ? ['cache', 'endpoints', name.slice(ENDPOINTS.length)] : name.split('.')
}

const TRIED =
  /^(cache\.ttl\.[a-z]+|cache\.endpoints\.(?:newer:)?\/[^=]*|cache\.localBytes|access\.limits\.requestsPerSecond)=(.+)$/

/** Throws 604 with what can be tried. */
function parseTried(config: Config, texts: readonly string[]): TriedSettings {
  const ttls = new Map<string, number>()
  const numbers: { localBytes?: number; requestsPerSecond?: number } = {}
  const changes = texts.map((text) => {
    const [, setting = '', to = ''] = TRIED.exec(text) ?? []
    const value = parseValue(setting, to)
    if (setting === 'cache.localBytes') numbers.localBytes = value
    else if (setting === 'access.limits.requestsPerSecond') numbers.requestsPerSecond = value
    else ttls.set(setting, value)
    // A number has other forms, such as 1e3, that the configuration would not read as this number.
    return changeOf(config, setting, setting.startsWith('access.') ? String(value) : to)
  })
  return { ttls, ...numbers, changes }
}

function changeOf(config: Config, setting: string, to: string): SettingChange {
  return { setting, from: textOf(setting, presentOf(config, setting)), to }
}

/** An endpoint without a lifetime of its own has that of its group, and a group without one the default. */
function presentOf(config: Config, setting: string): number {
  const present = getIn(config, pathOf(setting))
  if (typeof present === 'number') return present
  const group = policyByName.get(setting.slice(ENDPOINTS.length))?.group ?? setting.slice('cache.ttl.'.length)
  return ttlOf(config.cache, group, '')
}

function parseValue(setting: string, text: string): number {
  const node = schemaAt(schema, pathOf(setting))
  const isKnown = !setting.startsWith(ENDPOINTS) || policyByName.has(setting.slice(ENDPOINTS.length))
  if (setting === '' || node === undefined || !isKnown)
    throw new EdgeError(
      604,
      '. set must be cache.ttl.GROUP, cache.endpoints.PATH, cache.localBytes or access.limits.requestsPerSecond, each with =VALUE',
    )
  const format = formats[node.format ?? '']
  const value = Number(format?.parse?.(text, '') ?? text)
  const { min = 1, max = Number.MAX_SAFE_INTEGER } = node.bounds ?? {}
  const lowest = node.format === 'delay' ? 0 : min
  if (Number.isInteger(value) && value >= lowest && value <= max) return value
  throw new EdgeError(604, `. ${setting} must be ${format?.description ?? 'a whole number'}, within its bounds`)
}

function textOf(setting: string, value: number): string {
  if (setting === 'cache.localBytes') return sizeText(value)
  return setting.startsWith('access.') ? String(value) : durationText(value)
}

function durationText(ms: number): string {
  return ms % 1000 === 0 ? `${ms / 1000}s` : `${ms}ms`
}

function sizeText(bytes: number): string {
  if (bytes % 1024 ** 2 === 0) return `${bytes / 1024 ** 2}MiB`
  return bytes % 1024 === 0 ? `${bytes / 1024}KiB` : `${bytes}B`
}

/**
 * Returns YAML for the configuration, with the present values as comments. A table of endpoints replaces the one of the
 * defaults, so all of it is written.
 */
function formatChanges(config: Config, changes: readonly SettingChange[]): string {
  if (changes.length === 0) return ''
  const tree: Record<string, unknown> = {}
  if (changes.some(({ setting }) => setting.startsWith(ENDPOINTS)))
    for (const [name, ttl] of Object.entries<number>(config.cache.endpoints as Record<string, number>))
      setIn(tree, ['cache', 'endpoints', name], durationText(ttl))
  for (const { setting, from, to } of changes) {
    const value = new Scalar(/^\d+$/.test(to) ? Number(to) : to)
    value.comment = ` now ${from}`
    setIn(tree, pathOf(setting), value)
  }
  return new Document(tree).toString()
}
