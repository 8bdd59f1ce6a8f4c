/** Translations of agent groups. */
import { agentRows, status, statusRefused } from './agents.ts'
import type { Translation } from './translation.ts'

const hashRefused = { hash: 1723 } as const

export const groups: Translation = {
  call: { path: '/groups', params: { q: { byEdge: true }, select: { fails: 1000 } } },
  response: { kind: 'collection', rows: { source: 'groups' } },
  refused: hashRefused,
}

export const groupMembers: Translation = {
  call: { path: '/groups/:group_id/agents', params: { status } },
  response: { kind: 'collection', rows: agentRows },
  refused: statusRefused,
}

/** The node takes a page and returns everything. */
export const groupConfiguration: Translation = {
  call: { path: '/groups/:group_id/configuration', params: { offset: { byEdge: true }, limit: { byEdge: true } } },
  response: { kind: 'collection' },
}

/** The node sorts by one field only. */
export const groupFiles: Translation = {
  call: { path: '/groups/:group_id/files', params: { sort: { byEdge: 'list' } } },
  response: { kind: 'collection', rows: { source: 'groupFiles' } },
  refused: hashRefused,
}

/** Only agent.conf has an XML form. */
const asXml = { format: 'xml', filename: 'agent.conf', type: undefined }
const groupFileParams = { format: { ignored: true } } as const
const groupFilePath = '/groups/:group_id/files/:filename'

/** The node has a path for each form. Since 4.9, and maybe since 4.8, it has one path with a parameter. */
export const groupFile: Translation = {
  call: {
    path: `${groupFilePath}/json`,
    when: { values: asXml, path: `${groupFilePath}/xml`, isFile: true },
    params: groupFileParams,
    since: {
      release: '4.8',
      call: {
        path: groupFilePath,
        when: { values: asXml, path: groupFilePath, isFile: true, fixed: { raw: 'true' } },
        params: groupFileParams,
      },
    },
  },
  response: { kind: 'own', shape: 'groupFile' },
  refused: { type: 1104 },
}

export const createGroup: Translation = {
  call: { method: 'POST', path: '/groups', body: { json: { group_id: ':group_id' } } },
  response: { kind: 'text', text: "Group ':group_id' created." },
}

/** The node takes ten times as much; the classic layout refuses it. */
const MAX_CONFIGURATION_BYTES = 1024 * 1024
const putConfiguration = {
  method: 'PUT',
  path: '/groups/:group_id/configuration',
  maxBodyBytes: MAX_CONFIGURATION_BYTES,
} as const
const configurationUpdated = { kind: 'text', text: 'Agent configuration was updated successfully' } as const
/** The node does not find the group in its database if the body is empty. */
const configurationErrors = { 2007: 703 } as const

export const updateGroupConfiguration: Translation = {
  call: putConfiguration,
  response: configurationUpdated,
  errors: configurationErrors,
}

export const uploadGroupFile: Translation = {
  call: { ...putConfiguration, only: { param: 'file_name', is: 'agent.conf', otherwise: 1111 } },
  response: configurationUpdated,
  errors: configurationErrors,
}

/** An agent that is a member already is a success in the classic layout. */
const ALREADY_MEMBER = { 1751: 'success' } as const

export const assignAgents: Translation = {
  call: {
    method: 'PUT',
    path: '/agents/group',
    fixed: { group_id: ':group_id' },
    list: { as: 'agents_list', from: 'body.ids' },
    body: 'none',
  },
  response: {
    kind: 'affected',
    all: 'All selected agents were assigned to group :group_id',
    some: 'Some agents were not assigned to group :group_id',
    failed: 'ids',
  },
  errors: { ...ALREADY_MEMBER, 1710: 'failedItems' },
}

export const assignAgent: Translation = {
  call: { path: '/agents/:agent_id/group/:group_id', params: { force_single_group: { format: 'flag' } } },
  response: {
    kind: 'text',
    text: "Group ':group_id' added to agent ':agent_id'.",
    variants: [
      { query: 'force_single_group', text: "Group ':group_id' set to agent ':agent_id'." },
      { error: 1751, text: "Agent ':agent_id' already belongs to group ':group_id'." },
    ],
  },
  errors: ALREADY_MEMBER,
}

export const unassignAgent: Translation = {
  call: { path: '/agents/:agent_id/group' },
  response: { kind: 'text', text: "Group unset for agent ':agent_id'." },
}

export const unassignAgentFromGroup: Translation = {
  call: { path: '/agents/:agent_id/group/:group_id' },
  response: {
    kind: 'text',
    text: "Group ':group_id' unset for agent ':agent_id'.",
    variants: [{ message: 'reassigned to group default', text: 'Agent :agent_id set to group default.' }],
  },
  // The classic layout looks at the groups of the agent only.
  errors: { 1710: 1734 },
}

export const unassignAgents: Translation = {
  call: {
    path: '/agents/group',
    fixed: { group_id: ':group_id' },
    params: { ids: { ignored: true } },
    list: { as: 'agents_list', from: 'query.ids' },
  },
  response: {
    kind: 'affected',
    all: 'All selected agents were removed from group :group_id',
    some: 'Some agents were not removed from group :group_id',
  },
}

const groupsRemoved = {
  kind: 'affected',
  all: 'All selected groups were removed',
  some: 'Some groups were not removed',
} as const

export const removeGroups: Translation = {
  call: { path: '/groups', params: { ids: { as: 'groups_list' } } },
  plan: 'removeGroups',
  response: groupsRemoved,
}

export const removeGroup: Translation = {
  call: { path: '/groups', fixed: { groups_list: ':group_id' } },
  plan: 'removeGroups',
  response: groupsRemoved,
}
