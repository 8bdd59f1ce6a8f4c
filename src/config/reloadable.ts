/**
 * The configuration of a running edge. `current` is one object for the whole life of the process: its groups stay the
 * same objects, and a reload replaces their members in place. So a part that reads `limits.timeout` when it needs the
 * value needs neither a listener nor a function call. A part that derives something from a setting registers with
 * `onReload`.
 */
import { isDeepStrictEqual } from 'node:util'
import { effectOf } from './effects.ts'
import { type Config, schema } from './schema.ts'
import { formatPath, getIn, isObject, type Leaf, listLeaves, removeIn, type SchemaNode, setIn } from './tree.ts'

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
  readonly initial: Config
  /** The settings in use. */
  readonly current: Config
  /** Parts are prepared in the order of their registration. */
  onReload(prepare: PrepareReload): void
  /** Puts a configuration to use: all of it that needs no restart, or nothing. Rejects with what a part cannot use. */
  apply(loaded: Config): Promise<ReloadResult>
}

export function createReloadableConfig(config: Config): ReloadableConfig {
  const current = copyGroups(schema, config) as Config
  const prepares: PrepareReload[] = []
  return {
    initial: config,
    current,
    onReload: (prepare) => void prepares.push(prepare),
    apply: async (loaded) => {
      const leaves = listLeaves(schema).filter(
        ({ path }) => !isDeepStrictEqual(getIn(loaded, path), getIn(current, path)),
      )
      const pending = leaves.filter((leaf) => needsRestart(leaf, current, loaded))
      const changed = leaves.filter((leaf) => !pending.includes(leaf))
      const next = copyGroups(schema, current) as Config
      replaceLeaves(next, changed, loaded)
      const applies: ApplyReload[] = []
      for (const prepare of prepares) applies.push(await prepare(next))
      replaceLeaves(current, changed, loaded)
      for (const apply of applies) apply()
      return { changed: changed.map(nameOf), pendingRestart: pending.map(nameOf) }
    },
  }
}

function needsRestart({ path }: Leaf, current: Config, loaded: Config): boolean {
  const effect = effectOf(path)
  if (effect === 'reload') return false
  return effect === 'restart' || !isSet(getIn(current, path)) || !isSet(getIn(loaded, path))
}

function isSet(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : value !== undefined
}

function nameOf({ path }: Leaf): string {
  return formatPath(path)
}

function replaceLeaves(target: Config, leaves: readonly Leaf[], source: Config): void {
  // `Config` is read-only for all parts; only a reload writes to it.
  const tree = target as unknown as Record<string, unknown>
  for (const { path } of leaves) {
    const value = getIn(source, path)
    if (value === undefined) removeIn(tree, path)
    else setIn(tree, path, value)
  }
}

/** Copies the groups of the schema. Values, lists and tables are shared: they are replaced as a whole. */
function copyGroups({ properties }: SchemaNode, value: unknown): unknown {
  if (properties === undefined || !isObject(value)) return value
  const members = Object.entries(value).map(([key, member]) => [key, copyGroups(properties[key] ?? {}, member)])
  return Object.fromEntries(members)
}
