/** Records of file integrity (syscheck) and rootkit detection (rootcheck). A scan request of either starts both scans. */
import type { Endpoint } from './endpoint.ts'
import { read, write } from './record.ts'
import { agentId, failingQ, filter, hiddenQ, hiddenSelect, list, select } from './schemas/params.ts'
import { collectionOf, message, scanTimes } from './schemas/responses.ts'
import { agentOwner, cacheIn, everyNode, ofAgent, withSnapshot } from './schemas/targets.ts'

const section = 'Rootcheck, syscheck, SCA'
const ofOne = { section, params: { agent_id: agentId }, target: agentOwner } as const
const reading = { ...ofOne, permission: 'syscheck:read', cache: cacheIn('syscheck', ...ofAgent('syscheck')) } as const

export const syscheck: readonly Endpoint[] = [
  read({
    path: '/syscheck/:agent_id',
    summary: 'Syscheck files of an agent',
    ...reading,
    query: {
      ...list,
      q: hiddenQ,
      file: filter('paths', 'file name'),
      type: { ...filter('names', 'type of file'), allowed: ['file', 'registry'] },
      summary: {
        ...filter('yes_no', 'summary grouping by file name'),
        default: 'no',
        allowed: ['yes', 'no'],
        note: 'yes: only date, mtime and file',
      },
      md5: filter('hashes', 'md5'),
      sha1: filter('hashes', 'sha1'),
      sha256: filter('hashes', 'sha256'),
      hash: filter('hashes', 'any-of hash'),
      select,
    },
    strictQuery: true,
    response: collectionOf('SyscheckFile'),
    cache: withSnapshot('syscheck', reading.cache),
  }),
  read({
    path: '/syscheck/:agent_id/last_scan',
    summary: 'Times of the last syscheck scan of an agent',
    ...reading,
    response: scanTimes,
  }),
  write('DELETE', {
    path: '/syscheck/:agent_id',
    summary: 'Clear the syscheck data of an agent',
    ...ofOne,
    permission: 'syscheck:clear',
    response: message,
    invalidates: ['syscheck:{agent_id}'],
  }),
  write('DELETE', {
    path: '/experimental/syscheck',
    summary: 'Clear the syscheck data of all agents',
    section,
    permission: 'syscheck:clear',
    target: everyNode('message', 'fail'),
    response: message,
    invalidates: ['syscheck:*'],
    experimental: true,
    priority: 'bulk',
  }),
  write('PUT', {
    path: '/syscheck',
    summary: 'Scan all agents',
    section,
    permission: 'syscheck:run',
    target: everyNode('message', 'fail'),
    response: message,
    invalidates: ['syscheck:*', 'rootcheck:*'],
    priority: 'bulk',
  }),
  write('PUT', {
    path: '/syscheck/:agent_id',
    summary: 'Scan an agent',
    ...ofOne,
    permission: 'syscheck:run',
    response: message,
    invalidates: ['syscheck:{agent_id}', 'rootcheck:{agent_id}'],
  }),
]

const readingFindings = {
  ...ofOne,
  permission: 'rootcheck:read',
  cache: cacheIn('rootcheck', ...ofAgent('rootcheck')),
} as const

export const rootcheck: readonly Endpoint[] = [
  read({
    path: '/rootcheck/:agent_id',
    summary: 'Rootcheck events of an agent',
    ...readingFindings,
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
    response: collectionOf('RootcheckEvent'),
    cache: withSnapshot('rootcheck', readingFindings.cache),
  }),
  read({
    path: '/rootcheck/:agent_id/cis',
    summary: 'CIS requirements in the rootcheck events of an agent',
    ...readingFindings,
    query: { ...list, q: failingQ },
    strictQuery: true,
    response: collectionOf('RootcheckRequirement'),
    cache: withSnapshot('requirements', readingFindings.cache),
  }),
  read({
    path: '/rootcheck/:agent_id/pci',
    summary: 'PCI requirements in the rootcheck events of an agent',
    ...readingFindings,
    query: { ...list, q: failingQ },
    strictQuery: true,
    response: collectionOf('RootcheckRequirement'),
    cache: withSnapshot('requirements', readingFindings.cache),
  }),
  read({
    path: '/rootcheck/:agent_id/last_scan',
    summary: 'Times of the last rootcheck scan of an agent',
    ...readingFindings,
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
