/** Hotfixes of all agents of a node. */
import { sources } from '../../../../src/query/sources.ts'
import { inventoryRows } from '../data/inventory/rows.ts'
import { walkAgents } from '../data/walk.ts'
import type { SimHandlers } from '../model.ts'

export const hotfixHandlers: SimHandlers = {
  'GET /experimental/syscollector/hotfixes': (request) =>
    walkAgents(request, {
      source: sources.hotfixes,
      rowsOf: (machine) => inventoryRows(request.world.seed, machine, 'hotfixes'),
    }),
}
