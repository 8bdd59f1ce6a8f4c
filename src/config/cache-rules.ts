/** Rules over the settings of the cache: the Redis connection, and for how long stored responses may be used. */
import { isLoopback, isLoopbackUrl } from './formats.ts'
import type { Report, Rule, RuleContext } from './rules.ts'
import type { Config } from './schema.ts'
import type { Path } from './tree.ts'

type RedisSettings = Config['cache']['redis']

const at = (...keys: string[]): Path => ['cache', ...keys]
const redis = at('redis')

export const cacheRules: readonly Rule[] = [
  { paths: [redis], check: checkServer },
  { paths: [redis, at('trial'), at('enabled')], check: checkTrial },
  { paths: [redis], check: checkRedisTls },
  { paths: [redis], check: checkRedisPassword },
  { paths: [at('ttl'), at('defaultTtl'), at('endpoints')], check: checkTtls },
  { paths: [at('staleWhileRevalidate'), at('staleIfError')], check: checkStale },
  { paths: [redis], check: checkRedisTimeout },
  { paths: [at('replicationLag')], check: checkReplicationLag },
  { paths: [at('localBytes')], check: checkLocalBytes },
]

/** Returns which of the three ways to name a Redis are used; none: there is no Redis. */
export function usedServers({ url, sentinels, cluster }: RedisSettings): string[] {
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
