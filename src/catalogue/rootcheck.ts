import type { Endpoint } from './endpoint.ts'
import { read, write } from './record.ts'
import { agentId, failingQ, filter, hiddenQ, hiddenSelect, list } from './schemas/params.ts'
import { collectionOf, message, scanTimes } from './schemas/responses.ts'
import { agentOwner, cacheIn, everyNode, ofAgent } from './schemas/targets.ts'

/** Records of rootkit detection: findings of an agent, and scans. A scan request starts both rootcheck and syscheck. */

const section = 'Rootcheck, syscheck, SCA'
const ofOne = { section, params: { agent_id: agentId }, target: agentOwner } as const
const reading = {
  ...ofOne,
  permission: 'rootcheck:read',
  cache: cacheIn('rootcheck', ...ofAgent('rootcheck')),
} as const

export const rootcheck: readonly Endpoint[] = [
  read({
    path: '/rootcheck/:agent_id',
    summary: 'Rootcheck events of an agent',
    ...reading,
    query: {
      ...list,
      q: hiddenQ,
      pci: filter('alphanumeric', 'pci requirement'),
      cis: filter('alphanumeric', 'CIS'),
      status: {
        ...filter('names', 'status'),
        default: 'all',
        allowed: ['all', 'outstanding', 'solved'],
        note: 'other values give 1603',
      },
      select: hiddenSelect,
    },
    strictQuery: true,
    response: collectionOf('rootcheck event'),
  }),
  read({
    path: '/rootcheck/:agent_id/cis',
    summary: 'CIS requirements in the rootcheck events of an agent',
    ...reading,
    query: { ...list, q: failingQ },
    strictQuery: true,
    response: collectionOf('String'),
  }),
  read({
    path: '/rootcheck/:agent_id/pci',
    summary: 'PCI requirements in the rootcheck events of an agent',
    ...reading,
    query: { ...list, q: failingQ },
    strictQuery: true,
    response: collectionOf('String'),
  }),
  read({
    path: '/rootcheck/:agent_id/last_scan',
    summary: 'Times of the last rootcheck scan of an agent',
    ...reading,
    response: scanTimes,
  }),
  write('DELETE', {
    path: '/rootcheck',
    summary: 'Clear the rootcheck data of all agents',
    section,
    permission: 'rootcheck:clear',
    target: everyNode('message', 'fail'),
    response: message,
    invalidates: ['rootcheck:*'],
    priority: 'bulk',
  }),
  write('DELETE', {
    path: '/rootcheck/:agent_id',
    summary: 'Clear the rootcheck data of an agent',
    ...ofOne,
    permission: 'rootcheck:clear',
    response: message,
    invalidates: ['rootcheck:{agent_id}'],
  }),
  write('PUT', {
    path: '/rootcheck',
    summary: 'Scan all agents',
    section,
    permission: 'rootcheck:run',
    target: everyNode('message', 'fail'),
    response: message,
    invalidates: ['rootcheck:*', 'syscheck:*'],
    priority: 'bulk',
  }),
  write('PUT', {
    path: '/rootcheck/:agent_id',
    summary: 'Scan an agent',
    ...ofOne,
    permission: 'rootcheck:run',
    response: message,
    invalidates: ['rootcheck:{agent_id}', 'syscheck:{agent_id}'],
  }),
]
