/** Rows as the API returns them, and as tables have them. */
import { ALWAYS_NESTED, NESTED_IN_PAIRS } from '../nested-columns.ts'
import type { EngineRow } from './outcome.ts'
import type { EngineTable } from './tables.ts'

/** `scan: {id}` becomes `scan_id` in inventories, `os: {name}` becomes `os.name` for agents. */
export function flatRow(row: EngineRow, { nested }: EngineTable): Record<string, unknown> {
  if (nested === undefined) return { ...row }
  const joint = nested === 'inventory' ? '_' : '.'
  return Object.fromEntries(
    Object.entries(row).flatMap(([name, value]) => {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return [[name, value]]
      return Object.entries(value).map(([part, inner]) => [`${name}${joint}${part}`, inner])
    }),
  )
}

/** The selected columns that have a value; without a selection the row itself. */
export function shownRow(row: EngineRow, select: readonly string[] | undefined, table: EngineTable): EngineRow {
  if (select === undefined) return row
  const flat = flatRow(row, table)
  const names = [...new Set([...select, ...(table.alwaysSelected ?? [])])]
  const present = names.filter((name) => flat[name] !== undefined && flat[name] !== null)
  const result: Record<string, unknown> = {}
  for (const name of present) {
    const [prefix = '', ...rest] = name.split(table.nested === 'inventory' ? '_' : '.')
    if (rest.length === 0 || !isNested(prefix, present, table)) result[name] = flat[name]
    else {
      const inner = rest.join(table.nested === 'inventory' ? '_' : '.')
      result[prefix] = { ...(result[prefix] as object | undefined), [inner]: flat[name] }
    }
  }
  return result
}

function isNested(prefix: string, present: readonly string[], { nested }: EngineTable): boolean {
  if (nested === undefined) return false
  if (nested === 'dotted' || ALWAYS_NESTED.includes(prefix)) return true
  return NESTED_IN_PAIRS.includes(prefix) && present.filter((name) => name.startsWith(`${prefix}_`)).length > 1
}
