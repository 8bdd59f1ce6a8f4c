/** The calls about groups and their members. */
import { type Call, NO_TEXTS } from '../model.ts'
import { isTrue } from '../parameters.ts'
import { agentTexts } from './agents.ts'
import {
  allGroups,
  assignMany,
  assignOne,
  create,
  members,
  remove,
  unassignAll,
  unassignMany,
  unassignOne,
} from './group-members.ts'

const inPath = { in: 'path', as: 'group_id' } as const
const inQuery = { in: 'query', as: 'group_id' } as const
const modifiesPath = { action: 'agent:modify_group', type: 'agent:id', named: { in: 'path', as: 'agent_id' } } as const
const modifiesList = {
  action: 'agent:modify_group',
  type: 'agent:id',
  named: { in: 'query', as: 'agents_list' },
} as const

const assigned: Call['texts'] = ({ params, query }) => {
  const name = params.group_id ?? query.group_id
  const alone = isTrue(query.force_single_group) ? ' and removed from the other groups' : ''
  return {
    all: `All selected agents were assigned to ${name}${alone}`,
    some: `Some agents were not assigned to ${name}${alone}`,
    none: `No agents were assigned to ${name}`,
  }
}

export const groupCalls: readonly Call[] = [
  {
    method: 'GET',
    path: '/groups',
    runs: 'master',
    needs: [{ action: 'group:read', type: 'group:id', named: { in: 'query', as: 'groups_list' } }],
    texts: {
      all: 'All selected groups information was returned',
      some: 'Some groups information was not returned',
      none: 'No group information was returned',
    },
    run: allGroups,
  },
  {
    method: 'POST',
    path: '/groups',
    runs: 'master',
    needs: [{ action: 'group:create', type: '*:*', named: 'whole' }],
    texts: NO_TEXTS,
    run: create,
  },
  {
    method: 'DELETE',
    path: '/groups',
    runs: 'master',
    needs: [{ action: 'group:delete', type: 'group:id', named: { in: 'query', as: 'groups_list' } }],
    texts: {
      all: 'All selected groups were deleted',
      some: 'Some groups were not deleted',
      none: 'No group was deleted',
    },
    run: remove,
  },
  {
    method: 'GET',
    path: '/groups/{group_id}/agents',
    runs: 'master',
    needs: [
      { action: 'group:read', type: 'group:id', named: inPath },
      { action: 'agent:read', type: 'agent:id', named: 'none' },
    ],
    texts: agentTexts,
    run: members,
  },
  {
    method: 'PUT',
    path: '/agents/group',
    runs: 'master',
    needs: [{ action: 'group:modify_assignments', type: 'group:id', named: inQuery }, modifiesList],
    texts: assigned,
    run: assignMany,
  },
  {
    method: 'DELETE',
    path: '/agents/group',
    runs: 'master',
    needs: [{ action: 'group:modify_assignments', type: 'group:id', named: inQuery }, modifiesList],
    texts: ({ query }) => ({
      all: `All selected agents were removed from group ${query.group_id}`,
      some: `Some agents were not removed from group ${query.group_id}`,
      none: `No agent was removed from group ${query.group_id}`,
    }),
    run: unassignMany,
  },
  {
    method: 'PUT',
    path: '/agents/{agent_id}/group/{group_id}',
    runs: 'master',
    needs: [{ action: 'group:modify_assignments', type: 'group:id', named: inPath }, modifiesPath],
    texts: assigned,
    run: assignOne,
  },
  {
    method: 'DELETE',
    path: '/agents/{agent_id}/group/{group_id}',
    runs: 'master',
    needs: [{ action: 'group:modify_assignments', type: 'group:id', named: inPath }, modifiesPath],
    texts: NO_TEXTS,
    run: unassignOne,
  },
  {
    method: 'DELETE',
    path: '/agents/{agent_id}/group',
    runs: 'master',
    needs: [modifiesPath],
    texts: {
      all: 'Specified agent was removed from returned groups',
      some: 'Specified agent was not removed from some groups',
      none: 'Specified agent was not removed from any group',
    },
    run: unassignAll,
  },
]
