import Type, { type TSchema } from 'typebox'
import { PERMISSION_PATTERN } from '../core/permissions.ts'
import { TOKEN_ALGORITHMS, type TokenAlgorithm } from '../core/token-algorithms.ts'
import type { SchemaNode } from './tree.ts'

/** The words that the schema of the settings is written in. */

/** Written `750ms`, `5s`, `2m` or `1h`; read as milliseconds. */
export const duration = (value: string) => Type.Unsafe<number>({ type: 'string', format: 'duration', default: value })
/** Written `512B`, `16KiB` or `64MiB`; read as bytes. */
export const size = (value: string) => Type.Unsafe<number>({ type: 'string', format: 'size', default: value })
/** A duration that may be nothing. */
export const delay = (value: string) => Type.Unsafe<number>({ type: 'string', format: 'delay', default: value })
export const count = (value: number, maximum = 1_000_000) => Type.Integer({ minimum: 1, maximum, default: value })
/** Any number from 0 on. */
export const amount = (value: number, maximum: number) => Type.Number({ minimum: 0, maximum, default: value })
export const port = (value: number) => Type.Integer({ minimum: 0, maximum: 65_535, default: value })
export const flag = (value: boolean) => Type.Boolean({ default: value })
export const path = () => Type.String({ format: 'path', minLength: 1 })
export const text = (options: { default?: string; format?: string; secret?: true } = {}) =>
  Type.String({ minLength: 1, maxLength: 4096, ...options })
export const list = <T extends TSchema>(items: T, value: string[] = []) =>
  Type.Array(items, { maxItems: 1000, default: value })
export const oneOf = <const T extends string>(values: readonly [T, ...T[]]) =>
  Type.Unsafe<T>({ type: 'string', enum: values, default: values[0] })
/** A closed object. Its default makes the defaults of its members hold when it is not written at all. */
export const group = <T extends Record<string, TSchema>>(members: T) =>
  Type.Object(members, { additionalProperties: false, default: {} })
export const row = <T extends Record<string, TSchema>>(members: T, description?: string) =>
  Type.Object(members, { additionalProperties: false, ...(description === undefined ? {} : { description }) })
/** Names that the operator chooses. */
export const tableOf = <T extends TSchema>(values: T, options: { default?: object } = {}) =>
  Type.Record(Type.String({ pattern: '^[^\\x00-\\x20:]{1,128}$' }), values, { additionalProperties: false, ...options })
export const table = <T extends TSchema>(values: T) => tableOf(values, { default: {} })

/** The settings of the cache. Groups are the words of `/cache/:group`; a test holds them equal to the catalogue's. */

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

/**
 * Every setting of the edge, with its default. The one source: validation, environment names, the type
 * `Config` and the test that holds config/default.yaml equal to it all read this schema.
 */

/** `off` instead of the pair says that plain HTTP is meant (rules.ts). */
const certificate = () => Type.Optional(row({ cert: path(), key: path() }, 'off, or a group of cert and key'))

const listen = group({
  host: text({ default: '127.0.0.1', format: 'host' }),
  port: port(55_000),
  hosts: list(text({ format: 'host' })),
  tls: certificate(),
  trustedProxies: list(text({ format: 'cidr' })),
  limits: group({
    headers: size('16KiB'),
    headerCount: count(100),
    url: size('8KiB'),
    query: count(64),
    fields: size('100KiB'),
    upload: size('10MiB'),
    pipelined: count(100),
  }),
  timeouts: group({
    headers: duration('5s'),
    body: duration('30s'),
    write: duration('30s'),
    expect: duration('10s'),
    idle: duration('72s'),
  }),
  drain: group({ notice: delay('5s'), limit: duration('30s') }),
  cors: group({ origins: list(text({ format: 'origin' })) }),
})

const node = row({
  name: Type.String({
    pattern: '^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,254}$',
    description: 'a name of letters, digits, dot, underscore and hyphen',
  }),
  type: Type.Unsafe<'master' | 'worker'>({ type: 'string', enum: ['master', 'worker'] }),
  url: text({ format: 'nodeUrl' }),
})

const cluster = group({
  distribution: oneOf(['manager', 'edge']),
  layout: oneOf(['classic']),
  experimental: flag(true),
  discover: flag(true),
  nodes: list(node),
  credentials: group({
    mode: oneOf(['service', 'passthrough']),
    username: Type.Optional(text()),
    password: Type.Optional(text({ secret: true })),
    passwordFile: Type.Optional(path()),
  }),
  tls: group({
    ca: Type.Optional(path()),
    cert: Type.Optional(path()),
    key: Type.Optional(path()),
    required: flag(true),
  }),
  limits: group({
    inFlight: count(4, 1000),
    queue: count(256),
    perCaller: count(2, 1000),
    timeout: duration('20s'),
    slowTimeout: duration('120s'),
    response: size('64MiB'),
  }),
  upgradeRepositories: list(text(), ['packages.wazuh.com/wpk/']),
  packageFolders: list(text({ format: 'folder' }), ['/var/ossec/']),
  addresses: list(text({ format: 'cidr' })),
})

const algorithm = Type.Unsafe<TokenAlgorithm>({ type: 'string', enum: TOKEN_ALGORITHMS })

const issuer = row({
  issuer: text({ format: 'url' }),
  jwks: text({ format: 'url' }),
  audience: text(),
  algorithms: list(algorithm, ['RS256', 'ES256', 'EdDSA']),
  lifetime: duration('1h'),
  jti: oneOf(['required', 'optional']),
  rolesClaim: Type.Optional(text()),
  roles: Type.Optional(tableOf(list(text()))),
})

const permission = Type.String({
  pattern: PERMISSION_PATTERN.source,
  description: 'a permission such as agents:read, agents:* or *:*',
})

const access = group({
  users: Type.Optional(path()),
  roles: table(list(text())),
  ownRoles: table(list(permission)),
  tokens: group({
    lifetime: duration('900s'),
    keys: Type.Optional(path()),
    issuers: list(issuer),
  }),
  limits: group({ requests: count(500), failedLogins: count(10) }),
  passthroughRole: text({ default: 'administrator' }),
})

const audit = group({
  file: Type.Optional(path()),
  onFailure: oneOf(['refuse', 'log']),
  sync: flag(true),
  rotateAt: size('64MiB'),
})

const traces = group({
  endpoint: Type.Optional(text({ format: 'collector' })),
  headersFile: Type.Optional(path()),
  share: amount(0.01, 1),
  perSecond: amount(10, 10_000),
})

const log = group({
  level: Type.Unsafe<'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent'>({
    type: 'string',
    enum: ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
    default: 'info',
  }),
  format: oneOf(['json', 'text']),
})

/** The whole file. Closed: an unknown key is a fault. */
export const settings = row({
  listen,
  operations: group({
    host: text({ default: '127.0.0.1', format: 'host' }),
    port: port(55_001),
    tls: certificate(),
    metrics: oneOf(['signedIn', 'open']),
  }),
  cluster,
  cache,
  access,
  audit,
  traces,
  log,
})

/** The same as plain JSON Schema. */
export const schema = settings as SchemaNode
