/** CIS-CAT results of one agent and of all agents of a node. */
import { sources } from '../../../../src/collections/sources.ts'
import { machineOf } from '../data/machine.ts'
import { tableOf } from '../data/page.ts'
import { assessments } from '../data/scans/ciscat.ts'
import { walkAgents } from '../data/walk.ts'
import type { SimHandlers, SimRequest } from '../model.ts'

/** Empty for an agent that the node does not know, as in the real API. */
function ofAgent(request: SimRequest) {
  const { world, node, params } = request
  const agent = world.agents.get(params.agent_id ?? '')
  const machine = agent && machineOf(world, node, agent)
  return tableOf(machine === undefined ? [] : assessments(machine), request, sources.ciscat)
}

export const ciscatHandlers: SimHandlers = {
  'GET /ciscat/:agent_id/results': ofAgent,
  'GET /experimental/ciscat/results': (request) => walkAgents(request, { source: sources.ciscat, rowsOf: assessments }),
}
