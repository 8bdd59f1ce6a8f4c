/** Random rows, and how nodes write them. */
import fc from 'fast-check'
import { ALWAYS_NESTED, NESTED_IN_PAIRS } from '../../../support/nested-columns.ts'
import type { ColumnKind, Table } from './tables.ts'

/** A row by columns, dotted names included; `null`: no value. */
export type FlatRow = Readonly<Record<string, string | number | readonly string[] | null>>

/** Values that rows and queries share, so that queries find something. */
export const TEXTS = [
  ...['alpha', 'Alpha', 'ALPHABET', 'beta', 'a_b', 'axb', 'a%b', 'a,b', '%', '_', '', ' ', ' pad ', '"quoted"', "it's"],
  ...['10', '9', '010', '1e1', '-3', '2.5', '0', '42', 'null', 'all', 'true', 'back\\slash'],
  ...[
    'ä',
    'Ä',
    'MÜLLER',
    'müller',
    'straße',
    'STRASSE',
    'ΣΑΣ',
    'İstanbul',
    '日本',
    'é',
    'e\u0301',
    '\u212a',
    '𝒳y',
    'z\ue000',
    '😀b',
    'a😀b',
  ],
] as const
const LABELS = ['Wazuh v3.11.4', 'Wazuh v3.9.0', 'wazuh V3.11.4', 'v3', 'Wazuhv3.9.0', ''] as const
const STATES = ['Active', 'Disconnected', 'Pending', 'Never connected', 'active', 'Neverconnected'] as const
/** Times around the borders of the time frames of the queries. */
export const TIMES = [
  ...[
    '2026-11-20 12:00:00',
    '2026-11-20 11:59:59',
    '2026-11-20 11:58:30',
    '2026-11-20 11:40:00',
    '2026-11-20 09:00:00',
  ],
  ...[
    '2026-11-19 12:00:00',
    '2026-11-19 11:59:59',
    '2026-11-19 10:00:00',
    '2026-11-13 12:00:00',
    '2025-01-01 00:00:00',
  ],
] as const
export const MEMBERS = ['default', 'dmz', 'DMZ', 'web-01', 'a_b', 'Ä', '7'] as const

const numbers = fc.oneof(
  fc.integer({ min: -3, max: 12 }),
  fc.constantFrom(0, 2.5, -0.25, 100, 1005, 2 ** 31, 2 ** 40),
  fc.constantFrom('7', '11', 'n/a', ''),
)

function cellOf(kind: ColumnKind): fc.Arbitrary<string | number | readonly string[]> {
  switch (kind) {
    case 'number':
      return numbers
    case 'date':
    case 'day':
      return fc.constantFrom(...TIMES)
    case 'status':
      return fc.constantFrom(...STATES)
    case 'label':
      return fc.constantFrom(...LABELS)
    case 'list':
      return fc.subarray([...MEMBERS])
    case 'text':
      return fc.constantFrom(...TEXTS)
  }
}

/** Rows of a table by columns. Agents have an id of three digits, as nodes write it. */
export function rowsOf(table: Table): fc.Arbitrary<FlatRow[]> {
  const hidden = Object.fromEntries((table.hidden ?? []).map((name) => [name, 'text' as const]))
  const columns = Object.entries<ColumnKind>({ ...table.columns, ...hidden }).map(([name, kind]) => {
    const value: fc.Arbitrary<FlatRow[string]> =
      name === table.searchedByNumber
        ? fc.nat({ max: 1200 }).map((id) => String(id).padStart(3, '0'))
        : fc.option(cellOf(kind), { freq: 4 })
    return [name, value] as const
  })
  return fc.array(fc.record(Object.fromEntries(columns)), { maxLength: 12 })
}

/** Returns a row as nodes write it: dotted names nested, and in inventories the columns with a common prefix. */
export function nestedRow(row: FlatRow, isInventory: boolean): Record<string, unknown> {
  const names = Object.keys(row).filter((name) => row[name] !== null)
  const result: Record<string, unknown> = {}
  for (const name of names) {
    const [prefix = '', ...rest] = name.split(isInventory ? '_' : '.')
    const inPrefix = names.filter((other) => other.startsWith(`${prefix}_`)).length
    const isNested = isInventory
      ? ALWAYS_NESTED.includes(prefix) || (NESTED_IN_PAIRS.includes(prefix) && inPrefix > 1)
      : true
    if (rest.length === 0 || !isNested) result[name] = row[name]
    else result[prefix] = { ...(result[prefix] as object), [rest.join(isInventory ? '_' : '.')]: row[name] }
  }
  return result
}
