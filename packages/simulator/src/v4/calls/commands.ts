/** The calls that send commands to agents. */
import type { Call } from '../model.ts'
import { membersOf } from '../parameters.ts'
import {
  activeMembers,
  activeResponse,
  reconnect,
  restart,
  restarted,
  restartMany,
  restartOfNode,
  taskStates,
  upgrade,
  upgradeResults,
} from './agent-commands.ts'

const listed = { in: 'query', as: 'agents_list' } as const
const upgradeTexts = {
  all: 'All upgrade tasks were created',
  some: 'Some upgrade tasks were not created',
  none: 'No upgrade task was created',
}

export const commandCalls: readonly Call[] = [
  {
    method: 'PUT',
    path: '/agents/restart',
    runs: 'owners',
    needs: [{ action: 'agent:restart', type: 'agent:id', named: listed }],
    texts: restarted,
    run: restartMany,
  },
  {
    method: 'PUT',
    path: '/agents/{agent_id}/restart',
    runs: 'owner',
    needs: [{ action: 'agent:restart', type: 'agent:id', named: { in: 'path', as: 'agent_id' } }],
    texts: restarted,
    run: (asked) => restart(asked, [asked.params.agent_id ?? '']),
  },
  {
    method: 'PUT',
    path: '/agents/group/{group_id}/restart',
    runs: 'owners',
    needs: [{ action: 'agent:restart', type: 'agent:id', named: 'none' }],
    texts: restarted,
    agents: activeMembers,
    run: (asked) => restart(asked, membersOf(asked.query.agents_list) ?? []),
  },
  {
    method: 'PUT',
    path: '/agents/node/{node_id}/restart',
    runs: 'node',
    needs: [
      { action: 'cluster:read', type: 'node:id', named: { in: 'path', as: 'node_id' } },
      { action: 'agent:restart', type: 'agent:id', named: 'none' },
    ],
    texts: restarted,
    run: restartOfNode,
  },
  {
    method: 'PUT',
    path: '/agents/reconnect',
    runs: 'owners',
    needs: [{ action: 'agent:reconnect', type: 'agent:id', named: listed }],
    texts: {
      all: 'Force reconnect command was sent to all agents',
      some: 'Force reconnect command was not sent to some agents',
      none: 'Force reconnect command was not sent to any agent',
    },
    run: reconnect,
  },
  {
    method: 'PUT',
    path: '/active-response',
    runs: 'owners',
    needs: [{ action: 'active-response:command', type: 'agent:id', named: listed }],
    texts: {
      all: 'AR command was sent to all agents',
      some: 'AR command was not sent to some agents',
      none: 'AR command was not sent to any agent',
    },
    run: activeResponse,
  },
  {
    method: 'PUT',
    path: '/agents/upgrade',
    runs: 'owners',
    needs: [{ action: 'agent:upgrade', type: 'agent:id', named: listed }],
    texts: upgradeTexts,
    run: upgrade('upgrade'),
  },
  {
    method: 'PUT',
    path: '/agents/upgrade_custom',
    runs: 'owners',
    needs: [{ action: 'agent:upgrade', type: 'agent:id', named: listed }],
    texts: upgradeTexts,
    run: upgrade('upgrade_custom'),
  },
  {
    method: 'GET',
    path: '/agents/upgrade_result',
    runs: 'owners',
    needs: [{ action: 'agent:upgrade', type: 'agent:id', named: listed }],
    texts: {
      all: 'All upgrade tasks were returned',
      some: 'Some upgrade tasks were not returned',
      none: 'No upgrade task was returned',
    },
    run: upgradeResults,
  },
  {
    method: 'GET',
    path: '/tasks/status',
    runs: 'master',
    needs: [{ action: 'task:status', type: '*:*', named: 'whole' }],
    texts: {
      all: "All specified task's status were returned",
      some: 'Some status were not returned',
      none: 'No status was returned',
    },
    run: taskStates,
  },
]
