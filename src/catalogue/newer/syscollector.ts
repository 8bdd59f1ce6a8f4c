/** Translations of the inventory: for each kind of rows one of a single agent, and one of all agents (experimental). */
import type { InventoryKind } from '../endpoint.ts'
import type { ErrorRule, FieldRule, ParamRule, RowRule, Translation } from './translation.ts'

interface Inventory {
  /** The fields that rows have in an object, such as `scan.id`. In the parameters of the classic layout: `scan_id`. */
  readonly nested?: readonly string[]
  /** The fields that only the rows of the classic layout have in an object. In all parameters: `scan_id`. */
  readonly flat?: readonly string[]
  /** What else differs in a row. */
  readonly fields?: Readonly<Record<string, FieldRule>>
  /** Newer names of fields that no two rows of an agent have in common. Absent: an agent has one row. */
  readonly ties?: readonly string[]
  /** Filters that the node lacks, or understands in another way, if it is asked for all agents. */
  readonly byEdge?: readonly string[]
}

const scan = ['scan.id', 'scan.time']
const counters = ['packets', 'bytes', 'errors', 'dropped'].flatMap((name) => [`tx.${name}`, `rx.${name}`])

const inventories = {
  hardware: { nested: [...scan, 'cpu.name', 'cpu.cores', 'cpu.mhz', 'ram.free', 'ram.total', 'ram.usage'] },
  os: {
    nested: [...scan, ...['name', 'version', 'codename', 'major', 'minor', 'build', 'platform'].map((n) => `os.${n}`)],
    fields: { os_release: { dropped: true }, 'os.display_version': { dropped: true } },
    // The node finds the texts that contain these.
    byEdge: ['os_name', 'os_version'],
  },
  netaddr: { nested: ['scan.id'], ties: ['iface', 'proto', 'address'], byEdge: ['iface'] },
  netiface: { nested: [...scan, ...counters], ties: ['name'] },
  netproto: { nested: ['scan.id'], ties: ['iface', 'type'] },
  packages: {
    nested: scan,
    fields: { location: { value: 'nonBlank' }, install_time: { value: 'nonBlank' } },
    ties: ['name', 'version', 'architecture'],
  },
  ports: {
    nested: [...scan, 'local.ip', 'local.port', 'remote.ip', 'remote.port'],
    ties: ['protocol', 'local.ip', 'local.port', 'inode'],
  },
  processes: { nested: scan, ties: ['pid'] },
  hotfixes: { flat: scan, ties: ['hotfix'] },
} as const satisfies Record<InventoryKind, Inventory>

const classicName = (newer: string) => newer.replace('.', '_')

function rowsOf(kind: InventoryKind): RowRule {
  const { nested = [], flat = [], fields = {} }: Inventory = inventories[kind]
  const converted = (name: string) => (name === 'scan.time' ? ({ value: 'slashedDate' } as const) : {})
  const names = [
    ...nested.map((name): [string, FieldRule] => [name, { param: classicName(name), ...converted(name) }]),
    ...flat.map((name): [string, FieldRule] => {
      return [classicName(name), { to: name, param: classicName(name), ...converted(name) }]
    }),
  ]
  return { source: kind, fields: { ...Object.fromEntries(names), ...fields } }
}

/** Filters have the names of the fields, except that `scan` is none. */
function filtersOf(kind: InventoryKind, byEdge: readonly string[]): Readonly<Record<string, ParamRule>> {
  const { nested = [] }: Inventory = inventories[kind]
  const renamed = nested.map((name): [string, ParamRule] => [classicName(name), { as: name }])
  const evaluated = byEdge.map((name): [string, ParamRule] => [name, { byEdge: true }])
  return Object.fromEntries([...renamed, ...evaluated])
}

function orderOf({ ties = [], flat = [] }: Inventory) {
  return { byDefault: flat.includes('scan.id') ? '+scan_id' : '+scan.id', ties }
}

/** Returns the translation of the rows of one agent. The classic layout does not repeat its id in them. */
export function inventoryOfAgent(kind: InventoryKind): Translation {
  const path = `/syscollector/:agent_id/${kind}`
  const all = rowsOf(kind)
  const rows: RowRule = { ...all, fields: { ...all.fields, agent_id: { dropped: true } } }
  if (kind === 'hardware' || kind === 'os') return { call: { path }, response: { kind: 'one', rows } }
  return {
    call: { path, params: filtersOf(kind, []), order: orderOf(inventories[kind]) },
    response: { kind: 'collection', rows },
  }
}

/** The experimental calls of the node are off, so in the classic layout they do not exist. */
export const notExperimental: Readonly<Record<number, ErrorRule>> = { 1122: 603 }

/** Returns the translation of the rows of all agents. */
export function inventoryOfAllAgents(kind: InventoryKind): Translation {
  const { byEdge = [] }: Inventory = inventories[kind]
  return {
    call: {
      path: `/experimental/syscollector/${kind}`,
      params: { ...filtersOf(kind, byEdge), q: { byEdge: true } },
      order: orderOf(inventories[kind]),
    },
    plan: 'allAgents',
    response: { kind: 'collection', rows: rowsOf(kind) },
    errors: notExperimental,
  }
}
