/** The names of fields in `select`, `sort` and `q`: classic names become newer ones. */
import type { RowRule } from '../../../catalogue/newer/translation.ts'
import { ownEntry } from '../../../core/values.ts'

/** Returns the newer name of a classic field. */
export function newerName(name: string, rows: RowRule | undefined): string {
  return ownEntry(newerNames(rows), name) ?? name
}

const tables = new WeakMap<RowRule, Readonly<Record<string, string>>>()

function newerNames(rows: RowRule | undefined): Readonly<Record<string, string>> {
  if (rows === undefined) return {}
  const known = tables.get(rows)
  if (known !== undefined) return known
  const renamed = Object.entries(rows.fields ?? {}).flatMap(([newer, { to }]) =>
    to === undefined ? [] : [[to, newer]],
  )
  const table = Object.fromEntries(renamed) as Record<string, string>
  tables.set(rows, table)
  return table
}

export function renameInSelect(select: string, rows: RowRule | undefined): string {
  return select
    .split(',')
    .map((name) => newerName(name, rows))
    .join(',')
}

export function renameInSort(sort: string, rows: RowRule | undefined): string {
  return sort
    .split(',')
    .map((field) => field.replace(/[^+\- ].*$/, (name) => newerName(name, rows)))
    .join(',')
}

/** A condition is a name, an operator and a value, joined by `;` and `,`, with brackets. */
export function renameInQ(q: string, rows: RowRule | undefined): string {
  return q.replace(/(^|[;,(])([A-Za-z0-9_.-]+)(?=[=!<>~])/g, (_, before: string, name: string) => {
    return before + newerName(name, rows)
  })
}
