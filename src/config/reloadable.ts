/**
 * The configuration of a running edge. A configuration never changes: a reload makes the next one, which replaces the
 * current one at once. So an option of a part that a reload may change is a function, which the part calls at each use. A
 * part that derives something from a setting registers with `onReload`.
 */
import { isDeepStrictEqual } from 'node:util'
import { type Config, schema } from './schema.ts'
import { deepFreeze, formatPath, getIn, isObject, listLeaves, type SchemaNode } from './tree.ts'

/**
 * Checks what a part needs of the next configuration and prepares it. Throws an `Error` for the operator if the part
 * cannot use it; nothing is changed then. Returns the function that puts it to use, which must not throw.
 */
export type PrepareReload = (next: Config) => ApplyReload | Promise<ApplyReload>
export type ApplyReload = () => void

export interface ReloadResult {
  /** Settings that changed, by path. */
  readonly changed: readonly string[]
  /** Settings whose value in the file differs from the one in use until the next start. */
  readonly pendingRestart: readonly string[]
}

export interface ReloadableConfig {
  /** The configuration at the start, for settings that change with a restart only. */
  readonly initial: Config
  /** Returns the settings in use, all of one configuration. */
  current(): Config
  /** Parts are prepared in the order of their registration. */
  onReload(prepare: PrepareReload): void
  /** Puts a configuration to use: all of it that needs no restart, or nothing. Rejects with what a part cannot use. */
  apply(loaded: Config): Promise<ReloadResult>
}

export function createReloadableConfig(config: Config): ReloadableConfig {
  const initial = deepFreeze(config)
  let current = initial
  const prepares: PrepareReload[] = []
  return {
    initial,
    current: () => current,
    onReload: (prepare) => void prepares.push(prepare),
    apply: async (loaded) => {
      const next = deepFreeze(takeReloaded(schema, current, loaded)) as Config
      const applies: ApplyReload[] = []
      for (const prepare of prepares) applies.push(await prepare(next))
      const result = { changed: listDifferences(next, current), pendingRestart: listDifferences(loaded, next) }
      current = next
      for (const apply of applies) apply()
      return result
    },
  }
}

function listDifferences(one: Config, other: Config): string[] {
  const leaves = listLeaves(schema).filter(({ path }) => !isDeepStrictEqual(getIn(one, path), getIn(other, path)))
  return leaves.map(({ path }) => formatPath(path))
}

/** Returns the current settings, with the values of the loaded ones that need no restart. Equal values stay the same objects. */
function takeReloaded(node: SchemaNode, current: unknown, loaded: unknown, path: readonly string[] = []): unknown {
  if (node.properties === undefined)
    return isDeepStrictEqual(current, loaded) || needsRestart(path, current, loaded) ? current : loaded
  const members = Object.entries(node.properties)
    .map(([key, member]) => [key, takeReloaded(member, getIn(current, [key]), getIn(loaded, [key]), [...path, key])])
    .filter(([, member]) => member !== undefined)
  return members.length > 0 || (isObject(current) && isObject(loaded)) ? Object.fromEntries(members) : undefined
}

function needsRestart(path: readonly string[], current: unknown, loaded: unknown): boolean {
  const effect = effectOf(path)
  return effect === 'restart' || (effect === 'reloadIfSet' && !(isSet(current) && isSet(loaded)))
}

function isSet(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : value !== undefined
}

/**
 * When a changed setting takes effect: the only place that states it. docs/configuration.md shows this table.
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
  throw new Error(`src/config/reloadable.ts has no row for ${path.join('.')}`)
}
