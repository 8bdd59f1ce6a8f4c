/** Rules over the settings of one section: the cache, several processes behind one port, sign-ins to the console. */
import { isLoopback, isLoopbackUrl } from './formats.ts'
import type { Report, Rule, RuleContext } from './rules.ts'
import type { Config } from './schema.ts'
import { type Path, pathOf } from './tree.ts'

type RedisSettings = Config['cache']['redis']

const at = (...keys: string[]): Path => ['cache', ...keys]
const redis = at('redis')

export const sectionRules: readonly Rule[] = [
  { paths: [redis], check: checkServer },
  { paths: [redis, at('trial'), at('enabled')], check: checkTrial },
  { paths: [redis], check: checkRedisTls },
  { paths: [redis], check: checkRedisPassword },
  { paths: [at('ttl'), at('defaultTtl'), at('endpoints')], check: checkTtls },
  { paths: [at('staleWhileRevalidate'), at('staleIfError')], check: checkStale },
  { paths: [redis], check: checkRedisTimeout },
  { paths: [at('replicationLag')], check: checkReplicationLag },
  { paths: [at('localBytes')], check: checkLocalBytes },
  {
    paths: ['listen.processes', 'cache.redis', 'access.tokens', 'cluster.credentials'].map(pathOf),
    check: checkProcesses,
  },
  { paths: [pathOf('operations.signIn'), pathOf('cluster.credentials')], check: checkSignIn },
]

/** Returns which of the three ways to name a Redis are used; none: there is no Redis. */
function usedServers({ url, sentinels, cluster }: RedisSettings): string[] {
  const isUsed = { url: url !== undefined, sentinels: sentinels.length > 0, cluster: cluster.length > 0 }
  return Object.entries(isUsed).flatMap(([name, used]) => (used ? [name] : []))
}

function checkServer({ cache }: Config, report: Report): void {
  const { username, password, passwordFile, name, sentinels, tls } = cache.redis
  const used = usedServers(cache.redis)
  if (used.length > 1) report(redis, `has ${used.join(' and ')}; keep the one that describes your Redis`)
  if (sentinels.length > 0 && name === undefined) {
    report([...redis, 'sentinels'], 'need cache.redis.name, the name of the primary in their configuration')
  }
  if (sentinels.length === 0 && name !== undefined) {
    report([...redis, 'name'], 'is used with cache.redis.sentinels only; remove it, or set the sentinels')
  }
  if (used.length === 0 && [username, password, passwordFile, tls.ca].some((value) => value !== undefined)) {
    report(redis, 'names no server; set url, sentinels or cluster')
  }
}

/**
 * In a shared Redis, a trial would store responses for productive replicas, and its calls would take their slots and count
 * against their limits.
 */
function checkTrial({ cache }: Config, report: Report): void {
  if (!cache.trial) return
  if (!cache.enabled)
    report(at('trial'), 'needs cache.enabled: true, because it reports what the cache would have served')
  if (usedServers(cache.redis).length > 0) {
    report(at('trial'), 'must not share a Redis with productive replicas; remove cache.redis for the time of the trial')
  }
}

/** Without TLS, responses and the password would cross the network in clear. */
function checkRedisTls({ cache }: Config, report: Report): void {
  const { url, tls } = cache.redis
  if (url === undefined || url.startsWith('rediss://')) return
  const path = [...redis, 'url']
  if (tls.ca !== undefined) report(path, 'has no TLS, but cache.redis.tls.ca is set; write rediss://')
  else if (tls.required && !isLoopbackUrl(url)) {
    const remedy = 'write rediss://, or set cache.redis.tls.required: false if the network in between is trusted'
    report(path, `${url} would send responses and the password in clear; ${remedy}`)
  }
}

/** Returns whether TLS is used. Sentinels and clusters have no scheme: they use TLS unless they are on this machine. */
export function usesRedisTls({ url, sentinels, cluster, tls }: RedisSettings): boolean {
  if (url !== undefined) return url.startsWith('rediss://')
  return tls.ca !== undefined || (tls.required && [...sentinels, ...cluster].some(({ host }) => !isLoopback(host)))
}

function checkRedisPassword({ cache }: Config, report: Report, { variableOf }: RuleContext): void {
  const { username, password, passwordFile } = cache.redis
  const path = [...redis, 'password']
  if (password !== undefined && variableOf(path) === undefined) {
    report(path, 'must not be in the configuration file; set passwordFile or EDGE_CACHE_REDIS_PASSWORD')
  } else if (password !== undefined && passwordFile !== undefined) {
    report(path, 'is set together with passwordFile; keep one of the two')
  } else if (username !== undefined && password === undefined && passwordFile === undefined) {
    report([...redis, 'username'], 'has no password; set passwordFile or EDGE_CACHE_REDIS_PASSWORD')
  }
}

const SECOND_MS = 1000
const HOUR_MS = 3_600_000
const MIB = 1024 ** 2

/** A change on the manager itself, past the edge, is visible after this time only. */
function checkTtls({ cache }: Config, report: Report): void {
  const message = 'is over 1h; changes made on the manager itself would be visible that late'
  if (cache.defaultTtl > HOUR_MS) report(at('defaultTtl'), message)
  for (const table of ['ttl', 'endpoints'] as const) {
    for (const [name, value] of Object.entries(cache[table]))
      if (value !== undefined && value > HOUR_MS) report(at(table, name), message)
  }
}

function checkStale({ cache }: Config, report: Report): void {
  const message = 'is over 60s; a stale response may be used for a minute at most'
  if (cache.staleIfError > 60 * SECOND_MS) report(at('staleIfError'), message)
  for (const [group, value] of Object.entries(cache.staleWhileRevalidate)) {
    if (value !== undefined && value > 60 * SECOND_MS) report(at('staleWhileRevalidate', group), message)
  }
}

function checkRedisTimeout({ cache }: Config, report: Report): void {
  const { timeout } = cache.redis
  if (timeout >= 5 && timeout <= SECOND_MS) return
  report([...redis, 'timeout'], 'must be from 5ms to 1s: if Redis is unreachable, each lookup waits that long')
}

function checkReplicationLag({ cache }: Config, report: Report): void {
  if (cache.replicationLag <= 600 * SECOND_MS) return
  report(at('replicationLag'), 'is over 10m; two periods of the synchronisation between the nodes take seconds')
}

function checkLocalBytes({ cache }: Config, report: Report): void {
  if (cache.localBytes >= MIB) return
  report(at('localBytes'), 'is under 1MiB; the copy in this process could not hold one page of rows')
}

/** Several processes behind one port need what several replicas need. `auto` needs the same on a machine with one core: a file that is valid on one machine is valid on all. */
function checkProcesses({ listen, cache, access, cluster }: Config, report: Report): void {
  if (listen.processes === 1) return
  const path = ['listen', 'processes']
  if (usedServers(cache.redis).length === 0) {
    const reason = 'needs Redis, because processes that do not share one do not know of the writes of each other'
    report(path, `${reason}; set cache.redis, or set listen.processes: 1`)
  }
  if (cluster.credentials.mode === 'service' && access.tokens.keys === undefined) {
    const remedy = 'create a key with "manager-edge token key FOLDER", and name the folder there'
    report(path, `needs access.tokens.keys, because each process would refuse the tokens of the others; ${remedy}`)
  }
}

/** The route of the operations listener to which the issuer sends the browser back. */
const CALLBACK_PATH = '/sign-in/callback'
const MINUTE_MS = 60_000
/** A session is checked against the users and roles of the edge, but not against those of the issuer. */
const MAX_LIFETIME_MS = 24 * 60 * MINUTE_MS

function checkSignIn({ operations: { signIn }, cluster }: Config, report: Report): void {
  const path = ['operations', 'signIn']
  const { lifetime, issuer, clientId, clientSecret, clientSecretFile, redirectUrl, scopes } = signIn
  if (lifetime < MINUTE_MS || lifetime > MAX_LIFETIME_MS) report([...path, 'lifetime'], 'must be from 1m to 24h')
  if (issuer === undefined) {
    const orphan = Object.entries({ clientId, clientSecretFile, redirectUrl }).find(([, value]) => value !== undefined)
    if (orphan) report([...path, orphan[0]], 'needs operations.signIn.issuer; set both or none')
    return
  }
  if (cluster.credentials.mode === 'passthrough')
    report([...path, 'issuer'], 'is not possible with cluster.credentials.mode: passthrough, which needs passwords')
  if (clientId === undefined)
    report(path, 'has no clientId; set the name of the client that the issuer has for the edge')
  if (redirectUrl === undefined) report(path, `has no redirectUrl; set https://<console>${CALLBACK_PATH}`)
  else if (new URL(redirectUrl).pathname !== CALLBACK_PATH || /[?#]/.test(redirectUrl))
    report([...path, 'redirectUrl'], `must end with ${CALLBACK_PATH}`)
  if (clientSecret !== undefined && clientSecretFile !== undefined)
    report([...path, 'clientSecret'], 'is set together with clientSecretFile; keep one of the two')
  if (!scopes.includes('openid')) report([...path, 'scopes'], 'must contain openid')
}
