/**
 * The database tables of a manager as its engine reads them: the API's field names, the stored columns with their types,
 * dates as the numbers or texts that are stored. Sources: the interface facts, the recorded exchanges, and the measured
 * differences of a real cluster. No code of the edge is used, but the table of inventories.
 */
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { schemas } from '../../../packages/reference/src/schemas.ts'
import {
  ciscatFields,
  fieldsOf,
  type Inventory,
  type InventoryKind,
  inventories,
  inventoryKinds,
} from '../../../src/contracts/v3/inventories.ts'

export type ColumnType = 'INTEGER' | 'TEXT'

export interface Column {
  readonly type: ColumnType
  /** Stored as seconds since 1970, shown as `YYYY-MM-DD HH:MM:SS`. */
  readonly epoch?: true
}

export interface EngineTable {
  /**
   * `sqlite`: the engine reads the file itself and binds values. `wdb`: a daemon reads it; values are written into the
   * statement, digits as numbers, and rows come in slices of 20.
   */
  readonly backend: 'sqlite' | 'wdb'
  readonly columns: Readonly<Record<string, Column>>
  readonly order: { readonly field: string; readonly descending?: true }
  /** Rows are flat (`scan_id`), and are returned nested (`scan: {id}`). */
  readonly nested?: 'inventory' | 'dotted'
  readonly alwaysSelected?: readonly string[]
  /** Rows that a sort leaves open have the order of the table, except those of indexed columns. Absent: it is not known. */
  readonly keepsTies?: { readonly exceptOf: readonly string[] }
  /** Date fields of `q`. */
  readonly dates?: readonly string[]
}

/** `size#` is a number, `mtime@` a date that is stored as a number; all others are texts. */
function columns(names: string): Readonly<Record<string, Column>> {
  return Object.fromEntries(
    names
      .trim()
      .split(/\s+/)
      .map((name): [string, Column] => {
        if (name.endsWith('#')) return [name.slice(0, -1), { type: 'INTEGER' }]
        if (name.endsWith('@')) return [name.slice(0, -1), { type: 'INTEGER', epoch: true }]
        return [name, { type: 'TEXT' }]
      }),
  )
}

const facts = parse(readFileSync('test/contract/data/v4-fields.yaml', 'utf8')) as Readonly<
  Record<string, readonly { readonly fields: readonly string[] }[]>
>

/** Fields that rows have in the v4 layout only. */
const OF_V4_ONLY = ['os_release', 'os.display_version']

/**
 * The columns are the fields that a real node has named, with the types that the schema of the rows has. Of a kind that no
 * real node was asked about, they are those of its entry.
 */
function inventory(path: string, { schema, fields }: Pick<Inventory, 'schema' | 'fields'>): EngineTable {
  const known = facts[path]?.[0]?.fields ?? fieldsOf(fields).map(([name]) => name)
  const names = known.filter((name) => !OF_V4_ONLY.includes(name))
  const typed = names.map((name) => `${name.replace('.', '_')}${isNumber(schemas[schema], name) ? '#' : ''}`)
  return { backend: 'wdb', columns: columns(typed.join(' ')), order: { field: 'scan_id' }, nested: 'inventory' }
}

interface Schema {
  readonly type?: unknown
  readonly properties?: Readonly<Record<string, Schema>>
}

/** `name`: `scan.id` or `scan_id`, if the object has a field with this name. */
function isNumber({ type, properties = {} }: Schema = {}, name = ''): boolean {
  if (name === '') return type === 'integer' || type === 'number'
  const [outer = '', inner] = Object.hasOwn(properties, name) ? [name, ''] : name.split(/[._](.*)/)
  if (properties[outer] === undefined) throw new Error(`the schema has no field ${name}`)
  return isNumber(properties[outer], inner)
}

const inventoryTables = Object.fromEntries(
  inventoryKinds.map((kind) => [kind, inventory(`/experimental/syscollector/${kind}`, inventories[kind])]),
) as Readonly<Record<InventoryKind, EngineTable>>

export const engineTables = {
  agents: {
    backend: 'sqlite',
    columns: columns(`id# name ip registerIP status os.name os.version os.platform os.codename os.major os.minor
      os.uname os.arch os.build version manager dateAdd group mergedSum configSum node_name lastKeepAlive`),
    order: { field: 'id' },
    nested: 'dotted',
    alwaysSelected: ['id'],
    keepsTies: { exceptOf: ['name', 'ip'] },
    dates: ['lastKeepAlive', 'dateAdd'],
  },
  syscheck: {
    backend: 'wdb',
    columns: columns('file type uname gname uid gid perm md5 sha1 sha256 size# inode# date@ mtime@'),
    order: { field: 'mtime' },
    dates: ['date', 'mtime'],
  },
  rootcheck: {
    backend: 'sqlite',
    columns: columns('event pci cis status oldDay@ readDay@'),
    order: { field: 'readDay', descending: true },
    dates: ['oldDay', 'readDay'],
  },
  sca: {
    backend: 'wdb',
    columns: columns(`policy_id name description references hash_file total_checks# pass# fail# invalid# score#
      start_scan@ end_scan@`),
    order: { field: 'policy_id', descending: true },
    dates: ['start_scan', 'end_scan'],
  },
  ciscat: inventory('/experimental/ciscat/results', { schema: 'CiscatResult', fields: ciscatFields }),
  ...inventoryTables,
} as const satisfies Readonly<Record<string, EngineTable>>

export type TableName = keyof typeof engineTables
