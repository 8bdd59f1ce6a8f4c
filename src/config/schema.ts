/**
 * Every setting of the edge, with its default. The one source: validation, environment names, the type
 * `Config` and the test that holds config/default.yaml equal to it all read this schema.
 */
import Type from 'typebox'
import { cache } from './cache-section.ts'
import type { SchemaNode } from './tree.ts'
import {
  amount,
  count,
  delay,
  duration,
  flag,
  group,
  list,
  oneOf,
  path,
  port,
  row,
  size,
  table,
  tableOf,
  text,
} from './words.ts'

/** The roles that exist without being written; `access.ownRoles` adds to them. */
export const readyMadeRoles = ['reader', 'operator', 'administrator'] as const

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

const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'EdDSA'] as const
const algorithm = Type.Unsafe<(typeof algorithms)[number]>({ type: 'string', enum: algorithms })

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
  pattern: '^(?:\\*|(?:\\*|[a-z][a-z-]*):(?:\\*|[a-z][a-z-]*))$',
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
