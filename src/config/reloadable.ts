/**
 * The configuration of a running edge. A configuration never changes: a reload makes the next one, which replaces the
 * current one at once. So an option of a part that a reload may change is a function, which the part calls at each use:
 * `current` for all settings, or what `derive` returns for some of them. And what replicas compare of their configurations.
 */
import { isDeepStrictEqual } from 'node:util'
import { digestText, type SettingDigests } from '../core/settings.ts'
import { isObject } from '../core/values.ts'
import { type Config, schema } from './schema.ts'
import { deepFreeze, type Effect, formatPath, getIn, listLeaves, pathOf, type SchemaNode, startsWith } from './tree.ts'

/**
 * Checks what a part needs of the next configuration and prepares it. Throws an `Error` for the operator if the part
 * cannot use it; nothing is changed then. Returns the function that puts it to use, which must not throw.
 */
type PrepareReload = (next: Config) => ApplyReload | Promise<ApplyReload>
type ApplyReload = () => void

interface ReloadResult {
  readonly changed: readonly string[]
  /** Settings whose value in the file differs from the one in use until the next start. */
  readonly pendingRestart: readonly string[]
}

export type ReloadableConfig = ReturnType<typeof createReloadableConfig>

export function createReloadableConfig(config: Config) {
  const initial = deepFreeze(config)
  let current = initial
  const prepares: PrepareReload[] = []
  return {
    /** The configuration at the start, for settings that change with a restart only. */
    initial,
    /** Returns the settings in use, all of one configuration. */
    current: (): Config => current,
    /**
     * Returns a function that returns what `make` made of the settings in use. Called again only at a reload, `make` may
     * throw an `Error` for the operator.
     */
    derive: <T>(make: (config: Config) => T): (() => T) => {
      let made = make(current)
      prepares.push((next) => {
        const replacement = make(next)
        return () => {
          made = replacement
        }
      })
      return () => made
    },
    /** Parts are prepared in the order of their registration. */
    onReload: (prepare: PrepareReload): void => void prepares.push(prepare),
    /** Puts a configuration to use: all of it that needs no restart, or nothing. Rejects with what a part cannot use. */
    apply: async (loaded: Config): Promise<ReloadResult> => {
      const next = deepFreeze(takeReloaded(schema, current, loaded)) as Config
      const applies: ApplyReload[] = []
      for (const prepare of prepares) applies.push(await prepare(next))
      const result = { changed: listDifferences(next, current), pendingRestart: listDifferences(loaded, next) }
      current = next
      for (const apply of applies) apply()
      return result
    },
    /** Reads the files that the settings in use name again. A part that cannot use its own keeps what it has. Returns the reasons. */
    readFilesAgain: async (): Promise<string[]> => {
      const faults: string[] = []
      for (const prepare of prepares) {
        try {
          const apply = await prepare(current)
          apply()
        } catch (error) {
          faults.push(String(error instanceof Error ? error.message : error))
        }
      }
      return faults
    },
  }
}

function listDifferences(one: Config, other: Config): string[] {
  const leaves = listLeaves(schema).filter(({ path }) => !isDeepStrictEqual(getIn(one, path), getIn(other, path)))
  return leaves.map(({ path }) => formatPath(path))
}

/** Returns the current settings, with the values of the loaded ones that need no restart. Equal values stay the same objects. */
function takeReloaded(node: SchemaNode, current: unknown, loaded: unknown, around: Effect = 'reload'): unknown {
  const { properties, effect = around } = node
  if (properties === undefined)
    return isDeepStrictEqual(current, loaded) || needsRestart(effect, current, loaded) ? current : loaded
  const members = Object.entries(properties)
    .map(([key, member]) => [key, takeReloaded(member, getIn(current, [key]), getIn(loaded, [key]), effect)])
    .filter(([, member]) => member !== undefined)
  return members.length > 0 || (isObject(current) && isObject(loaded)) ? Object.fromEntries(members) : undefined
}

function needsRestart(effect: Effect, current: unknown, loaded: unknown): boolean {
  return effect === 'restart' || (effect === 'reloadIfSet' && !(isSet(current) && isSet(loaded)))
}

function isSet(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : value !== undefined
}

const SHARED = ['access', 'cache', 'cluster'].map(pathOf)
/** Paths of files, which may lie elsewhere on each machine, ways to the nodes and to Redis, and the memory of a machine. */
const OF_THE_MACHINE = [
  'access.users',
  'access.tokens.keys',
  'cache.redis',
  'cache.localBytes',
  'cache.encryptionKeyFile',
  'cluster.nodes',
  'cluster.addresses',
  'cluster.tls',
  'cluster.credentials.passwordFile',
].map(pathOf)

/**
 * Returns digests of the settings that replicas on one Redis must share. If they differ, each replica gives clients another
 * answer. Secrets are left out: who reads Redis must not be able to try passwords.
 */
export function digestSharedSettings(config: Config): SettingDigests {
  const shared = listLeaves(schema).filter(
    ({ path, schema: { secret } }) =>
      secret !== true &&
      SHARED.some((head) => startsWith(path, head)) &&
      !OF_THE_MACHINE.some((head) => startsWith(path, head)),
  )
  return Object.fromEntries(
    shared.map(({ path }) => {
      const text = JSON.stringify(sortKeys(getIn(config, path))) ?? 'none'
      return [formatPath(path), digestText(text)]
    }),
  )
}

/** Tables mean the same in each order of their keys. */
function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys)
  if (!isObject(value)) return value
  const sorted = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(sorted.map(([key, member]) => [key, sortKeys(member)]))
}
