/** Rows of the newer layout as rows of the classic one. */
import type { FieldRule, RowRule } from '../../../catalogue/newer/translation.ts'
import { values } from './values.ts'

type Row = Record<string, unknown>

/** Returns the function that converts one row. It changes the row, which was parsed for this response only. */
export function createRowConverter(rule: RowRule | undefined): (row: unknown) => unknown {
  const fields = Object.entries(rule?.fields ?? {}).map(([name, field]) => ({ path: name.split('.'), field }))
  if (fields.length === 0) return (row) => row
  return (row) => {
    if (!isRow(row)) return row
    for (const { path, field } of fields) convertField(row, path, field)
    return row
  }
}

function convertField(row: Row, path: readonly string[], field: FieldRule): void {
  const [name = '', ...inner] = path
  // A name may have dots itself, as in the answer of a list of fields.
  const whole = path.join('.')
  if (Object.hasOwn(row, whole)) {
    convertOwn(row, whole, field)
    return
  }
  const value = Object.hasOwn(row, name) ? row[name] : undefined
  if (inner.length > 0 && isRow(value)) convertField(value, inner, field)
}

function convertOwn(row: Row, name: string, { to, value: rule, dropped }: FieldRule): void {
  const value = row[name]
  if (dropped || to !== undefined) delete row[name]
  if (dropped) return
  row[to ?? name] = rule === undefined ? value : values[rule](value)
}

function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
