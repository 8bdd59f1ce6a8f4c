/**
 * The database tables of the manager, written down a second time and independently of `src/collections/sources.ts`: a field that
 * one of the two files lacks or spells differently is a difference.
 */
import { type EngineTable, engineTables, type TableName } from '../../../support/engine/tables.ts'

export type ColumnKind = 'text' | 'number' | 'date' | 'day' | 'status' | 'label' | 'list'

export interface Table {
  readonly columns: Readonly<Record<string, ColumnKind>>
  /** SQL of the default order. */
  readonly order: { readonly column: string; readonly descending?: true }
  /** SQL expressions that replace a column in a sort. */
  readonly sortedBy?: Readonly<Record<string, readonly string[]>>
  /** Searched, never returned. */
  readonly hidden?: readonly string[]
  /** Columns that a search does not look at. */
  readonly unsearched?: readonly string[]
  /** A search for digits finds this column by number. */
  readonly searchedByNumber?: string
  readonly alwaysSelected?: readonly string[]
  readonly nested?: true
  /** Named parameters that are no columns, or have their own values. */
  readonly parameters?: Readonly<Record<string, Parameter>>
}

export interface Parameter {
  readonly anyOf?: readonly string[]
  readonly olderThan?: readonly [column: string, fallback: string]
  readonly values?: readonly string[]
  readonly code?: number
  readonly everything?: string
}

/** The engine of the recorded exchanges has the same columns. */
function ofEngine(name: TableName): Pick<Table, 'columns' | 'order'> {
  const { columns, order, dates = [] }: EngineTable = engineTables[name]
  const kinds = Object.entries(columns).map(([column, { type, epoch }]): [string, ColumnKind] => {
    if (epoch) return [column, 'day']
    return [column, dates.includes(column) ? 'date' : type === 'INTEGER' ? 'number' : 'text']
  })
  const { field: column, descending } = order
  return { columns: Object.fromEntries(kinds), order: { column, ...(descending && { descending }) } }
}

const inventories = Object.fromEntries(
  Object.entries<EngineTable>(engineTables)
    .filter(([, { nested }]) => nested === 'inventory')
    .map(([name]): [string, Table] => [name, { ...ofEngine(name as TableName), nested: true }]),
)

function texts(names: string): Table['columns'] {
  return Object.fromEntries(names.split(/\s+/).map((name) => [name, 'text']))
}

export const tables: Readonly<Record<string, Table>> = {
  agents: {
    columns: { ...ofEngine('agents').columns, version: 'label', status: 'status', group: 'list' },
    order: { column: 'id' },
    sortedBy: {
      status: ['"lastKeepAlive"'],
      'os.version': ['CAST("os.major" AS INTEGER)', 'CAST("os.minor" AS INTEGER)'],
    },
    hidden: ['internal_key'],
    unsearched: ['id', 'status'],
    searchedByNumber: 'id',
    alwaysSelected: ['id'],
    parameters: { status: { everything: 'all' }, older_than: { olderThan: ['lastKeepAlive', 'dateAdd'] } },
  },
  syscheck: { ...ofEngine('syscheck'), parameters: { hash: { anyOf: ['md5', 'sha1', 'sha256'] } } },
  rootcheck: {
    ...ofEngine('rootcheck'),
    parameters: { status: { values: ['outstanding', 'solved'], code: 1603, everything: 'all' } },
  },
  sca: {
    columns: { ...ofEngine('sca').columns, ...texts('start_scan end_scan') },
    order: { column: 'policy_id', descending: true },
  },
  scaChecks: {
    columns: {
      id: 'number',
      ...texts(`policy_id title description rationale remediation file process directory registry command references
        result status reason condition compliance rules`),
    },
    order: { column: 'policy_id', descending: true },
  },
  ...inventories,
}
