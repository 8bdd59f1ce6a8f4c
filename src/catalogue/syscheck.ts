import type { Endpoint } from './endpoint.ts'
import { read, write } from './record.ts'
import { agentId, filter, hiddenQ, list, select } from './schemas/params.ts'
import { collectionOf, message, scanTimes } from './schemas/responses.ts'
import { agentOwner, cacheIn, everyNode, ofAgent } from './schemas/targets.ts'

/** Records of file integrity: files of an agent, and scans. A scan request starts both syscheck and rootcheck. */

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
    response: collectionOf('syscheck file'),
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
