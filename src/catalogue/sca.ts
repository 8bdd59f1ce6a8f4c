import type { Endpoint } from './endpoint.ts'
import { read } from './record.ts'
import { agentId, filter, hiddenQ, hiddenSelect, list, q } from './schemas/params.ts'
import { collectionOf } from './schemas/responses.ts'
import { agentOwner, cacheIn, ofAgent } from './schemas/targets.ts'

/** Records of the security configuration assessment of an agent. */

const reading = {
  section: 'Rootcheck, syscheck, SCA',
  strictQuery: true,
  permission: 'sca:read',
  target: agentOwner,
  cache: cacheIn('sca', ...ofAgent('sca')),
} as const

export const sca: readonly Endpoint[] = [
  read({
    path: '/sca/:agent_id',
    summary: 'Policies of an agent',
    ...reading,
    params: { agent_id: agentId },
    query: {
      ...list,
      q,
      name: filter('alphanumeric', 'policy name'),
      description: filter('alphanumeric', 'policy description'),
      references: filter('alphanumeric', 'references'),
      select: hiddenSelect,
    },
    response: collectionOf('SCA policy'),
  }),
  read({
    path: '/sca/:agent_id/checks/:policy_id',
    summary: 'Checks of one policy of an agent',
    ...reading,
    params: { agent_id: agentId, policy_id: filter('alphanumeric', 'policy') },
    query: {
      ...list,
      q: hiddenQ,
      title: filter('alphanumeric', 'title'),
      description: filter('alphanumeric', 'policy description'),
      rationale: filter('alphanumeric', 'rationale'),
      remediation: filter('alphanumeric', 'remediation'),
      file: filter('paths', 'file'),
      process: filter('alphanumeric', 'process'),
      directory: filter('paths', 'directory'),
      registry: filter('alphanumeric', 'registry'),
      references: filter('alphanumeric', 'references'),
      result: filter('alphanumeric', 'result'),
      select: hiddenSelect,
    },
    response: collectionOf('SCA check'),
  }),
]
