/** Records of the security configuration assessment (SCA) and of CIS-CAT results. */
import type { Endpoint } from './endpoint.ts'
import { read } from './record.ts'
import { agentFilter, agentId, filter, hiddenQ, hiddenSelect, list, q, select } from './schemas/params.ts'
import { collectionOf, ofEachAgent } from './schemas/responses.ts'
import { agentOwner, allAgents, cacheIn, ofAgent, withSnapshot } from './schemas/targets.ts'

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
    response: collectionOf('ScaPolicy'),
    cache: withSnapshot('sca', reading.cache),
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
  strictQuery: true,
  permission: 'ciscat:read',
} as const

export const ciscat: readonly Endpoint[] = [
  read({
    path: '/ciscat/:agent_id/results',
    summary: 'CIS-CAT results of an agent',
    ...both,
    params: { agent_id: agentId },
    query: { ...list, q: hiddenQ, ...filters, select },
    target: agentOwner,
    response: collectionOf('CiscatResult', 'ciscat'),
    cache: withSnapshot('ciscat', cacheIn('ciscat', ...ofAgent('ciscat'))),
  }),
  read({
    path: '/experimental/ciscat/results',
    summary: 'CIS-CAT results of all agents',
    ...both,
    query: { ...list, q: hiddenQ, agent_id: agentFilter, ...filters, select },
    target: allAgents('/ciscat/:agent_id/results'),
    response: ofEachAgent(collectionOf('CiscatResult', 'ciscat')),
    cache: withSnapshot('ciscat', cacheIn('ciscat', 'collection:ciscat')),
    experimental: true,
    priority: 'bulk',
  }),
]
