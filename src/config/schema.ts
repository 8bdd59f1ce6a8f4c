/**
 * Every setting of the edge, with its default, and when a changed value takes effect. This is the only place that states
 * these: validation, reloads, the names of environment variables, the type `Config` and docs/configuration.md use this schema.
 * Over 200 lines: a table of all settings.
 */
import Type, { type Static, type TSchema } from 'typebox'
import { TOKEN_ALGORITHMS, type TokenAlgorithm } from '../core/access.ts'
import type { Bounds, SchemaNode } from './tree.ts'

/** A changed value takes effect with the next start of the process; all other values with the next reload. */
const restart = <T extends TSchema>(schema: T): T => Object.assign(schema, { effect: 'restart' })
/** A reload takes effect, but adding the setting where there was none, or removing it, needs a restart. An empty list counts as none. */
const reloadIfSet = <T extends TSchema>(schema: T): T => Object.assign(schema, { effect: 'reloadIfSet' })

/** Bounds of the parsed value: milliseconds or bytes. */
const bounded = <T extends TSchema>(schema: T, bounds: Bounds): T => Object.assign(schema, { bounds })

const ABOVE_ZERO: Bounds = { min: 1, message: 'must be more than 0' }
const SECOND_MS = 1000
const HOUR_MS = 3_600_000
const TTL_BOUNDS: Bounds = {
  max: HOUR_MS,
  message: 'is over 1h; changes made on the manager itself would be visible that late',
}
const STALE_BOUNDS: Bounds = {
  max: 60 * SECOND_MS,
  message: 'is over 60s; a stale response may be used for a minute at most',
}

export const MAX_OUTAGE_MS = 24 * HOUR_MS
const OUTAGE_BOUNDS: Bounds = { max: MAX_OUTAGE_MS, message: 'is over 24h; older data would mislead' }

/** A duration that may be zero. Written `0s`, `750ms`, `5s`, `2m` or `1h`; parsed to milliseconds. */
const delay = (value: string) => Type.Unsafe<number>({ type: 'string', format: 'duration', default: value })
const duration = (value: string) => bounded(delay(value), ABOVE_ZERO)
/** A size that may be zero. Written `512B`, `16KiB` or `64MiB`; parsed to bytes. */
const sizeOrZero = (value: string) => Type.Unsafe<number>({ type: 'string', format: 'size', default: value })
const size = (value: string) => bounded(sizeOrZero(value), ABOVE_ZERO)
/** An integer from 1. */
const count = (value: number, maximum = 1_000_000) => Type.Integer({ minimum: 1, maximum, default: value })
/** A number from 0. */
const amount = (value: number, maximum: number) => Type.Number({ minimum: 0, maximum, default: value })
const port = (value: number) => Type.Integer({ minimum: 0, maximum: 65_535, default: value })
const flag = (value: boolean) => Type.Boolean({ default: value })
const path = () => Type.String({ format: 'path', minLength: 1 })
/** The path of a file that must be readable when the configuration is loaded. */
const file = () => Object.assign(path(), { readable: true })
const text = (options: { default?: string; format?: string; secret?: true } = {}) =>
  Type.String({ minLength: 1, maxLength: 4096, ...options })
const list = <T extends TSchema>(items: T, value: string[] = []) =>
  Type.Array(items, { maxItems: 1000, default: value })
/** The first value is the default. */
const oneOf = <const T extends string>(values: readonly [T, ...T[]]) =>
  Type.Unsafe<T>({ type: 'string', enum: values, default: values[0] })
/** A closed object. Its default `{}` makes the defaults of its members apply if it is not written at all. */
const group = <T extends Record<string, TSchema>>(members: T) =>
  Type.Object(members, { additionalProperties: false, default: {} })
/** A closed object without a default, such as the items of a list. */
const record = <T extends Record<string, TSchema>>(members: T, description?: string) =>
  Type.Object(members, { additionalProperties: false, ...(description === undefined ? {} : { description }) })
/** An object whose keys the operator chooses. */
const tableOf = <T extends TSchema>(values: T, options: { default?: object } = {}) =>
  Type.Record(Type.String({ pattern: '^[^\\x00-\\x20:]{1,128}$' }), values, { additionalProperties: false, ...options })
const table = <T extends TSchema>(values: T) => tableOf(values, { default: {} })

/** Freshness lifetime of the stored responses of each group. */
const GROUP_TTLS = {
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

/** Groups with the lifetime `defaultTtl`. */
const OTHER_GROUPS = ['validation'] as const

type CacheGroup = keyof typeof GROUP_TTLS | (typeof OTHER_GROUPS)[number]
/** The names of `/cache/:group`. A test compares them with the catalogue. */
export const cacheGroups: readonly CacheGroup[] = [
  ...(Object.keys(GROUP_TTLS) as (keyof typeof GROUP_TTLS)[]),
  ...OTHER_GROUPS,
]

/** Endpoints that change with an upgrade or once an hour, in groups whose other responses change each second. */
const ENDPOINT_TTLS = {
  '/version': '10s',
  '/manager/info': '10s',
  '/manager/stats/hourly': '10s',
  '/manager/stats/weekly': '10s',
  '/cluster/:node_id/info': '10s',
  '/cluster/:node_id/stats/hourly': '10s',
  '/cluster/:node_id/stats/weekly': '10s',
  'v4:/manager/info': '10s',
  'v4:/manager/stats/hourly': '10s',
  'v4:/manager/stats/weekly': '10s',
  'v4:/cluster/:node_id/info': '10s',
  'v4:/cluster/:node_id/stats/hourly': '10s',
  'v4:/cluster/:node_id/stats/weekly': '10s',
}

const delayWithin = (bounds: Bounds) => Type.Unsafe<number>({ type: 'string', format: 'duration', bounds })
const groupTtls = Object.fromEntries(
  Object.entries(GROUP_TTLS).map(([name, value]) => [name, bounded(delay(value), TTL_BOUNDS)]),
) as Record<keyof typeof GROUP_TTLS, ReturnType<typeof delay>>
const delays = <Name extends string>(pattern: string, value: object, bounds: Bounds) =>
  Type.Unsafe<Partial<Record<Name, number>>>({
    type: 'object',
    patternProperties: { [pattern]: delayWithin(bounds) },
    additionalProperties: false,
    default: value,
  })

const address = record({ host: text({ format: 'host' }), port: Type.Integer({ minimum: 1, maximum: 65_535 }) })

const cache = group({
  enabled: restart(flag(true)),
  // The pipeline is built with or without the trial.
  trial: restart(flag(false)),
  // Another Redis is another cache, with other write fences: replicas change to it one after the other.
  redis: restart(
    group({
      url: Type.Optional(text({ format: 'redisUrl' })),
      sentinels: list(address),
      name: Type.Optional(text()),
      cluster: list(address),
      username: Type.Optional(text()),
      password: Type.Optional(text({ secret: true })),
      passwordFile: Type.Optional(path()),
      tls: group({ ca: Type.Optional(file()), required: flag(true) }),
      timeout: bounded(duration('50ms'), {
        min: 5,
        max: SECOND_MS,
        message: 'must be from 5ms to 1s: if Redis is unreachable, each lookup waits that long',
      }),
    }),
  ),
  writesWithoutRedis: oneOf(['refuse', 'sendAndRiskStaleReads']),
  withoutRedis: oneOf(['call', 'stale']),
  localBytes: bounded(size('64MiB'), {
    min: 1024 ** 2,
    message: 'is under 1MiB; the copy in this process could not hold one page of rows',
  }),
  defaultTtl: bounded(delay('750ms'), TTL_BOUNDS),
  ttl: group({ ...groupTtls, validation: Type.Optional(delayWithin(TTL_BOUNDS)) }),
  endpoints: delays<`/${string}` | `v4:/${string}`>('^(?:v4:)?/[^\\x00-\\x20]{0,255}$', ENDPOINT_TTLS, TTL_BOUNDS),
  staleWhileRevalidate: delays<CacheGroup>(`^(?:${cacheGroups.join('|')})$`, {}, STALE_BOUNDS),
  staleIfError: bounded(delay('60s'), STALE_BOUNDS),
  // One duration for all groups is replaced by this table before the validation (index.ts).
  outage: Object.assign(delays<CacheGroup>(`^(?:${cacheGroups.join('|')})$`, {}, OUTAGE_BOUNDS), {
    description: 'a duration of at most 24h such as 8h, or a table of durations by group',
  }),
  encryptionKeyFile: restart(Type.Optional(file())),
  replicationLag: bounded(delay('18s'), {
    max: 600 * SECOND_MS,
    message: 'is over 10m; two periods of the synchronisation between the nodes take seconds',
  }),
  snapshots: group({
    groups: list(Type.Unsafe<CacheGroup>({ type: 'string', enum: [...cacheGroups] }), [...cacheGroups]),
    maxRows: count(100_000),
    maxBytes: size('64MiB'),
    localBytes: size('64MiB'),
  }),
  divergenceCheck: group({ sampleRatio: amount(0.001, 1), maxPerSecond: amount(0.2, 1000) }),
})

/** `off` instead of this group means plain HTTP on purpose (removed before the validation, index.ts). */
const certificate = () =>
  reloadIfSet(Type.Optional(record({ cert: file(), key: file() }, 'off, or a group of cert and key')))

const listen = group({
  host: restart(text({ default: '127.0.0.1', format: 'host' })),
  port: restart(port(55_000)),
  contract: restart(oneOf(['v3', 'v4'])),
  secondPort: restart(Type.Optional(Type.Integer({ minimum: 0, maximum: 65_535 }))),
  hosts: list(text({ format: 'host' })),
  tls: certificate(),
  trustedProxies: list(text({ format: 'cidr' })),
  limits: group({
    headers: size('16KiB'),
    url: size('8KiB'),
    body: size('100KiB'),
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
  drain: group({ delay: delay('5s'), limit: duration('30s') }),
  // With CORS, each response has other headers, and preflight requests have a route.
  cors: reloadIfSet(group({ origins: list(text({ format: 'origin' })) })),
})

const node = record({
  name: Type.String({
    pattern: '^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,254}$',
    description: 'a name of letters, digits, dot, underscore and hyphen',
  }),
  type: Type.Unsafe<'master' | 'worker'>({ type: 'string', enum: ['master', 'worker'] }),
  url: text({ format: 'nodeUrl' }),
})

const cluster = group({
  // The pipeline is built for one distribution and one layout.
  distribution: restart(oneOf(['manager', 'edge'])),
  layout: restart(oneOf(['v3', 'v4', 'auto'])),
  experimental: flag(true),
  discover: flag(true),
  nodes: list(node),
  credentials: group({
    // Who the callers are, and whose credentials the nodes receive, changes only as a whole.
    mode: restart(oneOf(['service', 'passthrough'])),
    username: reloadIfSet(Type.Optional(text())),
    password: reloadIfSet(Type.Optional(text({ secret: true }))),
    passwordFile: Type.Optional(path()),
  }),
  tls: group({
    ca: Type.Optional(file()),
    cert: Type.Optional(file()),
    key: Type.Optional(file()),
    required: flag(true),
  }),
  limits: group({
    inFlight: count(4, 1000),
    queue: count(256),
    perMinute: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000 })),
    timeout: duration('20s'),
    slowTimeout: duration('120s'),
    response: size('64MiB'),
    agentsPerCollection: count(1000, 1_000_000),
  }),
  guards: group({
    nodeCache: restart(flag(true)),
    longSearch: restart(flag(true)),
    emptyLists: restart(flag(true)),
    agentsWithoutData: restart(flag(true)),
    lostNodes: restart(flag(true)),
  }),
  upgradeRepositories: list(text(), ['packages.wazuh.com/wpk/']),
  packageFolders: list(text({ format: 'folder' }), ['/var/ossec/']),
  addresses: list(text({ format: 'cidr' })),
})

const algorithm = Type.Unsafe<TokenAlgorithm>({ type: 'string', enum: TOKEN_ALGORITHMS })

const issuer = record({
  issuer: text({ format: 'url' }),
  jwks: text({ format: 'url' }),
  audience: text(),
  algorithms: list(algorithm, ['RS256', 'ES256', 'EdDSA']),
  lifetime: bounded(duration('1h'), { min: SECOND_MS, max: 24 * HOUR_MS, message: 'must be from 1s to 24h' }),
  jti: oneOf(['required', 'optional']),
  rolesClaim: text({ default: 'roles' }),
  roles: Type.Optional(tableOf(list(text()))),
})

/** Sign-in to the console. The members from `issuer` on describe an outside issuer (OpenID Connect). */
const signIn = group({
  // A session is checked against the users and roles of the edge, but not against those of the issuer.
  lifetime: bounded(duration('8h'), { min: 60 * SECOND_MS, max: 24 * HOUR_MS, message: 'must be from 1m to 24h' }),
  issuer: Type.Optional(text({ format: 'url' })),
  clientId: Type.Optional(text()),
  clientSecret: Type.Optional(text({ secret: true })),
  clientSecretFile: Type.Optional(path()),
  redirectUrl: Type.Optional(text({ format: 'url' })),
  scopes: list(text(), ['openid']),
  userClaim: text({ default: 'sub' }),
  rolesClaim: text({ default: 'roles' }),
  roles: Type.Optional(tableOf(list(text()))),
})

const permission = Type.String({
  pattern: '^(?:\\*|(?:\\*|[a-z][a-z-]*):(?:\\*|[a-z][a-z-]*))$',
  description: 'a permission such as agents:read, agents:* or *:*',
})

const access = group({
  // The contents of these files are reloaded when they change.
  users: restart(Type.Optional(file())),
  roles: table(list(text())),
  customRoles: table(list(permission)),
  tokens: group({
    lifetime: duration('900s'),
    recheck: restart(duration('10s')),
    recheckMax: restart(duration('600s')),
    keys: restart(Type.Optional(file())),
    issuers: list(issuer),
  }),
  limits: group({ requestsPerSecond: count(500), hitsPerSecond: count(20_000), failedLogins: count(10) }),
  passthroughRole: text({ default: 'passthrough' }),
})

const audit = group({
  // A chain of audit records belongs to one file.
  file: restart(Type.Optional(path())),
  onFailure: oneOf(['refuse', 'log']),
  sync: flag(true),
  rotateAt: size('64MiB'),
})

const traces = group({
  endpoint: restart(Type.Optional(text({ format: 'collector' }))),
  headersFile: restart(Type.Optional(file())),
  sampleRatio: amount(0.01, 1),
  maxPerSecond: amount(10, 10_000),
})

const log = group({
  level: Type.Unsafe<'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent'>({
    type: 'string',
    enum: ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'],
    default: 'info',
  }),
  format: restart(oneOf(['json', 'text'])),
})

// The console, the log and the audit chain name a process as long as it runs.
const replica = group({ name: restart(Type.Optional(text({ format: 'replicaName' }))), only: flag(false) })

/** Fastify plugins that operators add. The routes and hooks of a listener are fixed when it opens. */
const plugins = restart(
  list(
    record({
      file: Type.Optional(path()),
      package: Type.Optional(text({ format: 'packageName' })),
      listener: oneOf(['operations', 'clients']),
      options: tableOf(Type.Unknown(), { default: {} }),
    }),
  ),
)

/** The whole configuration. An unknown key is a fault. */
const settings = record({
  replica,
  listen,
  operations: group({
    host: restart(text({ default: '127.0.0.1', format: 'host' })),
    port: restart(port(55_001)),
    tls: certificate(),
    metrics: restart(oneOf(['signedIn', 'open'])),
    signIn,
  }),
  cluster,
  cache,
  access,
  audit,
  traces,
  log,
  plugins,
})

/** `settings` as plain JSON Schema. */
export const schema = settings as SchemaNode

type Frozen<T> = T extends object ? { readonly [K in keyof T]: Frozen<T[K]> } : T

/** Every setting, with defaults: durations in milliseconds, sizes in bytes, paths absolute, secrets read. */
export type Config = Frozen<Static<typeof settings>>

export type CacheSettings = Config['cache']
