import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { redisConnectionOptions } from '../../../src/app/base.ts'
import { buildEdge } from '../../../src/app/index.ts'
import { loadConfig } from '../../../src/config/index.ts'
import { type Config, cacheGroups } from '../../../src/config/schema.ts'
import { bothContracts, catalogue } from '../../../src/contracts/index.ts'
import { nameOf } from '../../../src/core/endpoint-names.ts'

const CA = readFileSync('test/support/certificates/first.crt', 'utf8')

const rest = `
cluster:
  nodes: [{ name: m, type: master, url: 'http://127.0.0.1:1' }]
  credentials: { username: edge, password: 'long and its own' }
access: { users: users }
`

async function load(t: Test, cache: string, env: Record<string, string> = {}) {
  const folder = t.testdir({
    users: '',
    word: 'from the file\n',
    'ca.crt': CA,
    short: `${'k'.repeat(31)}\n`,
    long: `${'k'.repeat(32)}\n`,
  })
  const file = join(folder, 'edge.yaml')
  writeFileSync(file, `cache: { ${cache} }${rest}`)
  return loadConfig({ file, env })
}

async function configOf(t: Test, cache: string, env: Record<string, string> = {}): Promise<Config['cache']> {
  const loaded = await load(t, cache, env)
  if (!loaded.ok) throw new Error(loaded.faults.join('\n'))
  return loaded.config.cache
}

t.test('the cache groups of the settings equal those of the catalogue', async (t) => {
  const stored = catalogue.flatMap((endpoint) =>
    'cache' in endpoint && 'group' in endpoint.cache ? [endpoint.cache] : [],
  )
  t.strictSame([...cacheGroups].sort(), [...new Set(stored.map(({ group }) => group))].sort())
})

t.test('every default of cache.endpoints is a stored endpoint whose lifetime differs from its group', async (t) => {
  const { endpoints, ttl } = await configOf(t, 'enabled: true')
  for (const [name, duration] of Object.entries(endpoints)) {
    const found = bothContracts.find((endpoint) => endpoint.method === 'GET' && nameOf(endpoint) === name)
    if (found === undefined || !('cache' in found) || !('group' in found.cache)) return t.fail(name)
    t.not(ttl[found.cache.group], duration, `${name}: the row would have no effect`)
  }
})

t.test('an unknown endpoint, or one that is not stored, fails the start', async (t) => {
  for (const path of ['/manger/info', '/agents/:agent_id/key', 'v4:/version', 'v4:/agents/:agent_id/key']) {
    const loaded = await load(t, `endpoints: { ${path}: 1s }`)
    if (!loaded.ok) return t.fail(loaded.faults.join('\n'))
    await t.rejects(buildEdge({ ...loaded.config, log: { ...loaded.config.log, level: 'silent' } }), {
      message: `cache.endpoints: ${path} is not a GET endpoint whose responses are stored; "manager-edge routes" lists all endpoints`,
    })
  }
})

t.test(
  'by default, logs and status are fresh for one second, and each group has the automatic stale time',
  async (t) => {
    const { ttl, endpoints, staleWhileRevalidate } = await configOf(t, 'enabled: true')
    t.strictSame(Object.keys(staleWhileRevalidate), [])
    for (const endpoint of catalogue) {
      if (!('cache' in endpoint) || !('group' in endpoint.cache) || !/\/(?:logs|status)$/.test(endpoint.path)) continue
      const { group } = endpoint.cache
      t.equal(endpoints[endpoint.path as '/'] ?? ttl[group] ?? 750, 1000)
    }
  },
)

t.test('each fault has a place and a remedy', async (t) => {
  const rows: readonly (readonly [cache: string, fault: string | RegExp])[] = [
    ['redis: { url: localhost }', /cache\.redis\.url: must be a URL such as rediss:.*, got "localhost"/],
    ['redis: { url: "redis://a:b@127.0.0.1" }', /cache\.redis\.url: must be a URL .*without name and password/],
    ['redis: { url: "redis://127.0.0.1", cluster: [{ host: a, port: 1 }] }', 'has url and cluster; keep the one'],
    ['redis: { sentinels: [{ host: 127.0.0.1, port: 1 }] }', 'cache.redis.sentinels: need cache.redis.name'],
    ['redis: { name: x, url: "redis://127.0.0.1" }', 'cache.redis.name: is used with cache.redis.sentinels only'],
    ['redis: { passwordFile: word }', 'cache.redis: names no server; set url, sentinels or cluster'],
    ['redis: { url: "redis://10.0.0.1" }', 'would send responses and the password in clear; write rediss://, or set'],
    ['redis: { url: "redis://127.0.0.1", tls: { ca: ca.crt } }', 'cache.redis.url: has no TLS'],
    [
      'redis: { url: "redis://127.0.0.1", password: secret }',
      'must not be in the configuration file; set passwordFile',
    ],
    ['redis: { url: "redis://127.0.0.1", username: x }', 'cache.redis.username: has no password'],
    ['redis: { url: "redis://127.0.0.1", passwordFile: nowhere }', /passwordFile: .*nowhere cannot be read \(ENOENT\)/],
    ['redis: { url: "redis://127.0.0.1", timeout: 2s }', 'cache.redis.timeout: must be from 5ms to 1s'],
    ['redis: { cluster: [{ host: a }] }', 'cache.redis.cluster[0].port: is missing'],
    ['ttl: { agents: 2h }', 'cache.ttl.agents: is over 1h'],
    ['ttl: { agnets: 2s }', 'cache.ttl.agnets: is not a setting; did you mean "agents"?'],
    ['endpoints: { /version: 90m }', 'cache.endpoints./version: is over 1h'],
    ['endpoints: { version: 1s }', 'cache.endpoints.version: is not a name that is allowed here'],
    ['staleWhileRevalidate: { agents: 2m }', 'cache.staleWhileRevalidate.agents: is over 60s'],
    ['staleWhileRevalidate: { agnets: 2s }', 'cache.staleWhileRevalidate.agnets: is not a name'],
    ['staleIfError: 61s', 'cache.staleIfError: is over 60s'],
    ['outage: 25h', 'cache.outage: must be a duration of at most 24h such as 8h, or a table of durations by group'],
    ['outage: soon', 'cache.outage: must be a duration of at most 24h'],
    ['outage: { agents: 25h }', 'cache.outage.agents: is over 24h'],
    ['outage: { agnets: 8h }', 'cache.outage.agnets: is not a name'],
    ['defaultTtl: 2h', 'cache.defaultTtl: is over 1h'],
    ['writesWithoutRedis: ignore', 'cache.writesWithoutRedis: must be one of refuse, sendAndRiskStaleReads'],
    ['localBytes: 1KiB', 'cache.localBytes: is under 1MiB'],
    ['trial: true, enabled: false', 'cache.trial: needs cache.enabled: true'],
    [
      'trial: true, redis: { url: "redis://127.0.0.1" }',
      'cache.trial: must not share a Redis with productive replicas',
    ],
    ['replicationLag: 1h', 'cache.replicationLag: is over 10m'],
    ['encryptionKeyFile: short', /short has 31 bytes, but needs 32 or more; make one with "openssl rand/],
    ['encryptionKeyFile: nowhere', /encryptionKeyFile: .*nowhere cannot be read \(ENOENT\)/],
  ]
  for (const [cache, fault] of rows) {
    const loaded = await load(t, cache)
    const faults = loaded.ok ? [] : loaded.faults
    t.equal(faults.length, 1, `${cache}: reported once: ${faults.join(' | ')}`)
    t.match(faults[0], fault)
    t.match(faults[0], /^edge\.yaml:1:\d+ cache/)
    t.notMatch(faults[0], 'secret')
  }
})

t.test('unusual cache settings that are valid', async (t) => {
  const good = [
    'enabled: false',
    'redis: { url: "rediss://redis.example:6380/3" }',
    'redis: { url: "redis://[::1]:6379" }',
    'redis: { url: "redis://redis:6379", tls: { required: false } }',
    'ttl: { manager: 0s }, staleIfError: 0s, replicationLag: 0s, endpoints: {}',
    'outage: 0s',
    'outage: { rules: 24h }',
    'encryptionKeyFile: long',
  ]
  for (const cache of good) {
    const loaded = await load(t, cache)
    t.ok(loaded.ok, `${cache}: ${loaded.ok ? '' : loaded.faults.join(' | ')}`)
  }
})

t.test('the password comes from a file or from the environment', async (t) => {
  const url = 'url: "redis://127.0.0.1", username: edge'
  const fromFile = await configOf(t, `redis: { ${url}, passwordFile: word }`)
  t.equal(fromFile.redis.password, 'from the file')
  const fromEnvironment = await configOf(t, `redis: { ${url} }`, { EDGE_CACHE_REDIS_PASSWORD: 'from there' })
  t.equal(fromEnvironment.redis.password, 'from there')
})

t.test('variables of the environment reach every kind of cache setting', async (t) => {
  const cache = await configOf(t, 'enabled: true', {
    EDGE_CACHE_ENABLED: 'false',
    EDGE_CACHE_REDIS_SENTINELS: '[{ host: 127.0.0.1, port: 26379 }]',
    EDGE_CACHE_REDIS_NAME: 'edge',
    EDGE_CACHE_TTL_AGENTS: '2s',
    EDGE_CACHE_ENDPOINTS: '{ /manager/logs: 500ms }',
    EDGE_CACHE_STALEIFERROR: '5s',
    EDGE_CACHE_OUTAGE: '8h',
  })
  t.equal(cache.enabled, false)
  t.strictSame(cache.redis.sentinels, [{ host: '127.0.0.1', port: 26_379 }])
  t.equal(cache.ttl.agents, 2000)
  t.equal(cache.ttl.rules, 60_000, 'the other groups keep their defaults')
  t.strictSame({ ...cache.endpoints }, { '/manager/logs': 500 }, 'a table replaces the default table')
  t.equal(cache.staleIfError, 5000)
  t.strictSame({ ...cache.outage }, Object.fromEntries(cacheGroups.map((group) => [group, 8 * 3_600_000])))
})

t.test('the settings decide how connections to Redis are opened', async (t) => {
  const far = '[{ host: 10.0.0.1, port: 6379 }]'
  const near = { host: 'localhost', port: 1 }
  const cases: readonly (readonly [redis: string, place: object | undefined])[] = [
    ['timeout: 60ms', undefined],
    ['url: "redis://127.0.0.1"', { url: 'redis://127.0.0.1' }],
    ['url: "rediss://10.0.0.1", tls: { ca: ca.crt }', { url: 'rediss://10.0.0.1', tls: { ca: CA } }],
    [`cluster: ${far}`, { cluster: [{ host: '10.0.0.1', port: 6379 }], tls: {} }],
    [`cluster: ${far}, tls: { required: false }`, { cluster: [{ host: '10.0.0.1', port: 6379 }] }],
    ['sentinels: [{ host: localhost, port: 1 }], name: x', { sentinels: [near], name: 'x' }],
  ]
  for (const [redis, place] of cases) {
    t.strictSame(await redisConnectionOptions((await configOf(t, `redis: { ${redis} }`)).redis), place, redis)
  }
})
