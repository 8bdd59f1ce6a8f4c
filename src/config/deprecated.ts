/**
 * Settings that were renamed. The old name is accepted with a warning, in the file and as an environment variable.
 * If the file, or the environment, has both names, that is a fault, because one of the two values would be ignored.
 */
import type { ConfigSource, Fault } from './faults.ts'
import { getIn, isObject, type Path, pathOf, removeIn, setIn, startsWith, withoutNulls } from './tree.ts'

interface Renamed {
  /** A setting, or a group whose members keep their names. */
  readonly from: string
  readonly to: string
  /** The first version with the new name. */
  readonly since: string
}

/** Members come before the group that contains them. */
export const renamedSettings: readonly Renamed[] = [
  { from: 'listen.limits.query', to: 'listen.limits.queryParameters', since: '0.2.0' },
  { from: 'listen.limits.fields', to: 'listen.limits.body', since: '0.2.0' },
  { from: 'listen.drain.notice', to: 'listen.drain.delay', since: '0.2.0' },
  { from: 'cache.onLostStore', to: 'cache.onUnreachableStore', since: '0.2.0' },
  { from: 'cache.nearBytes', to: 'cache.localBytes', since: '0.2.0' },
  { from: 'cache.defaultDuration', to: 'cache.defaultTtl', since: '0.2.0' },
  { from: 'cache.durations', to: 'cache.ttl', since: '0.2.0' },
  { from: 'cache.syncPeriods', to: 'cache.replicationLag', since: '0.2.0' },
  { from: 'cache.compressFrom', to: 'cache.compressionMinBytes', since: '0.2.0' },
  { from: 'cache.verify.share', to: 'cache.divergenceCheck.sampleRatio', since: '0.2.0' },
  { from: 'cache.verify.perSecond', to: 'cache.divergenceCheck.maxPerSecond', since: '0.2.0' },
  { from: 'cache.verify', to: 'cache.divergenceCheck', since: '0.2.0' },
  { from: 'access.ownRoles', to: 'access.customRoles', since: '0.2.0' },
  { from: 'access.limits.requests', to: 'access.limits.requestsPerSecond', since: '0.2.0' },
  { from: 'traces.share', to: 'traces.sampleRatio', since: '0.2.0' },
  { from: 'traces.perSecond', to: 'traces.maxPerSecond', since: '0.2.0' },
]

/** A renamed setting that is written with its old name. */
export interface Deprecation {
  /** The old name: a path of the file, or an environment variable. */
  readonly name: string
  /** One line with the place, the old name and the new name. */
  readonly message: string
}

/** Returns the source with the new names. The places of its values are still those of the old names in the file. */
export function renameSettings(source: ConfigSource): { source: ConfigSource; deprecations: Deprecation[] } {
  const tree = withoutNulls(source.tree)
  const moved: { readonly from: Path; readonly to: Path }[] = []
  const faults: Fault[] = []
  const deprecations: Deprecation[] = []
  const rows = renamedSettings.map((row) => ({ ...row, fromPath: pathOf(row.from), toPath: pathOf(row.to) }))
  const written = new Set(rows.filter(({ toPath }) => getIn(tree, toPath) !== undefined))
  for (const row of rows) {
    const { from, to, since, fromPath, toPath } = row
    const value = getIn(tree, fromPath)
    if (value === undefined) continue
    removeIn(tree, fromPath)
    const where = { ...source.place(fromPath, 'key'), path: fromPath }
    if (written.has(row) || haveCommonKey(value, getIn(tree, toPath))) {
      faults.push({ ...where, message: describeConflict(from, to) })
      continue
    }
    mergeIn(tree, toPath, value)
    moved.push({ from: fromPath, to: toPath })
    deprecations.push(deprecationOf(from, to, since, where.place))
  }
  const toWritten = (path: Path): Path => {
    const row = moved.find(({ to }) => startsWith(path, to))
    return row === undefined ? path : [...row.from, ...path.slice(row.to.length)]
  }
  const place: ConfigSource['place'] = (path, target) => source.place(toWritten(path), target)
  return { source: { tree, faults: [...source.faults, ...faults], place }, deprecations }
}

/** Returns the old path of a setting, and the version that renamed it. */
export function oldNameOf(path: readonly string[]): { path: readonly string[]; since: string } | undefined {
  const row = renamedSettings.find(({ to }) => startsWith(path, pathOf(to)))
  if (row === undefined) return undefined
  return { path: [...pathOf(row.from), ...path.slice(pathOf(row.to).length)], since: row.since }
}

/** `place`: where the old name is in the file; empty for an environment variable. */
export function deprecationOf(oldName: string, name: string, since: string, place = ''): Deprecation {
  const where = place === '' ? oldName : `${place} ${oldName}`
  return { name: oldName, message: `${where}: is deprecated since ${since}; write ${name}` }
}

export function describeConflict(oldName: string, name: string): string {
  return `is the old name of ${name}, which is set too; remove ${oldName}`
}

function haveCommonKey(one: unknown, other: unknown): boolean {
  return isObject(one) && isObject(other) && Object.keys(one).some((key) => Object.hasOwn(other, key))
}

/** Sets a value. The members of a group are added to those that are there. */
function mergeIn(tree: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const present = getIn(tree, path)
  setIn(tree, path, isObject(present) && isObject(value) ? { ...present, ...value } : value)
}
