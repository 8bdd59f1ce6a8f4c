/** What a rule for rows means: rows of the v4 layout become rows of the v3 one. */
import type { FieldRule, RowRule, ValueRule } from '../../contracts/translations/translation.ts'
import { isObject, ownField } from '../../core/values.ts'
import { toFileMode } from './file-modes.ts'

export type NodeRow = Record<string, unknown>

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
    if (!isObject(row)) return row
    if (unknownIsMissing !== undefined) removeUnknown(row, kept)
    for (const field of converted) convertField(row, field)
    if (joined !== undefined) joinFields(row, joined)
    return row
  }
}

function joinFields(row: NodeRow, { to, of }: NonNullable<RowRule['joined']>): void {
  const [first, second] = of.map((name) => row[name])
  for (const name of of) delete row[name]
  if (first !== undefined && second !== undefined) row[to] = `${first}/${second}`
}

function convertField(row: NodeRow, { path, whole, rule }: Field): void {
  if (Object.hasOwn(row, whole)) {
    convertOwn(row, row, whole, rule)
    return
  }
  let parent = row
  for (const name of path.slice(0, -1)) {
    const inner = Object.hasOwn(parent, name) ? parent[name] : undefined
    if (!isObject(inner)) return
    parent = inner
  }
  const last = path.at(-1) ?? ''
  if (!Object.hasOwn(parent, last)) return
  convertOwn(row, parent, last, rule)
  const [first = ''] = path
  const outer = row[first]
  if (parent !== row && isObject(outer) && Object.keys(outer).length === 0) delete row[first]
}

/** A renamed field moves to its v3 place, which has dots for nested objects. */
function convertOwn(row: NodeRow, parent: NodeRow, name: string, { to, value: rule, dropped, also }: FieldRule): void {
  const before = parent[name]
  if (dropped || to !== undefined) delete parent[name]
  if (dropped) return
  const value = rule === undefined ? before : values[rule](before)
  if (to === undefined) parent[name] = value
  else place(row, to.split('.'), value)
  const derived = also && values[also.value](before)
  if (also !== undefined && derived !== undefined) parent[also.to] = derived
}

function place(row: NodeRow, path: readonly string[], value: unknown): void {
  let parent = row
  for (const name of path.slice(0, -1)) {
    const inner = Object.hasOwn(parent, name) ? parent[name] : undefined
    if (isObject(inner)) parent = inner
    else {
      const created: NodeRow = {}
      parent[name] = created
      parent = created
    }
  }
  parent[path.at(-1) ?? ''] = value
}

const UNKNOWN = 'unknown'

/** Counted rows have a text for what agents lack; the v3 layout leaves such fields out. */
function removeUnknown(row: NodeRow, kept: ReadonlySet<string>): void {
  for (const [name, value] of Object.entries(row)) {
    if (kept.has(name)) continue
    if (isObject(value)) removeUnknown(value, NOTHING)
    const isEmpty = isObject(value) && Object.keys(value).length === 0
    const isUnknown = value === UNKNOWN || (Array.isArray(value) && value.length === 1 && value[0] === UNKNOWN)
    if (isEmpty || isUnknown) delete row[name]
  }
}

const NOTHING: ReadonlySet<string> = new Set()

type ConvertValue = (value: unknown) => unknown

const DATE = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}:\d{2}:\d{2})(\.\d+)?(?:Z|\+00:00)$/

/** The forms of values of the v4 layout in the v3 one. A value of another form stays as it is. */
export const values: Readonly<Record<ValueRule, ConvertValue>> = {
  date: ofText((text) => text.replace(DATE, '$1-$2-$3 $4')),
  slashedDate: ofText((text) => text.replace(DATE, '$1/$2/$3 $4')),
  preciseDate: ofText((text) => text.replace(DATE, '$1-$2-$3 $4$5')),
  longDate: ofText(toLongDate),
  agentStatus: ofText((text) => AGENT_STATUS.get(text) ?? text),
  daemon: ofText((text) =>
    text.replace(/^wazuh-manager-/, 'wazuh-').replace(/^wazuh-(?!(?:clusterd|modulesd|db|apid)(?:$|:))/, 'ossec-'),
  ),
  daemonState: (value) => (ownField(value, 'running') === true ? 'running' : 'stopped'),
  scanTime: (value) => (value === null ? 'ND' : values.date(value)),
  patterns: toPatterns,
  permissions: toFileMode,
  nonBlank: (value) => (typeof value === 'string' && value.trim() === '' ? undefined : value),
  syscheckType: (value) => (value === 'registry_key' || value === 'registry_value' ? 'registry' : value),
  checkResult: (value) => (value === NOT_APPLICABLE ? '' : value),
  checkStatus: (value) => (value === NOT_APPLICABLE ? 'Not applicable' : undefined),
  integer: (value) => (typeof value === 'number' && !Number.isInteger(value) ? Math.trunc(value) : value),
}

const NOT_APPLICABLE = 'not applicable'

const AGENT_STATUS: ReadonlyMap<string, string> = new Map([
  ['active', 'Active'],
  ['pending', 'Pending'],
  ['never_connected', 'Never connected'],
  ['disconnected', 'Disconnected'],
])

/** Options of rules and decoders: `{match: {pattern: 'x', type: 'pcre2'}}` is `{match: 'x'}` in the v3 layout. */
function toPatterns(options: unknown): unknown {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) return options
  return Object.fromEntries(Object.entries(options).map(([name, option]) => [name, toPattern(option)]))
}

function toPattern(option: unknown): unknown {
  const isPattern = typeof option === 'object' && option !== null && Object.hasOwn(option, 'pattern')
  return isPattern ? (option as { readonly pattern: unknown }).pattern : option
}

function toLongDate(text: string): string {
  const parts = DATE.test(text) ? /^(\w+), (\d+) (\w+) (\d+) ([\d:]+) GMT$/.exec(new Date(text).toUTCString()) : null
  if (parts === null) return text
  const [, weekday = '', day = '', month = '', year = '', time = ''] = parts
  return `${weekday} ${month} ${String(Number(day)).padStart(2)} ${time} UTC ${year}`
}

function ofText(convert: (text: string) => string): ConvertValue {
  return (value) => (typeof value === 'string' ? convert(value) : value)
}
