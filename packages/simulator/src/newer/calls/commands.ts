/** The calls that send commands to agents. */
import type { Call } from '../model.ts'
import { agentId, agentsList, agentsListOrAll, flag, querying, required, text } from '../parameters.ts'
import {
  activeResponse,
  restart,
  restarted,
  restartGroup,
  restartMany,
  taskStates,
  upgrade,
  upgradeResults,
} from './agent-commands.ts'
import { agentFilters } from './agent-table.ts'
import { groupId } from './group-members.ts'

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
    query: { agents_list: agentsList },
    runs: 'owners',
    needs: [{ action: 'agent:restart', type: 'agent:id', named: listed }],
    texts: restarted,
    run: restartMany,
  },
  {
    method: 'PUT',
    path: '/agents/{agent_id}/restart',
    params: { agent_id: agentId },
    runs: 'owner',
    needs: [{ action: 'agent:restart', type: 'agent:id', named: { in: 'path', as: 'agent_id' } }],
    texts: restarted,
    run: (asked) => restart(asked, [asked.params.agent_id ?? '']),
  },
  {
    method: 'PUT',
    path: '/agents/group/{group_id}/restart',
    params: { group_id: groupId },
    runs: 'master',
    needs: [{ action: 'agent:restart', type: 'agent:id', named: 'none' }],
    texts: restarted,
    run: restartGroup,
  },
  {
    method: 'PUT',
    path: '/active-response',
    query: { agents_list: agentsList },
    body: {
      type: 'application/json',
      fields: {
        command: { type: 'string', format: 'active_response_command', required: true },
        arguments: { type: 'array' },
        alert: { type: 'object' },
        custom: { type: 'boolean' },
      },
    },
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
    query: {
      agents_list: required(agentsListOrAll),
      upgrade_version: text('wazuh_version'),
      wpk_repo: text('path'),
      use_http: flag,
      force: flag,
      ...querying,
      ...agentFilters,
    },
    runs: 'owners',
    needs: [{ action: 'agent:upgrade', type: 'agent:id', named: listed }],
    texts: upgradeTexts,
    run: upgrade('upgrade'),
  },
  {
    method: 'PUT',
    path: '/agents/upgrade_custom',
    query: {
      agents_list: required(agentsListOrAll),
      file_path: required(text('wpk_path')),
      installer: text('alphanumeric'),
      ...querying,
      ...agentFilters,
    },
    runs: 'owners',
    needs: [{ action: 'agent:upgrade', type: 'agent:id', named: listed }],
    texts: upgradeTexts,
    run: upgrade('upgrade_custom'),
  },
  {
    method: 'GET',
    path: '/agents/upgrade_result',
    query: { agents_list: agentsList, ...querying, ...agentFilters },
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
