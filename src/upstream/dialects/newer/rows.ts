/** Rows of the newer layout as rows of the classic one. */
import type { FieldRule, RowRule } from '../../../catalogue/newer/translation.ts'
import { values } from './values.ts'

type Row = Record<string, unknown>

interface Field {
  readonly path: readonly string[]
  /** The path with dots: a name may have dots itself, as in the answer of a list of fields. */
  readonly whole: string
  readonly rule: FieldRule
}

const converters = new WeakMap<RowRule, (row: unknown) => unknown>()

/** Returns the function that converts one row. It changes the row, which was parsed for this response only. */
export function createRowConverter(rule: RowRule | undefined): (row: unknown) => unknown {
  if (rule === undefined) return unchanged
  const known = converters.get(rule)
  if (known !== undefined) return known
  const converter = makeConverter(rule)
  converters.set(rule, converter)
  return converter
}

function unchanged(row: unknown): unknown {
  return row
}

function makeConverter({ fields = {}, unknownIsMissing, joined }: RowRule): (row: unknown) => unknown {
  const converted = Object.entries(fields).map(
    ([whole, field]): Field => ({ path: whole.split('.'), whole, rule: field }),
  )
  if (converted.length === 0 && unknownIsMissing === undefined && joined === undefined) return unchanged
  const kept = new Set(unknownIsMissing?.except)
  return (row) => {
    if (!isRow(row)) return row
    if (unknownIsMissing !== undefined) removeUnknown(row, kept)
    for (const field of converted) convertField(row, field)
    if (joined !== undefined) joinFields(row, joined)
    return row
  }
}

function joinFields(row: Row, { to, of }: NonNullable<RowRule['joined']>): void {
  const [first, second] = of.map((name) => row[name])
  for (const name of of) delete row[name]
  if (first !== undefined && second !== undefined) row[to] = `${first}/${second}`
}

function convertField(row: Row, { path, whole, rule }: Field): void {
  if (Object.hasOwn(row, whole)) {
    convertOwn(row, row, whole, rule)
    return
  }
  let parent = row
  for (const name of path.slice(0, -1)) {
    const inner = Object.hasOwn(parent, name) ? parent[name] : undefined
    if (!isRow(inner)) return
    parent = inner
  }
  const last = path.at(-1) ?? ''
  if (!Object.hasOwn(parent, last)) return
  convertOwn(row, parent, last, rule)
  const [first = ''] = path
  const outer = row[first]
  if (parent !== row && isRow(outer) && Object.keys(outer).length === 0) delete row[first]
}

/** A renamed field moves to its classic place, which has dots for nested objects. */
function convertOwn(row: Row, parent: Row, name: string, { to, value: rule, dropped, also }: FieldRule): void {
  const before = parent[name]
  if (dropped || to !== undefined) delete parent[name]
  if (dropped) return
  const value = rule === undefined ? before : values[rule](before)
  if (to === undefined) parent[name] = value
  else place(row, to.split('.'), value)
  const derived = also && values[also.value](before)
  if (also !== undefined && derived !== undefined) parent[also.to] = derived
}

function place(row: Row, path: readonly string[], value: unknown): void {
  let parent = row
  for (const name of path.slice(0, -1)) {
    const inner = Object.hasOwn(parent, name) ? parent[name] : undefined
    if (isRow(inner)) parent = inner
    else {
      const created: Row = {}
      parent[name] = created
      parent = created
    }
  }
  parent[path.at(-1) ?? ''] = value
}

const UNKNOWN = 'unknown'

/** Counted rows have a text for what agents lack; the classic layout leaves such fields out. */
function removeUnknown(row: Row, kept: ReadonlySet<string>): void {
  for (const [name, value] of Object.entries(row)) {
    if (kept.has(name)) continue
    if (isRow(value)) removeUnknown(value, NOTHING)
    const isEmpty = isRow(value) && Object.keys(value).length === 0
    const isUnknown = value === UNKNOWN || (Array.isArray(value) && value.length === 1 && value[0] === UNKNOWN)
    if (isEmpty || isUnknown) delete row[name]
  }
}

const NOTHING: ReadonlySet<string> = new Set()

function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
