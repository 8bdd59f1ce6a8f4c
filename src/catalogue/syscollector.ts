import type { Endpoint, InventoryKind, Param } from './endpoint.ts'
import type { SchemaName } from './items/index.ts'
import type { FieldRule, ParamRule, RowRule, Translation } from './newer/translation.ts'
import { read } from './record.ts'
import { agentFilter, filter, filters, hiddenQ, list, select } from './schemas/params.ts'
import { agentOwner, allAgents, cacheIn, collectionOf, objectOf, ofAgent, ofEachAgent } from './schemas/shared.ts'

/** Records of the inventory: one table of kinds, each for one agent and for all agents (experimental). */

interface Inventory {
  readonly kind: InventoryKind
  readonly schema: SchemaName
  readonly filters: Readonly<Record<string, Param>>
  /** Each agent has one object, so the record of one agent has neither paging nor filters. */
  readonly single?: true
  /** Filters that only one of the two records has. */
  readonly beyondSeed?: { readonly name: string; readonly of: 'one' | 'all' }
  /** Whether the record over all agents has an agent id filter. */
  readonly byAgent?: true
  /** The kind is not part of the interface description. */
  readonly hidden?: true
  /**
   * In the newer layout: the fields that rows have in an object, such as `scan.id`. In the parameters of the classic layout:
   * `scan_id`.
   */
  readonly nested?: readonly string[]
  /** The fields that only the rows of the classic layout have in an object. In all parameters: `scan_id`. */
  readonly flat?: readonly string[]
  /** What else differs in a row of the newer layout. */
  readonly fields?: Readonly<Record<string, FieldRule>>
  /** Newer names of fields that no two rows of an agent have in common. Absent: an agent has one row. */
  readonly ties?: readonly string[]
  /** Filters that the node lacks, or understands in another way, if it is asked for all agents. */
  readonly byEdge?: readonly string[]
}

const scan = ['scan.id', 'scan.time']
const counters = ['packets', 'bytes', 'errors', 'dropped'].flatMap((name) => [`tx.${name}`, `rx.${name}`])

const words = (...names: readonly string[]) => filters('alphanumeric', ...names)
const numbers = (...names: readonly string[]) => filters('numbers', ...names)

const inventories: readonly Inventory[] = [
  {
    kind: 'hardware',
    schema: 'Hardware',
    single: true,
    byAgent: true,
    filters: { ...numbers('ram_free', 'ram_total', 'cpu_cores'), ...words('cpu_mhz', 'cpu_name', 'board_serial') },
    nested: [...scan, 'cpu.name', 'cpu.cores', 'cpu.mhz', 'ram.free', 'ram.total', 'ram.usage'],
  },
  {
    kind: 'os',
    schema: 'OperatingSystem',
    single: true,
    byAgent: true,
    filters: words('os_name', 'architecture', 'os_version', 'version', 'release'),
    nested: [...scan, ...['name', 'version', 'codename', 'major', 'minor', 'build', 'platform'].map((n) => `os.${n}`)],
    fields: { os_release: { dropped: true }, 'os.display_version': { dropped: true } },
    // The node finds the texts that contain these.
    byEdge: ['os_name', 'os_version'],
  },
  {
    kind: 'netaddr',
    schema: 'NetworkAddress',
    filters: {
      iface: filter('alphanumeric', 'interface name'),
      ...words('proto', 'address', 'broadcast', 'netmask'),
    },
    beyondSeed: { name: 'iface', of: 'all' },
    nested: ['scan.id'],
    ties: ['iface', 'proto', 'address'],
    byEdge: ['iface'],
  },
  {
    kind: 'netiface',
    schema: 'NetworkInterface',
    filters: {
      ...words('name', 'adapter', 'type', 'state'),
      ...numbers('mtu', 'tx_packets', 'rx_packets', 'tx_bytes', 'rx_bytes'),
      ...numbers('tx_errors', 'rx_errors', 'tx_dropped', 'rx_dropped'),
    },
    nested: [...scan, ...counters],
    ties: ['name'],
  },
  {
    kind: 'netproto',
    schema: 'NetworkProtocol',
    filters: words('iface', 'type', 'gateway', 'dhcp'),
    nested: ['scan.id'],
    ties: ['iface', 'type'],
  },
  {
    kind: 'packages',
    schema: 'Package',
    byAgent: true,
    filters: words('vendor', 'name', 'architecture', 'format', 'version'),
    nested: scan,
    fields: { location: { value: 'nonBlank' }, install_time: { value: 'nonBlank' } },
    ties: ['name', 'version', 'architecture'],
  },
  {
    kind: 'ports',
    schema: 'Port',
    filters: {
      ...numbers('pid'),
      ...words('protocol', 'local_ip'),
      ...numbers('local_port'),
      ...words('remote_ip'),
      ...numbers('tx_queue'),
      ...words('state', 'process'),
    },
    beyondSeed: { name: 'process', of: 'one' },
    nested: [...scan, 'local.ip', 'local.port', 'remote.ip', 'remote.port'],
    ties: ['protocol', 'local.ip', 'local.port', 'inode'],
  },
  {
    kind: 'processes',
    schema: 'Process',
    filters: {
      ...numbers('pid', 'ppid', 'nlwp', 'pgrp', 'priority'),
      ...words('state', 'egroup', 'euser', 'fgroup', 'name', 'rgroup', 'ruser', 'sgroup', 'suser'),
    },
    nested: scan,
    ties: ['pid'],
  },
  { kind: 'hotfixes', schema: 'Hotfix', filters: words('hotfix'), hidden: true, flat: scan, ties: ['hotfix'] },
]

const common = {
  section: 'Inventory (syscollector)',
  permission: 'syscollector:read',
} as const

function queryOf(inventory: Inventory, of: 'one' | 'all'): Readonly<Record<string, Param>> {
  if (inventory.single && of === 'one') return { select }
  const agent_id: Param = inventory.byAgent ? agentFilter : { ...agentFilter, beyondSeed: true }
  const query = { ...list, q: hiddenQ, ...(of === 'all' && { agent_id }), ...inventory.filters, select }
  const hidden = inventory.beyondSeed?.of === of ? inventory.beyondSeed.name : undefined
  const param = hidden === undefined ? undefined : inventory.filters[hidden]
  return hidden === undefined || param === undefined ? query : { ...query, [hidden]: { ...param, beyondSeed: true } }
}

function ofOneAgent(inventory: Inventory): Endpoint {
  const { kind, schema, single, hidden } = inventory
  return read<string>(`/syscollector/:agent_id/${kind}`, `${kind} of an agent`, {
    ...common,
    query: queryOf(inventory, 'one'),
    target: agentOwner,
    newer: inventoryOfAgent(inventory),
    response: single ? objectOf(schema, kind) : collectionOf(schema, kind),
    cache: cacheIn('syscollector', ...ofAgent('syscollector')),
    ...(!single && { snapshot: kind }),
    ...(hidden && { beyondSeed: true }),
  })
}

function ofAllAgents(inventory: Inventory): Endpoint {
  const { kind, schema, hidden } = inventory
  return read<string>(`/experimental/syscollector/${kind}`, `${kind} of all agents`, {
    ...common,
    params: {},
    query: queryOf(inventory, 'all'),
    target: allAgents(`/syscollector/:agent_id/${kind}`),
    newer: inventoryOfAllAgents(inventory),
    response: ofEachAgent(collectionOf(schema, kind)),
    cache: cacheIn('syscollector', 'collection:syscollector'),
    snapshot: kind,
    experimental: true,
    priority: 'bulk',
    ...(hidden && { beyondSeed: true }),
  })
}

export const syscollector: readonly Endpoint[] = inventories.flatMap((inventory) => [
  ofOneAgent(inventory),
  ofAllAgents(inventory),
])

function classicName(newer: string): string {
  return newer.replace('.', '_')
}

function rowsOf({ kind, nested = [], flat = [], fields = {} }: Inventory): RowRule {
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
function filtersOf({ nested = [] }: Inventory, byEdge: readonly string[]): Readonly<Record<string, ParamRule>> {
  const renamed = nested.map((name): [string, ParamRule] => [classicName(name), { as: name }])
  const evaluated = byEdge.map((name): [string, ParamRule] => [name, { byEdge: true }])
  return Object.fromEntries([...renamed, ...evaluated])
}

function orderOf({ ties = [], flat = [] }: Inventory) {
  return { byDefault: flat.includes('scan.id') ? '+scan_id' : '+scan.id', ties }
}

/** Returns the translation of the rows of one agent. The classic layout does not repeat its id in them. */
function inventoryOfAgent(inventory: Inventory): Translation {
  const { kind, single } = inventory
  const path = `/syscollector/:agent_id/${kind}`
  const all = rowsOf(inventory)
  const rows: RowRule = { ...all, fields: { ...all.fields, agent_id: { dropped: true } } }
  if (single) return { call: { path }, response: { kind: 'one', rows } }
  return {
    call: { path, params: filtersOf(inventory, []), order: orderOf(inventory) },
    response: { kind: 'collection', rows },
  }
}

/** Returns the translation of the rows of all agents. */
function inventoryOfAllAgents(inventory: Inventory): Translation {
  const { kind, byEdge = [] } = inventory
  return {
    call: {
      path: `/experimental/syscollector/${kind}`,
      params: { ...filtersOf(inventory, byEdge), q: { byEdge: true } },
      order: orderOf(inventory),
    },
    plan: 'allAgents',
    response: { kind: 'collection', rows: rowsOf(inventory) },
    // The experimental calls of the node are off, so in the classic layout they do not exist.
    errors: { 1122: 603 },
  }
}
