/**
 * The database tables of the manager, written down a second time and independently of `src/collections/sources.ts`: a field that
 * one of the two files lacks or spells differently is a difference.
 */
import { type EngineTable, engineTables } from '../../../support/engine/tables.ts'

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
  /** Named parameters that are no columns, or have values of their own. */
  readonly parameters?: Readonly<Record<string, Parameter>>
}

export interface Parameter {
  readonly anyOf?: readonly string[]
  readonly olderThan?: readonly [column: string, fallback: string]
  readonly values?: readonly string[]
  readonly code?: number
  readonly everything?: string
}

/** `size#` is a number, `mtime@` a day, `lastKeepAlive@@` a date; everything else is text. */
function columns(names: string): Readonly<Record<string, ColumnKind>> {
  const kindOf = (name: string): ColumnKind =>
    name.endsWith('@@') ? 'date' : name.endsWith('@') ? 'day' : name.endsWith('#') ? 'number' : 'text'
  return Object.fromEntries(names.split(/\s+/).map((name) => [name.replace(/[@#]+$/, ''), kindOf(name)]))
}

/** The engine of the recorded exchanges has the same inventories. */
const inventories = Object.fromEntries(
  Object.entries<EngineTable>(engineTables)
    .filter(([, { nested }]) => nested === 'inventory')
    .map(([name, table]): [string, Table] => {
      const kinds = Object.entries(table.columns).map(([column, { type }]): [string, ColumnKind] => {
        return [column, type === 'INTEGER' ? 'number' : 'text']
      })
      return [name, { columns: Object.fromEntries(kinds), order: { column: table.order.field }, nested: true }]
    }),
)

export const tables: Readonly<Record<string, Table>> = {
  agents: {
    columns: {
      ...columns(
        'id# name ip registerIP manager node_name mergedSum configSum os.arch os.build os.codename os.major os.minor',
      ),
      ...columns('os.name os.platform os.uname os.version lastKeepAlive@@ dateAdd@@'),
      version: 'label',
      status: 'status',
      group: 'list',
    },
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
  syscheck: {
    columns: columns('file type uname gname uid gid perm md5 sha1 sha256 size# inode# date@ mtime@'),
    order: { column: 'mtime' },
    parameters: { hash: { anyOf: ['md5', 'sha1', 'sha256'] } },
  },
  rootcheck: {
    columns: columns('event pci cis status oldDay@ readDay@'),
    order: { column: 'readDay', descending: true },
    parameters: { status: { values: ['outstanding', 'solved'], code: 1603, everything: 'all' } },
  },
  sca: {
    columns: columns(
      'policy_id name description references hash_file start_scan end_scan total_checks# pass# fail# invalid# score#',
    ),
    order: { column: 'policy_id', descending: true },
  },
  scaChecks: {
    columns: columns(`id# policy_id title description rationale remediation file process directory registry command
      references result status reason condition compliance rules`),
    order: { column: 'policy_id', descending: true },
  },
  ...inventories,
}
