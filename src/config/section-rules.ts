/** Rules over the settings of one section: the cache, sign-ins to the console, traces. */
import { isLoopback, isLoopbackUrl } from './formats.ts'
import { type Report, type Rule, type RuleContext, rule } from './rules.ts'
import type { Config } from './schema.ts'

type RedisSettings = Config['cache']['redis']

const redis = ['cache', 'redis']
const trial = ['cache', 'trial']

export const sectionRules: readonly Rule[] = [
  rule(checkServer, 'cache.redis'),
  rule(checkTrial, 'cache.redis', 'cache.trial', 'cache.enabled'),
  rule(checkRedisTls, 'cache.redis'),
  rule(checkRedisPassword, 'cache.redis'),
  rule(checkSignIn, 'operations.signIn', 'cluster.credentials'),
  rule(checkPlugins, 'plugins'),
  rule(checkCollector, 'traces'),
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
  if (!cache.enabled) report(trial, 'needs cache.enabled: true, because it reports what the cache would have served')
  if (usedServers(cache.redis).length > 0) {
    report(trial, 'must not share a Redis with productive replicas; remove cache.redis for the time of the trial')
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

/** The route of the operations listener to which the issuer sends the browser back. */
const CALLBACK_PATH = '/sign-in/callback'

function checkSignIn({ operations: { signIn }, cluster }: Config, report: Report): void {
  const path = ['operations', 'signIn']
  const { issuer, clientId, clientSecret, clientSecretFile, redirectUrl, scopes } = signIn
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

function checkPlugins({ plugins }: Config, report: Report): void {
  for (const [at, { file, package: name }] of plugins.entries()) {
    if ((file === undefined) === (name === undefined))
      report(['plugins', at], 'must have a file or a package, and not both; write one of the two')
  }
}

function checkCollector({ traces: { endpoint, headersFile } }: Config, report: Report): void {
  if (headersFile === undefined) return
  if (endpoint === undefined) report(['traces', 'headersFile'], 'needs traces.endpoint; set both or none')
  else if (/^http:/i.test(endpoint) && !isLoopbackUrl(endpoint)) {
    report(['traces', 'endpoint'], `${endpoint} would send traces.headersFile in clear; write https://`)
  }
}
