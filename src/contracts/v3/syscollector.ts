import type { Param, V3Endpoint } from '../endpoint.ts'
import { read } from '../record.ts'
import { agentFilter, filter, hiddenQ, list, select } from '../schemas/params.ts'
import { agentOwner, allAgents, cacheIn, collectionOf, objectOf, ofAgent } from '../schemas/shared.ts'
import type { FieldRule, Order, ParamRule, RowRule, Translation } from '../translations/translation.ts'
import {
  type Inventory,
  type InventoryKind,
  inventories,
  inventoryKinds,
  sharedFieldsOf,
  v3Name,
} from './inventories.ts'

/** Records of the inventory of agents: each kind for one agent and for all agents (experimental). */

const common = {
  permission: 'syscollector:read',
} as const

function queryOf(inventory: Inventory, of: 'one' | 'all'): Readonly<Record<string, Param>> {
  if (inventory.single && of === 'one') return { select }
  const agent_id: Param = inventory.byAgent ? agentFilter : { ...agentFilter, beyondSeed: true }
  return { ...list, q: hiddenQ, ...(of === 'all' && { agent_id }), ...filtersOf(inventory, of), select }
}

function filtersOf({ filters, listsNumbersFirst }: Inventory, of: 'one' | 'all'): Readonly<Record<string, Param>> {
  const all = Object.entries(filters).map(([name, { kind, role, beyondSeed }]): [string, Param] => [
    v3Name(name),
    { ...filter(kind, role), ...(beyondSeed === of && { beyondSeed: true }) },
  ])
  const first = listsNumbersFirst ? all.filter(([, { kind }]) => kind === 'numbers') : []
  return Object.fromEntries([...first, ...all])
}

function ofOneAgent(kind: InventoryKind): V3Endpoint {
  const inventory = inventories[kind]
  const { schema, single, hidden } = inventory
  return read<string>(`/syscollector/:agent_id/${kind}`, `${kind} of an agent`, {
    ...common,
    query: queryOf(inventory, 'one'),
    target: agentOwner,
    translation: inventoryOfAgent(kind),
    response: single ? objectOf(schema) : collectionOf(schema),
    cache: cacheIn('syscollector', ...ofAgent('syscollector')),
    ...(!single && { snapshot: kind }),
    ...(hidden && { beyondSeed: true }),
  })
}

function ofAllAgents(kind: InventoryKind): V3Endpoint {
  const inventory = inventories[kind]
  const { schema, hidden } = inventory
  return read<string>(`/experimental/syscollector/${kind}`, `${kind} of all agents`, {
    ...common,
    params: {},
    query: queryOf(inventory, 'all'),
    target: allAgents(`/syscollector/:agent_id/${kind}`),
    translation: inventoryOfAllAgents(kind),
    response: collectionOf(schema),
    cache: cacheIn('syscollector', 'collection:syscollector'),
    snapshot: kind,
    ...(hidden && { beyondSeed: true }),
  })
}

export const syscollector: readonly V3Endpoint[] = inventoryKinds.flatMap((kind) => [
  ofOneAgent(kind),
  ofAllAgents(kind),
])

function namesOf(inventory: Inventory): readonly string[] {
  return sharedFieldsOf(inventory).map(([name]) => name)
}

function rowsOf(kind: InventoryKind): RowRule {
  const inventory = inventories[kind]
  const named = namesOf(inventory).flatMap((name): [string, FieldRule][] => {
    const param = v3Name(name)
    const converted = param === 'scan_time' ? ({ value: 'slashedDate' } as const) : {}
    if (name.includes('.')) return [[name, { param, ...converted }]]
    // In the v3 layout every row has a `scan` object.
    return name.startsWith('scan_') ? [[name, { to: name.replace('_', '.'), param, ...converted }]] : []
  })
  return { source: kind, fields: { ...Object.fromEntries(named), ...inventory.rows } }
}

/** Filters have the names of the fields, except that `scan` is none. */
function paramsOf(inventory: Inventory, byEdge: readonly string[]): Readonly<Record<string, ParamRule>> {
  const renamed = namesOf(inventory).filter((name) => name.includes('.'))
  return Object.fromEntries([
    ...renamed.map((name): [string, ParamRule] => [v3Name(name), { as: name }]),
    ...byEdge.map((name): [string, ParamRule] => [name, { byEdge: true }]),
  ])
}

/** No real node has named the fields by which it sorts the rows of a later kind. */
function orderOf(inventory: Inventory): { readonly order?: Order } {
  const { ties = [], ofOneSince } = inventory
  if (ofOneSince) return {}
  return { order: { byDefault: namesOf(inventory).includes('scan_id') ? '+scan_id' : '+scan.id', ties } }
}

/** Returns the translation of the rows of one agent. The v3 layout does not repeat its id in them. */
function inventoryOfAgent(kind: InventoryKind): Translation {
  const inventory = inventories[kind]
  const path = `/syscollector/:agent_id/${kind}`
  const all = rowsOf(kind)
  const rows: RowRule = { ...all, fields: { ...all.fields, agent_id: { dropped: true } } }
  if (inventory.single) return { call: { path }, response: { kind: 'one', rows } }
  return {
    call: { path, params: paramsOf(inventory, []), ...orderOf(inventory) },
    response: { kind: 'collection', rows },
    ...(inventory.ofOneSince && { releases: { since: inventory.ofOneSince } }),
  }
}

function inventoryOfAllAgents(kind: InventoryKind): Translation {
  const inventory = inventories[kind]
  return {
    call: {
      path: `/experimental/syscollector/${kind}`,
      params: { ...paramsOf(inventory, inventory.byEdge ?? []), q: { byEdge: true } },
      ...orderOf(inventory),
    },
    plan: 'allAgents',
    response: { kind: 'collection', rows: rowsOf(kind) },
    // The experimental calls of the node are off, so in the v3 layout they do not exist.
    errors: { 1122: 603 },
    ...(inventory.ofOneSince && { releases: 'none' }),
  }
}
