/** The settings that the advice can try without a reload: their texts, their values, and how a changed one is written. */
import { Document, Scalar } from 'yaml'
import { EdgeError } from '../core/errors.ts'
import type { SettingChange } from '../core/settings.ts'
import { formats } from './formats.ts'
import { type Config, schema } from './schema.ts'
import { getIn, schemaAt, setIn } from './tree.ts'

/** Cache groups and lifetimes of endpoints. */
interface EndpointRules {
  /** Returns the cache group of an endpoint; undefined: its responses are not stored. */
  groupOf(route: string): string | undefined
  ttlOf(cache: Config['cache'], group: string, route: string): number
}

const ENDPOINTS = 'cache.endpoints.'
const GROUPS = 'cache.ttl.'
const LOCAL_BYTES = 'cache.localBytes'
const RATE_LIMIT = 'access.limits.requestsPerSecond'
const TRIED =
  /^(cache\.ttl\.[a-z]+|cache\.endpoints\.(?:newer:)?\/[^=]*|cache\.localBytes|access\.limits\.requestsPerSecond)=(.+)$/

export class TriableSettings {
  readonly #config: Config
  readonly #endpoints: EndpointRules

  constructor(config: Config, endpoints: EndpointRules) {
    this.#config = config
    this.#endpoints = endpoints
  }

  /** Returns the values now. */
  present() {
    const { cache, access } = this.#config
    return {
      ttlOf: (group: string, route: string) => this.#endpoints.ttlOf(cache, group, route),
      settingOf: (group: string, route: string) =>
        Object.hasOwn(cache.endpoints, route) ? ENDPOINTS + route : GROUPS + group,
      localBytes: cache.localBytes,
      requestsPerSecond: access.limits.requestsPerSecond,
    }
  }

  /** Parses settings such as `cache.ttl.agents=15s`. Throws 604 with what can be tried. */
  parse(texts: readonly string[]) {
    const ttls = new Map<string, number>()
    const numbers: { localBytes?: number; requestsPerSecond?: number } = {}
    const changes = texts.map((text) => {
      const [, setting = '', to = ''] = TRIED.exec(text) ?? []
      const value = this.#parseValue(setting, to)
      if (setting === LOCAL_BYTES) numbers.localBytes = value
      else if (setting === RATE_LIMIT) numbers.requestsPerSecond = value
      else ttls.set(setting, value)
      // A number has other forms, such as 1e3, that the configuration would not read as this number.
      return this.#changeOf(setting, setting === RATE_LIMIT ? String(value) : to)
    })
    return { ttls, ...numbers, changes }
  }

  /** Returns the change of a lifetime. `ttl`: milliseconds. */
  changeOfTtl(setting: string, ttl: number): SettingChange {
    return this.#changeOf(setting, durationText(ttl))
  }

  /**
   * Returns YAML for the configuration, with the present values as comments. A table of endpoints replaces the one of the
   * defaults, so all of it is written.
   */
  format(changes: readonly SettingChange[]): string {
    if (changes.length === 0) return ''
    const tree: Record<string, unknown> = {}
    if (changes.some(({ setting }) => setting.startsWith(ENDPOINTS)))
      for (const [name, ttl] of Object.entries<number>(this.#config.cache.endpoints as Record<string, number>))
        setIn(tree, ['cache', 'endpoints', name], durationText(ttl))
    for (const { setting, from, to } of changes) {
      const value = new Scalar(/^\d+$/.test(to) ? Number(to) : to)
      value.comment = ` now ${from}`
      setIn(tree, pathOf(setting), value)
    }
    return new Document(tree).toString()
  }

  #changeOf(setting: string, to: string): SettingChange {
    return { setting, from: textOf(setting, this.#presentOf(setting)), to }
  }

  /** An endpoint without a lifetime of its own has that of its group, and a group without one the default. */
  #presentOf(setting: string): number {
    const present = getIn(this.#config, pathOf(setting))
    if (typeof present === 'number') return present
    const group = this.#endpoints.groupOf(setting.slice(ENDPOINTS.length)) ?? setting.slice(GROUPS.length)
    return this.#endpoints.ttlOf(this.#config.cache, group, '')
  }

  #parseValue(setting: string, text: string): number {
    const node = schemaAt(schema, pathOf(setting))
    const isKnown =
      !setting.startsWith(ENDPOINTS) || this.#endpoints.groupOf(setting.slice(ENDPOINTS.length)) !== undefined
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
}

/** Names of endpoints contain dots and colons. */
function pathOf(name: string): readonly string[] {
  return name.startsWith(ENDPOINTS) ? ['cache', 'endpoints', name.slice(ENDPOINTS.length)] : name.split('.')
}

function textOf(setting: string, value: number): string {
  if (setting === LOCAL_BYTES) return sizeText(value)
  return setting === RATE_LIMIT ? String(value) : durationText(value)
}

function durationText(ms: number): string {
  return ms % 1000 === 0 ? `${ms / 1000}s` : `${ms}ms`
}

function sizeText(bytes: number): string {
  if (bytes % 1024 ** 2 === 0) return `${bytes / 1024 ** 2}MiB`
  return bytes % 1024 === 0 ? `${bytes / 1024}KiB` : `${bytes}B`
}
