import { parseCollectionRequest, parsePage } from '../../../../src/collections/request.ts'
import { sources } from '../../../../src/collections/sources.ts'
import { collect } from '../data/collect.ts'
import { machineOf } from '../data/machine.ts'
import { tableOf } from '../data/page.ts'
import { type ScaCheck, scaChecks, scaPolicies } from '../data/scans/assessment.ts'
import { scanStart, scanStateOf } from '../data/scans/state.ts'
import { matchTable } from '../data/tables.ts'
import type { SimHandlers, SimRequest } from '../model.ts'

/** Security configuration assessment of an agent; empty for an agent that the node does not know, as in the real API. */

function policies(request: SimRequest) {
  const { world, node, params } = request
  const agent = world.agents.get(params.agent_id ?? '')
  const machine = agent && machineOf(world, node, agent)
  if (agent === undefined || machine === undefined) return tableOf([], request, sources.sca)
  return tableOf(scaPolicies(machine, scanStart(world, machine, scanStateOf(node, agent))), request, sources.sca)
}

/**
 * `limit` and `offset` count the rows of a join, one for each compliance entry and rule of a check, so a page has fewer
 * checks than its limit. The total counts checks, as in the real API.
 */
function checks(request: SimRequest) {
  const { world, node, params, query } = request
  const agent = world.agents.get(params.agent_id ?? '')
  const machine = agent && machineOf(world, node, agent)
  const all = machine === undefined ? [] : scaChecks(machine, params.policy_id ?? '')
  const asked = parseCollectionRequest(query, world.now())
  const { offset, limit } = parsePage(asked)
  const found = matchTable(all, asked, sources.scaChecks) as readonly ScaCheck[]
  const joined = found.flatMap(({ compliance, rules, ...check }) =>
    compliance.flatMap((entry) => rules.map((rule) => ({ check, entry, rule }))),
  )
  const page = new Map<number, ScaCheck>()
  for (const { check, entry, rule } of joined.slice(offset, offset + limit)) {
    const before = page.get(check.id)
    page.set(check.id, {
      ...check,
      compliance: [...new Set([...(before?.compliance ?? []), entry])],
      rules: [...new Set([...(before?.rules ?? []), rule])],
    } as ScaCheck)
  }
  const { now, select } = asked
  const shaped = collect([...page.values()], { now, ...(select === undefined ? {} : { select }) }, sources.scaChecks)
  return { totalItems: found.length, items: shaped.items }
}

export const scaHandlers: SimHandlers = {
  'GET /sca/:agent_id': policies,
  'GET /sca/:agent_id/checks/:policy_id': checks,
}
