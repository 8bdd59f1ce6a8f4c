/** Inventory of one agent and of all agents of a node. */

import { sources } from '../../../../src/collections/sources.ts'
import { type InventoryKind, inventories, inventoryKinds } from '../../../../src/contracts/v3/inventories.ts'
import { inventoryRows } from '../data/inventory/rows.ts'
import { machineOf } from '../data/machine.ts'
import { tableOf } from '../data/page.ts'
import { walkAgents } from '../data/walk.ts'
import type { SimHandler, SimHandlers } from '../model.ts'
import { findAgent } from './agents.ts'

function ofAgent(kind: InventoryKind): SimHandler {
  return (request) => {
    const { world, node, params } = request
    const machine = machineOf(world, node, findAgent(world, params.agent_id))
    const rows = machine === undefined ? [] : inventoryRows(world.seed, machine, kind)
    const page = tableOf(rows, request, sources[kind])
    return inventories[kind].single ? (page.items[0] ?? {}) : page
  }
}

function ofAll(kind: InventoryKind): SimHandler {
  return (request) =>
    walkAgents(request, {
      source: sources[kind],
      rowsOf: (machine) => inventoryRows(request.world.seed, machine, kind),
      countAgents: inventories[kind].single === true,
    })
}

export const inventoryHandlers: SimHandlers = Object.fromEntries(
  inventoryKinds.flatMap((kind) => [
    [`GET /syscollector/:agent_id/${kind}`, ofAgent(kind)] as const,
    [`GET /experimental/syscollector/${kind}`, ofAll(kind)] as const,
  ]),
)
