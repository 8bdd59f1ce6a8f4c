/** Rules over the settings of the cache: which Redis, how it is spoken to, and how long answers may live. */

import { isLoopback, isLoopbackUrl } from './formats.ts'
import type { Settings } from './index.ts'
import type { Context, Report, Rule } from './rules.ts'
import type { Path } from './tree.ts'

type Redis = Settings['cache']['redis']

const at = (...keys: string[]): Path => ['cache', ...keys]
const redis = at('redis')

export const cacheRules: readonly Rule[] = [
  { about: [redis], check: oneStore },
  { about: [redis], check: encryptedWay },
  { about: [redis], check: redisPassword },
  { about: [at('durations'), at('defaultDuration'), at('endpoints')], check: freshAtMost },
  { about: [at('staleWhileRevalidate'), at('staleIfError')], check: staleAtMost },
  { about: [redis], check: patience },
  { about: [at('syncPeriods')], check: syncPeriods },
  { about: [at('nearBytes')], check: nearBytes },
]

/** The three ways to name a Redis; the first that is written counts, two are a fault. */
function ways({ url, sentinels, cluster }: Redis): string[] {
  const written = { url: url !== undefined, sentinels: sentinels.length > 0, cluster: cluster.length > 0 }
  return Object.entries(written).flatMap(([way, is]) => (is ? [way] : []))
}

function oneStore({ cache }: Settings, report: Report): void {
  const { username, password, passwordFile, name, sentinels, tls } = cache.redis
  const written = ways(cache.redis)
  if (written.length > 1) report(redis, `names ${written.join(' and ')}; keep the one that your Redis is`)
  if (sentinels.length > 0 && name === undefined) {
    report([...redis, 'sentinels'], 'need cache.redis.name, the name under which they watch the primary')
  }
  if (sentinels.length === 0 && name !== undefined) {
    report([...redis, 'name'], 'is of use with cache.redis.sentinels only; take it out, or name the sentinels')
  }
  if (written.length === 0 && [username, password, passwordFile, tls.ca].some((value) => value !== undefined)) {
    report(redis, 'names no server; write url, sentinels or cluster')
  }
}

/** Answers and the password would cross the network in clear. */
function encryptedWay({ cache }: Settings, report: Report): void {
  const { url, tls } = cache.redis
  if (url === undefined || url.startsWith('rediss://')) return
  const path = [...redis, 'url']
  if (tls.ca !== undefined) report(path, 'speaks no TLS, yet cache.redis.tls.ca is written; write rediss://')
  else if (tls.required && !isLoopbackUrl(url)) {
    const remedy = 'write rediss://, or say cache.redis.tls.required: false where the network between is yours alone'
    report(path, `${url} would send answers and the password in clear; ${remedy}`)
  }
}

/** Is this Redis spoken to by TLS? Sentinels and clusters have no scheme: they are, beyond this machine. */
export function redisSpeaksTls({ url, sentinels, cluster, tls }: Redis): boolean {
  if (url !== undefined) return url.startsWith('rediss://')
  return tls.ca !== undefined || (tls.required && [...sentinels, ...cluster].some(({ host }) => !isLoopback(host)))
}

function redisPassword({ cache }: Settings, report: Report, { variableOf }: Context): void {
  const { username, password, passwordFile } = cache.redis
  const path = [...redis, 'password']
  if (password !== undefined && variableOf(path) === undefined) {
    report(path, 'must not stand in the settings; write passwordFile, or set EDGE_CACHE_REDIS_PASSWORD')
  } else if (password !== undefined && passwordFile !== undefined) {
    report(path, 'stands beside passwordFile; keep one of the two')
  } else if (username !== undefined && password === undefined && passwordFile === undefined) {
    report([...redis, 'username'], 'has no password; write passwordFile, or set EDGE_CACHE_REDIS_PASSWORD')
  }
}

const SECOND = 1000
const HOUR = 3_600_000
const MIB = 1024 ** 2

/** Who writes past the edge waits so long until it shows; an hour is no cache but a copy. */
function freshAtMost({ cache }: Settings, report: Report): void {
  const says = 'is over 1h; changes made on the manager itself would show that late'
  if (cache.defaultDuration > HOUR) report(at('defaultDuration'), says)
  for (const table of ['durations', 'endpoints'] as const) {
    for (const [name, value] of Object.entries(cache[table]))
      if (value !== undefined && value > HOUR) report(at(table, name), says)
  }
}

function staleAtMost({ cache }: Settings, report: Report): void {
  const says = 'is over 60s; what is stale may be shown for a minute at most'
  if (cache.staleIfError > 60 * SECOND) report(at('staleIfError'), says)
  for (const [group, value] of Object.entries(cache.staleWhileRevalidate)) {
    if (value !== undefined && value > 60 * SECOND) report(at('staleWhileRevalidate', group), says)
  }
}

function patience({ cache }: Settings, report: Report): void {
  const { timeout } = cache.redis
  if (timeout >= 5 && timeout <= SECOND) return
  report([...redis, 'timeout'], 'must be from 5ms to 1s: Redis that is away is a miss, and a miss is decided by then')
}

function syncPeriods({ cache }: Settings, report: Report): void {
  if (cache.syncPeriods <= 600 * SECOND) return
  report(at('syncPeriods'), 'is over 10m; two periods of the synchronisation between the nodes take seconds')
}

function nearBytes({ cache }: Settings, report: Report): void {
  if (cache.nearBytes >= MIB) return
  report(at('nearBytes'), 'is under 1MiB; the near copy would not hold one page of answers')
}
