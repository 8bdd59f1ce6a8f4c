/** Records of file integrity (syscheck) and rootkit detection (rootcheck). A scan request of either starts both scans. */
import type { Endpoint } from './endpoint.ts'
import { read, write } from './record.ts'
import { failingQ, filter, hiddenQ, hiddenSelect, list, select } from './schemas/params.ts'
import { collectionOf, scanTimes } from './schemas/responses.ts'
import { agentOwner, cacheIn, everyNode, ofAgent } from './schemas/targets.ts'

const section = 'Rootcheck, syscheck, SCA'
const ofOne = { section, target: agentOwner } as const
const ofAll = { section, target: everyNode('message', 'fail'), priority: 'bulk' } as const
const reading = { ...ofOne, permission: 'syscheck:read', cache: cacheIn('syscheck', ...ofAgent('syscheck')) } as const

export const syscheck: readonly Endpoint[] = [
  read('/syscheck/:agent_id', 'Syscheck files of an agent', {
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
    response: collectionOf('SyscheckFile'),
    snapshot: 'syscheck',
  }),
  read('/syscheck/:agent_id/last_scan', 'Times of the last syscheck scan of an agent', {
    ...reading,
    response: scanTimes,
  }),
  write('DELETE', '/syscheck/:agent_id', 'Clear the syscheck data of an agent', {
    ...ofOne,
    permission: 'syscheck:clear',
    invalidates: ['syscheck:{agent_id}'],
  }),
  write('DELETE', '/experimental/syscheck', 'Clear the syscheck data of all agents', {
    ...ofAll,
    permission: 'syscheck:clear',
    invalidates: ['syscheck:*'],
    experimental: true,
  }),
  write('PUT', '/syscheck', 'Scan all agents', {
    ...ofAll,
    permission: 'syscheck:run',
    invalidates: ['syscheck:*', 'rootcheck:*'],
  }),
  write('PUT', '/syscheck/:agent_id', 'Scan an agent', {
    ...ofOne,
    permission: 'syscheck:run',
    invalidates: ['syscheck:{agent_id}', 'rootcheck:{agent_id}'],
  }),
]

const readingFindings = {
  ...ofOne,
  permission: 'rootcheck:read',
  cache: cacheIn('rootcheck', ...ofAgent('rootcheck')),
} as const

export const rootcheck: readonly Endpoint[] = [
  read('/rootcheck/:agent_id', 'Rootcheck events of an agent', {
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
    response: collectionOf('RootcheckEvent'),
    snapshot: 'rootcheck',
  }),
  read('/rootcheck/:agent_id/cis', 'CIS requirements in the rootcheck events of an agent', {
    ...readingFindings,
    query: { ...list, q: failingQ },
    response: collectionOf('RootcheckRequirement'),
    snapshot: 'requirements',
  }),
  read('/rootcheck/:agent_id/pci', 'PCI requirements in the rootcheck events of an agent', {
    ...readingFindings,
    query: { ...list, q: failingQ },
    response: collectionOf('RootcheckRequirement'),
    snapshot: 'requirements',
  }),
  read('/rootcheck/:agent_id/last_scan', 'Times of the last rootcheck scan of an agent', {
    ...readingFindings,
    response: scanTimes,
  }),
  write('DELETE', '/rootcheck', 'Clear the rootcheck data of all agents', {
    ...ofAll,
    permission: 'rootcheck:clear',
    invalidates: ['rootcheck:*'],
  }),
  write('DELETE', '/rootcheck/:agent_id', 'Clear the rootcheck data of an agent', {
    ...ofOne,
    permission: 'rootcheck:clear',
    invalidates: ['rootcheck:{agent_id}'],
  }),
  write('PUT', '/rootcheck', 'Scan all agents', {
    ...ofAll,
    permission: 'rootcheck:run',
    invalidates: ['rootcheck:*', 'syscheck:*'],
  }),
  write('PUT', '/rootcheck/:agent_id', 'Scan an agent', {
    ...ofOne,
    permission: 'rootcheck:run',
    invalidates: ['rootcheck:{agent_id}', 'syscheck:{agent_id}'],
  }),
]
