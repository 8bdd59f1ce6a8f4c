/** Translations of commands that a node sends to its agents. */
import type { Translation } from './translation.ts'

const restarted = {
  kind: 'affected',
  all: 'All selected agents were restarted',
  some: 'Some agents were not restarted',
} as const

export const restartAgents: Translation = {
  call: { method: 'PUT', path: '/agents/restart', list: { as: 'agents_list', from: 'body.ids' }, body: 'none' },
  response: restarted,
}

export const restartAllAgents: Translation = {
  call: { path: '/agents/restart' },
  response: { kind: 'text', text: 'Restarting all agents' },
}

export const restartAgent: Translation = {
  call: { path: '/agents/:agent_id/restart' },
  response: restarted,
}

export const restartGroup: Translation = {
  call: { path: '/agents/group/:group_id/restart' },
  response: { ...restarted, none: 1750 },
  errors: { 1710: 1750 },
}

/** An agent that is not active; a task that runs already, or has nothing to do. */
const upgradeErrors = { 1707: 1720, 1820: 1716 } as const

export const upgradeAgent: Translation = {
  call: {
    path: '/agents/upgrade',
    fixed: { agents_list: ':agent_id' },
    // The node has a parameter `version` too, which selects agents by their version.
    params: { version: { as: 'upgrade_version' }, use_http: { format: 'boolean' }, force: { format: 'boolean' } },
  },
  response: { kind: 'text', text: 'Upgrade procedure started' },
  errors: upgradeErrors,
  refused: { version: 1718 },
}

export const upgradeAgentCustom: Translation = {
  call: {
    path: '/agents/upgrade_custom',
    fixed: { agents_list: ':agent_id' },
    params: { file_path: { required: 1307 }, installer: { required: 1307 } },
  },
  response: { kind: 'text', text: 'Installation started' },
  errors: upgradeErrors,
}

export const activeResponse: Translation = {
  call: { path: '/active-response', fixed: { agents_list: ':agent_id' }, body: 'command' },
  response: { kind: 'text', text: 'Command sent.' },
  errors: { 1707: 1651 },
}
