/**
 * Settings that were renamed. The old name is accepted with a warning, in the file and as an environment variable.
 * If the file, or the environment, has both names, that is a fault, because one of the two values would be ignored.
 */
import { isObject } from '../core/values.ts'
import type { ConfigSource, Fault } from './source.ts'
import { getIn, type Path, pathOf, removeIn, setIn, startsWith, withoutNulls } from './tree.ts'

export interface Renamed {
  /** A setting, or a group whose members keep their names. */
  readonly from: string
  readonly to: string
  /** The first version with the new name. */
  readonly since: string
  /** Values that were renamed as well, old to new. */
  readonly values?: Readonly<Record<string, string>>
}

/** `delay` acknowledged writes that other replicas could not see. It holds only where an operator has written it. */
const WRITES_WITHOUT_REDIS = {
  to: 'cache.writesWithoutRedis',
  since: '0.2.0',
  values: { delay: 'sendAndRiskStaleReads' },
}

/** Members come before the group that contains them. */
export const renamedSettings: readonly Renamed[] = [
  { from: 'listen.limits.query', to: 'listen.limits.queryParameters', since: '0.2.0' },
  { from: 'listen.limits.fields', to: 'listen.limits.body', since: '0.2.0' },
  { from: 'listen.drain.notice', to: 'listen.drain.delay', since: '0.2.0' },
  { from: 'cache.onLostStore', ...WRITES_WITHOUT_REDIS },
  { from: 'cache.onUnreachableStore', ...WRITES_WITHOUT_REDIS },
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
    if (written.has(row) || isTaken(getIn(tree, toPath), value)) {
      faults.push({ ...where, message: describeConflict(from, to) })
      continue
    }
    const renamed = renamedValue(row, value)
    mergeIn(tree, toPath, renamed)
    moved.push({ from: fromPath, to: toPath })
    const current = renamed === value ? to : `${to}: ${renamed}`
    deprecations.push(deprecationOf(from, current, since, where.place))
  }
  const toWritten = (path: Path): Path => {
    const row = moved.find(({ to }) => startsWith(path, to))
    return row === undefined ? path : [...row.from, ...path.slice(row.to.length)]
  }
  const place: ConfigSource['place'] = (path, target) => source.place(toWritten(path), target)
  return { source: { tree, faults: [...source.faults, ...faults], place }, deprecations }
}

/** An old path of a setting, and the row that renamed it. */
export interface OldName {
  readonly path: readonly string[]
  readonly row: Renamed
}

export function oldNamesOf(path: readonly string[]): OldName[] {
  const first = renamedSettings.find(({ to }) => startsWith(path, pathOf(to)))
  return renamedSettings
    .filter(({ to }) => to === first?.to)
    .map((row) => ({ path: [...pathOf(row.from), ...path.slice(pathOf(row.to).length)], row }))
}

export function renamedValue({ values }: Renamed, value: unknown): unknown {
  return (typeof value === 'string' ? values?.[value] : undefined) ?? value
}

/** `place`: where the old name is in the file; empty for an environment variable. */
export function deprecationOf(oldName: string, name: string, since: string, place = ''): Deprecation {
  const where = place === '' ? oldName : `${place} ${oldName}`
  return { name: oldName, message: `${where}: is deprecated since ${since}; write ${name}` }
}

export function describeConflict(oldName: string, name: string): string {
  return `is the old name of ${name}, which is set too; remove ${oldName}`
}

/** Whether a value, or one of the members of a group, is there already. */
function isTaken(present: unknown, value: unknown): boolean {
  if (present === undefined) return false
  return !isObject(present) || !isObject(value) || Object.keys(value).some((key) => Object.hasOwn(present, key))
}

/** Sets a value. The members of a group are added to those that are there. */
function mergeIn(tree: Record<string, unknown>, path: readonly string[], value: unknown): void {
  const present = getIn(tree, path)
  setIn(tree, path, isObject(present) && isObject(value) ? { ...present, ...value } : value)
}
