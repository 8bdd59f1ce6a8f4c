/** The calls about inventories and CIS-CAT results, of one agent and of several (`/experimental/…`). */
import { inventoryKinds } from '../../data/inventory/rows.ts'
import { type Machine, machineOf } from '../../data/machine.ts'
import type { SimAgent, SimNode, World } from '../../model.ts'
import { affected, type Failed } from '../answers.ts'
import { collectRows, type Item, type Table } from '../collection.ts'
import { V4Error } from '../errors.ts'
import type { Asked, Call } from '../model.ts'
import { filtersOf, membersOf } from '../parameters.ts'
import { canonical, ofAgent } from './agent-table.ts'
import { ciscat, type Inventory, inventory } from './inventory-tables.ts'

/** Agents that never reported but have an empty database. */
const created = new WeakMap<World, Set<SimAgent>>()

export function createDatabase(world: World, agent: SimAgent): void {
  created.set(world, (created.get(world) ?? new Set()).add(agent))
}

/** Agents that never reported have no database. Throws 2007. */
export function machineWithDatabase(world: World, node: SimNode, agent: SimAgent): Machine | undefined {
  const hasDatabase = agent.id === '000' || agent.lastKeepAlive !== undefined || created.get(world)?.has(agent) === true
  if (!hasDatabase) throw noDatabase(agent.id)
  return machineOf(world, node, agent)
}

export function noDatabase(id: string): V4Error {
  return new V4Error(
    2007,
    `There is no database for agent ${id}. Please check if the agent has connected to the manager`,
  )
}

function tableOf({ fields }: Inventory): Table {
  const sortable = fields.filter((field) => field !== 'os_release')
  return {
    kind: 'database',
    fields,
    sortable,
    keys: ['agent_id'],
    order: fields.includes('scan.id') ? '+scan.id' : '+scan_id',
  }
}

/** Filters of texts find parts of `os.name`, and whole values elsewhere. */
function matchesFilters(row: Item, query: Asked['query']): boolean {
  return filtersOf(query).every(([name, wanted]) => {
    const asked = wanted.toLowerCase()
    const value = String(nestedValue(row, name) ?? '').toLowerCase()
    return name === 'os.name' ? value.includes(asked) : value === asked
  })
}

function nestedValue(row: Item, name: string): unknown {
  const [outer = '', inner] = name.split('.')
  const value = row[outer]
  return inner === undefined ? value : (value as Item | undefined)?.[inner]
}

function generatedRows(inventory: Inventory, agent: SimAgent, world: World, node: SimNode): Item[] {
  const machine = machineWithDatabase(world, node, agent)
  return machine === undefined ? [] : inventory.rowsOf(world, machine, agent)
}

function pageOf(inventory: Inventory, agent: SimAgent, { world, node, query }: Asked) {
  const { reported } = world
  const all =
    reported === undefined
      ? generatedRows(inventory, agent, world, node)
      : (reported.get(`${inventory.path} ${agent.id}`) ?? [])
  const rows = all.filter((row) => matchesFilters(row, query))
  const page = collectRows(rows, tableOf(inventory), query, world.now())
  return inventory.countsPages && page.items.length === 0 ? { ...page, total: 0 } : page
}

function ofOneAgent(inventory: Inventory): Call['run'] {
  return ofAgent((asked, agent) => {
    const { items, total } = pageOf(inventory, agent, asked)
    return affected(items, { total })
  })
}

/** `limit` and `offset` count the rows of each agent. One agent without a database fails the whole call. */
function ofAgents(inventory: Inventory): Call['run'] {
  return (asked) => {
    const items: unknown[] = []
    const failed: Failed[] = []
    let total = 0
    for (const id of membersOf(asked.query.agents_list) ?? []) {
      const agent = asked.world.agents.get(canonical(id))
      if (agent === undefined) {
        failed.push({ id, error: new V4Error(1701) })
        continue
      }
      const page = pageOf(inventory, agent, asked)
      items.push(...page.items)
      total += page.total
    }
    return affected(items, { total, failed })
  }
}

function callsOf(inventory: Inventory): Call[] {
  const { path, action, texts: said, cost } = inventory
  const ofOne: Call = {
    method: 'GET',
    path,
    runs: 'owner',
    needs: [{ action, type: 'agent:id', named: { in: 'path', as: 'agent_id' } }],
    texts: said,
    cost,
    run: ofOneAgent(inventory),
  }
  if (inventory.ofOneOnly) return [ofOne]
  const ofMany: Call = {
    method: 'GET',
    path: `/experimental${path.replace('/{agent_id}', '')}`,
    runs: 'owners',
    needs: [{ action, type: 'agent:id', named: { in: 'query', as: 'agents_list' } }],
    texts: said,
    cost: 4 * cost,
    run: ofAgents(inventory),
  }
  return [ofOne, ofMany]
}

export const inventoryCalls: readonly Call[] = [...inventoryKinds.map(inventory), ciscat].flatMap(callsOf)
