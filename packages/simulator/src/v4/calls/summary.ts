/** The overview of all agents. */

import { pick } from '../collection.ts'
import { type Asked, type Call, NO_TEXTS } from '../model.ts'
import { hasRelease5 } from '../releases.ts'
import { agentRows } from '../rows.ts'
import { countDistinct, statusCounts } from './agent-reads.ts'
import { shownFieldsAt } from './agent-table.ts'
import { visibleGroups } from './group-members.ts'

/** Without the manager, unlike the v3 layout. */
function overview(asked: Asked) {
  const { world, rights } = asked
  const agents = [...world.agents.values()].filter((agent) => agent.id !== '000' && asked.allows(agent))
  const rows = agentRows(agents, asked)
  const isLater = hasRelease5(asked)
  const shownFields = shownFieldsAt(asked)
  const last = agents.toSorted((a, b) => a.dateAdd.getTime() - b.dateAdd.getTime()).at(-1)
  const data = {
    ...(!isLater && { nodes: countDistinct(rows, ['node_name']) }),
    groups: visibleGroups({ ...asked, query: {} }, (name) => rights.may('group:read', 'group:id', name)),
    agent_os: countDistinct(rows, ['os.name', 'os.platform', ...(isLater ? ['os.type'] : []), 'os.version'], isLater),
    agent_status: statusCounts(asked),
    agent_version: countDistinct(rows, ['version'], isLater),
    last_registered_agent: last === undefined ? [] : agentRows([last], asked).map((row) => pick(row, shownFields)),
  }
  return { kind: 'data', data } as const
}

export const summaryCalls: readonly Call[] = [
  {
    method: 'GET',
    path: '/overview/agents',
    runs: 'master',
    needs: [{ action: 'agent:read', type: 'agent:id', named: 'none' }],
    texts: NO_TEXTS,
    cost: 15,
    run: overview,
  },
]
