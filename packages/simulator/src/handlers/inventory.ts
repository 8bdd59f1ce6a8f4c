/** Inventory of one agent and of all agents of a node. */

import type { InventoryKind } from '../../../../src/catalogue/endpoint.ts'
import { sources } from '../../../../src/query/sources.ts'
import { inventoryKinds, inventoryRows } from '../data/inventory/rows.ts'
import { machineOf } from '../data/machine.ts'
import { tableOf } from '../data/page.ts'
import { walkAgents } from '../data/walk.ts'
import type { SimHandler, SimHandlers } from '../model.ts'
import { findAgent } from './agents.ts'

/** One row for each agent: an object, `{}` without data. */
const single: ReadonlySet<InventoryKind> = new Set(['hardware', 'os'])

function ofAgent(kind: InventoryKind): SimHandler {
  return (request) => {
    const { world, node, params } = request
    const machine = machineOf(world, node, findAgent(world, params.agent_id))
    const rows = machine === undefined ? [] : inventoryRows(world.seed, machine, kind)
    const page = tableOf(rows, request, sources[kind])
    return single.has(kind) ? (page.items[0] ?? {}) : page
  }
}

function ofAll(kind: InventoryKind): SimHandler {
  return (request) =>
    walkAgents(request, {
      source: sources[kind],
      rowsOf: (machine) => inventoryRows(request.world.seed, machine, kind),
      countAgents: single.has(kind),
    })
}

export const inventoryHandlers: SimHandlers = Object.fromEntries(
  inventoryKinds.flatMap((kind) => [
    [`GET /syscollector/:agent_id/${kind}`, ofAgent(kind)] as const,
    [`GET /experimental/syscollector/${kind}`, ofAll(kind)] as const,
  ]),
)
