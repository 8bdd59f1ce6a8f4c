/** Records of the security configuration assessment (SCA) and of CIS-CAT results. */
import type { Endpoint } from './endpoint.ts'
import { read } from './record.ts'
import { agentFilter, filter, hiddenQ, hiddenSelect, list, q, select } from './schemas/params.ts'
import { collectionOf, ofEachAgent } from './schemas/responses.ts'
import { agentOwner, allAgents, cacheIn, ofAgent } from './schemas/targets.ts'

const reading = {
  section: 'Rootcheck, syscheck, SCA',
  permission: 'sca:read',
  target: agentOwner,
  cache: cacheIn('sca', ...ofAgent('sca')),
} as const

export const sca: readonly Endpoint[] = [
  read('/sca/:agent_id', 'Policies of an agent', {
    ...reading,
    query: {
      ...list,
      q,
      name: filter('alphanumeric', 'policy name'),
      description: filter('alphanumeric', 'policy description'),
      references: filter('alphanumeric', 'references'),
      select: hiddenSelect,
    },
    response: collectionOf('ScaPolicy'),
    snapshot: 'sca',
  }),
  read('/sca/:agent_id/checks/:policy_id', 'Checks of one policy of an agent', {
    ...reading,
    params: { policy_id: filter('alphanumeric', 'policy') },
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
    response: collectionOf('ScaCheck'),
  }),
]

const filters = {
  benchmark: filter('alphanumeric', 'benchmark'),
  profile: filter('alphanumeric', 'profile'),
  pass: filter('alphanumeric', 'pass'),
  fail: filter('alphanumeric', 'fail'),
  error: filter('numbers', 'error'),
  notchecked: filter('numbers', 'notchecked'),
  unknown: filter('numbers', 'unknown'),
  score: filter('numbers', 'score'),
}
const both = {
  section: 'CIS-CAT',
  permission: 'ciscat:read',
} as const

export const ciscat: readonly Endpoint[] = [
  read('/ciscat/:agent_id/results', 'CIS-CAT results of an agent', {
    ...both,
    query: { ...list, q: hiddenQ, ...filters, select },
    target: agentOwner,
    response: collectionOf('CiscatResult', 'ciscat'),
    cache: cacheIn('ciscat', ...ofAgent('ciscat')),
    snapshot: 'ciscat',
  }),
  read('/experimental/ciscat/results', 'CIS-CAT results of all agents', {
    ...both,
    query: { ...list, q: hiddenQ, agent_id: agentFilter, ...filters, select },
    target: allAgents('/ciscat/:agent_id/results'),
    response: ofEachAgent(collectionOf('CiscatResult', 'ciscat')),
    cache: cacheIn('ciscat', 'collection:ciscat'),
    snapshot: 'ciscat',
    experimental: true,
    priority: 'bulk',
  }),
]
