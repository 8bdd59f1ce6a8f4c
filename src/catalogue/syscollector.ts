import type { Endpoint, InventoryKind, Param } from './endpoint.ts'
import type { SchemaName } from './items/index.ts'
import { inventoryOfAgent, inventoryOfAllAgents } from './newer/syscollector.ts'
import { read } from './record.ts'
import type { Kind } from './schemas/kinds.ts'
import { agentFilter, agentId, filter, hiddenQ, list, select } from './schemas/params.ts'
import { collectionOf, objectOf, ofEachAgent } from './schemas/responses.ts'
import { agentOwner, allAgents, cacheIn, ofAgent, withSnapshot } from './schemas/targets.ts'

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
}

const words = (...names: readonly string[]) => filters('alphanumeric', names)
const numbers = (...names: readonly string[]) => filters('numbers', names)

function filters(kind: Kind, names: readonly string[]): Record<string, Param> {
  return Object.fromEntries(names.map((name) => [name, filter(kind, name)]))
}

const inventories: readonly Inventory[] = [
  {
    kind: 'hardware',
    schema: 'Hardware',
    single: true,
    byAgent: true,
    filters: { ...numbers('ram_free', 'ram_total', 'cpu_cores'), ...words('cpu_mhz', 'cpu_name', 'board_serial') },
  },
  {
    kind: 'os',
    schema: 'OperatingSystem',
    single: true,
    byAgent: true,
    filters: words('os_name', 'architecture', 'os_version', 'version', 'release'),
  },
  {
    kind: 'netaddr',
    schema: 'NetworkAddress',
    filters: {
      iface: filter('alphanumeric', 'interface name'),
      ...words('proto', 'address', 'broadcast', 'netmask'),
    },
    beyondSeed: { name: 'iface', of: 'all' },
  },
  {
    kind: 'netiface',
    schema: 'NetworkInterface',
    filters: {
      ...words('name', 'adapter', 'type', 'state'),
      ...numbers('mtu', 'tx_packets', 'rx_packets', 'tx_bytes', 'rx_bytes'),
      ...numbers('tx_errors', 'rx_errors', 'tx_dropped', 'rx_dropped'),
    },
  },
  { kind: 'netproto', schema: 'NetworkProtocol', filters: words('iface', 'type', 'gateway', 'dhcp') },
  {
    kind: 'packages',
    schema: 'Package',
    byAgent: true,
    filters: words('vendor', 'name', 'architecture', 'format', 'version'),
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
  },
  {
    kind: 'processes',
    schema: 'Process',
    filters: {
      ...numbers('pid', 'ppid', 'nlwp', 'pgrp', 'priority'),
      ...words('state', 'egroup', 'euser', 'fgroup', 'name', 'rgroup', 'ruser', 'sgroup', 'suser'),
    },
  },
  { kind: 'hotfixes', schema: 'Hotfix', filters: words('hotfix'), hidden: true },
]

const common = {
  section: 'Inventory (syscollector)',
  strictQuery: true,
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

const keepOne = cacheIn('syscollector', ...ofAgent('syscollector'))

function ofOneAgent(inventory: Inventory): Endpoint {
  const { kind, schema, single, hidden } = inventory
  return read<`/syscollector/:agent_id/${string}`>({
    path: `/syscollector/:agent_id/${kind}`,
    summary: `${kind} of an agent`,
    ...common,
    params: { agent_id: agentId },
    query: queryOf(inventory, 'one'),
    target: agentOwner,
    newer: inventoryOfAgent(kind),
    response: single ? objectOf(schema, kind) : collectionOf(schema, kind),
    cache: single || kind === 'hardware' || kind === 'os' ? keepOne : withSnapshot(kind, keepOne),
    ...(hidden && { beyondSeed: true }),
  })
}

function ofAllAgents(inventory: Inventory): Endpoint {
  const { kind, schema, hidden } = inventory
  return read<string>({
    path: `/experimental/syscollector/${kind}`,
    summary: `${kind} of all agents`,
    ...common,
    params: {},
    query: queryOf(inventory, 'all'),
    target: allAgents(`/syscollector/:agent_id/${kind}`),
    newer: inventoryOfAllAgents(kind),
    response: ofEachAgent(collectionOf(schema, kind)),
    cache: withSnapshot(kind, cacheIn('syscollector', 'collection:syscollector')),
    experimental: true,
    priority: 'bulk',
    ...(hidden && { beyondSeed: true }),
  })
}

export const syscollector: readonly Endpoint[] = inventories.flatMap((inventory) => [
  ofOneAgent(inventory),
  ofAllAgents(inventory),
])
