/** When a changed setting takes effect: the only place that states it. docs/configuration.md shows this table. */

/**
 * - `reload`: with the next reload, without a restart.
 * - `reloadIfSet`: as `reload`, but adding the setting where there was none, or removing it, needs a restart. An empty list
 *   counts as none.
 * - `restart`: with the next start of the process.
 */
export type Effect = 'reload' | 'reloadIfSet' | 'restart'

/** By the path of the setting. A row for a group applies to all members of the group. */
export const settingEffects: Readonly<Record<string, Effect>> = {
  // The console, the log and the audit chain name a process as long as it runs.
  'replica.name': 'restart',

  'listen.host': 'restart',
  'listen.port': 'restart',
  // The first process runs alone, or supervises the others.
  'listen.processes': 'restart',
  'listen.hosts': 'reload',
  'listen.tls': 'reloadIfSet',
  'listen.trustedProxies': 'reload',
  'listen.limits.headers': 'reload',
  'listen.limits.headerCount': 'reload',
  'listen.limits.url': 'reload',
  'listen.limits.queryParameters': 'reload',
  'listen.limits.body': 'reload',
  'listen.limits.upload': 'reload',
  'listen.limits.pipelined': 'reload',
  'listen.timeouts': 'reload',
  'listen.drain': 'reload',
  // With CORS, each response has other headers, and preflight requests have a route.
  'listen.cors': 'reloadIfSet',

  'operations.host': 'restart',
  'operations.port': 'restart',
  'operations.tls': 'reloadIfSet',
  'operations.metrics': 'restart',
  'operations.signIn': 'reload',

  // The pipeline is built for one distribution and one layout.
  'cluster.distribution': 'restart',
  'cluster.layout': 'restart',
  'cluster.experimental': 'reload',
  'cluster.discover': 'reload',
  'cluster.nodes': 'reload',
  // Who the callers are, and whose credentials the nodes receive, changes only as a whole.
  'cluster.credentials.mode': 'restart',
  'cluster.credentials.username': 'reloadIfSet',
  'cluster.credentials.password': 'reloadIfSet',
  'cluster.credentials.passwordFile': 'reload',
  'cluster.tls': 'reload',
  'cluster.limits': 'reload',
  'cluster.upgradeRepositories': 'reload',
  'cluster.packageFolders': 'reload',
  'cluster.addresses': 'reload',

  'cache.enabled': 'restart',
  // The pipeline is built with or without the trial.
  'cache.trial': 'restart',
  // Another Redis is another cache, with other write fences: replicas change to it one after the other.
  'cache.redis': 'restart',
  'cache.writesWithoutRedis': 'reload',
  'cache.localBytes': 'reload',
  'cache.defaultTtl': 'reload',
  'cache.ttl': 'reload',
  'cache.endpoints': 'reload',
  'cache.staleWhileRevalidate': 'reload',
  'cache.staleIfError': 'reload',
  'cache.encryptionKeyFile': 'restart',
  'cache.replicationLag': 'reload',
  'cache.compressionMinBytes': 'reload',
  'cache.snapshots': 'reload',
  'cache.divergenceCheck': 'reload',

  // The contents of these two are reloaded when they change; another path needs a restart.
  'access.users': 'restart',
  'access.tokens.keys': 'restart',
  'access.roles': 'reload',
  'access.customRoles': 'reload',
  'access.tokens.lifetime': 'reload',
  'access.tokens.issuers': 'reload',
  'access.limits': 'reload',
  'access.passthroughRole': 'reload',

  // A chain of audit records belongs to one file.
  'audit.file': 'restart',
  'audit.onFailure': 'reload',
  'audit.sync': 'reload',
  'audit.rotateAt': 'reload',

  'traces.endpoint': 'restart',
  'traces.headersFile': 'restart',
  'traces.sampleRatio': 'reload',
  'traces.maxPerSecond': 'reload',
  'traces.exemplars': 'restart',

  'log.level': 'reload',
  'log.format': 'restart',
}

/** Returns the effect of a setting, or of the group that contains it. Throws for a path that the table does not have. */
export function effectOf(path: readonly string[]): Effect {
  for (let length = path.length; length > 0; length--) {
    const effect = settingEffects[path.slice(0, length).join('.')]
    if (effect !== undefined) return effect
  }
  throw new Error(`src/config/effects.ts has no row for ${path.join('.')}`)
}
