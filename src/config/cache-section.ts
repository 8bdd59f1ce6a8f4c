/** The settings of the cache. Groups are the words of `/cache/:group`; a test holds them equal to the catalogue's. */
import Type from 'typebox'
import { amount, delay, duration, flag, group, list, oneOf, path, row, size, text } from './words.ts'

/** How long answers of each group are fresh, where nothing else is written. */
const freshness = {
  agents: '5s',
  summary: '5s',
  manager: '1s',
  cluster: '1s',
  rules: '60s',
  decoders: '60s',
  lists: '60s',
  syscheck: '5s',
  rootcheck: '5s',
  sca: '5s',
  syscollector: '5s',
  ciscat: '5s',
} as const

/** Of a pace that nobody set: `defaultDuration`. */
const others = ['validation'] as const

type Group = keyof typeof freshness | (typeof others)[number]
export const cacheGroups: readonly Group[] = [...(Object.keys(freshness) as (keyof typeof freshness)[]), ...others]

/** Facts that change with an upgrade or by the hour, in groups whose other answers change each second. */
const slowEndpoints = {
  '/version': '10s',
  '/manager/info': '10s',
  '/manager/stats/hourly': '10s',
  '/manager/stats/weekly': '10s',
  '/cluster/:node_id/info': '10s',
  '/cluster/:node_id/stats/hourly': '10s',
  '/cluster/:node_id/stats/weekly': '10s',
}

/** Scans take the manager seconds to answer, and are ten seconds old at most either way. */
const scans = { syscheck: '5s', rootcheck: '5s', sca: '5s', syscollector: '5s', ciscat: '5s' }

const anyDelay = Type.Unsafe<number>({ type: 'string', format: 'delay' })
const durations = Object.fromEntries(Object.entries(freshness).map(([name, value]) => [name, delay(value)])) as Record<
  keyof typeof freshness,
  ReturnType<typeof delay>
>
const delays = <Name extends string>(pattern: string, value: object) =>
  Type.Unsafe<Partial<Record<Name, number>>>({
    type: 'object',
    patternProperties: { [pattern]: anyDelay },
    additionalProperties: false,
    default: value,
  })

const address = row({ host: text({ format: 'host' }), port: Type.Integer({ minimum: 1, maximum: 65_535 }) })

export const cache = group({
  enabled: flag(true),
  redis: group({
    url: Type.Optional(text({ format: 'redisUrl' })),
    sentinels: list(address),
    name: Type.Optional(text()),
    cluster: list(address),
    username: Type.Optional(text()),
    password: Type.Optional(text({ secret: true })),
    passwordFile: Type.Optional(path()),
    tls: group({ ca: Type.Optional(path()), required: flag(true) }),
    timeout: duration('50ms'),
  }),
  onLostStore: oneOf(['delay', 'refuse']),
  nearBytes: size('64MiB'),
  defaultDuration: delay('750ms'),
  durations: group({ ...durations, validation: Type.Optional(anyDelay) }),
  endpoints: delays<`/${string}`>('^/[^\\x00-\\x20]{0,255}$', slowEndpoints),
  staleWhileRevalidate: delays<Group>(`^(?:${cacheGroups.join('|')})$`, scans),
  staleIfError: delay('60s'),
  encryptionKeyFile: Type.Optional(path()),
  syncPeriods: delay('18s'),
  compressFrom: size('1KiB'),
  verify: group({ share: amount(0.001, 1), perSecond: amount(0.2, 1000) }),
})
