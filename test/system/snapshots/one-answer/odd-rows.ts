/** Rows that show how an engine compares: odd texts, equal ones, missing members, midnight, numbers as texts. */
import { engineCollectionOf } from '../../../support/engine/collections.ts'
import type { EngineItem } from '../../../support/engine/outcome.ts'

const ODD_TEXTS = ['007', '7', 'MÜLLER', 'müller', "it's", 'a_b', 'axb', 'null', 'all', '', ' pad', '1.0dev2', '\u212a']
/** Collections with this many rows have several pages, and reach the borders of a page. */
const MANY_ROWS = 620
const COLLECTIONS_WITH_MANY_ROWS = /^\/syscheck\/|\/packages$/
/** Names of other objects, or lists and objects: they stay as they are. */
const UNCHANGED = ['id', 'file', 'position', 'level', 'status', 'lastKeepAlive', 'dateAdd', 'node_name', 'group']

/** Returns the rows with some changed copies behind them. Rows that are texts stay as they are. */
export function withOddRows(path: string, rows: readonly EngineItem[]): readonly EngineItem[] {
  const collection = engineCollectionOf(path)
  const first = rows[0]
  if (collection?.kind !== 'database' || first === undefined || typeof first === 'string') return rows
  if (path.startsWith('/agents')) return rows
  const wanted = COLLECTIONS_WITH_MANY_ROWS.test(path) ? Math.max(MANY_ROWS, rows.length + 20) : rows.length + 20
  const copies = Array.from({ length: wanted - rows.length }, (_, at) => oddCopy(rows[at % rows.length] ?? '', at))
  const { order } = collection.collection.table
  return inOrder([...rows, ...copies], order.field, order.descending === true)
}

function oddCopy(row: EngineItem, at: number): EngineItem {
  if (typeof row === 'string') return row
  const names = Object.keys(row).filter((name) => typeof row[name] === 'string' && !UNCHANGED.includes(name))
  const name = names[at % Math.max(1, names.length)] ?? ''
  const file = 'file' in row ? { file: `${row.file}.${at}` } : {}
  if (/^\d{4}-\d\d-\d\d /.test(String(row[name]))) {
    return { ...row, ...file, [name]: `${String(row[name]).slice(0, 10)} 00:00:00` }
  }
  if (at % 5 === 4) return { ...Object.fromEntries(Object.entries(row).filter(([each]) => each !== name)), ...file }
  return { ...row, ...file, [name]: ODD_TEXTS[at % ODD_TEXTS.length] }
}

/** A node returns rows in their default order, which a snapshot has too. */
function inOrder(rows: readonly EngineItem[], field: string, descending: boolean): readonly EngineItem[] {
  if (field === 'scan_id') return rows
  const cellOf = (row: EngineItem) => (typeof row === 'string' ? row : String(row[field] ?? ''))
  return [...rows].sort((a, b) => (descending ? -1 : 1) * (cellOf(a) < cellOf(b) ? -1 : cellOf(a) > cellOf(b) ? 1 : 0))
}
