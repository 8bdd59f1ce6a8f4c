/** Records of the MITRE ATT&CK tables. */
import type { Endpoint } from '../endpoint.ts'
import { anyNode } from '../schemas/targets.ts'
import { distinctSince47, q, rows, select } from './params.ts'
import { cacheIn, read } from './record.ts'
import { list, param, text } from './values.ts'

export const mitre: readonly Endpoint[] = [
  read({
    path: '/mitre/groups',
    section: 'MITRE',
    summary: 'Read mitre groups',
    permission: 'mitre:read',
    rights: ['mitre:read on *:*:*'],
    target: anyNode,
    query: { ...rows, group_ids: param('group ids', list(text())), select, q, distinct: distinctSince47 },
    cache: cacheIn('rules', 'mitre'),
  }),
  read({
    path: '/mitre/metadata',
    section: 'MITRE',
    summary: 'Read mitre metadata',
    permission: 'mitre:read',
    rights: ['mitre:read on *:*:*'],
    target: anyNode,
    cache: cacheIn('rules', 'mitre'),
  }),
  read({
    path: '/mitre/mitigations',
    section: 'MITRE',
    summary: 'Read mitre mitigations',
    permission: 'mitre:read',
    rights: ['mitre:read on *:*:*'],
    target: anyNode,
    query: { ...rows, mitigation_ids: param('mitigation ids', list(text())), select, q, distinct: distinctSince47 },
    cache: cacheIn('rules', 'mitre'),
  }),
  read({
    path: '/mitre/references',
    section: 'MITRE',
    summary: 'Read mitre references',
    permission: 'mitre:read',
    rights: ['mitre:read on *:*:*'],
    target: anyNode,
    query: { ...rows, reference_ids: param('reference ids', list(text())), select, q },
    cache: cacheIn('rules', 'mitre'),
  }),
  read({
    path: '/mitre/software',
    section: 'MITRE',
    summary: 'Read mitre software',
    permission: 'mitre:read',
    rights: ['mitre:read on *:*:*'],
    target: anyNode,
    query: { ...rows, software_ids: param('software ids', list(text())), select, q, distinct: distinctSince47 },
    cache: cacheIn('rules', 'mitre'),
  }),
  read({
    path: '/mitre/tactics',
    section: 'MITRE',
    summary: 'Read mitre tactics',
    permission: 'mitre:read',
    rights: ['mitre:read on *:*:*'],
    target: anyNode,
    query: { ...rows, tactic_ids: param('tactic ids', list(text())), select, q, distinct: distinctSince47 },
    cache: cacheIn('rules', 'mitre'),
  }),
  read({
    path: '/mitre/techniques',
    section: 'MITRE',
    summary: 'Read mitre techniques',
    permission: 'mitre:read',
    rights: ['mitre:read on *:*:*'],
    target: anyNode,
    query: { ...rows, technique_ids: param('technique ids', list(text())), select, q, distinct: distinctSince47 },
    cache: cacheIn('rules', 'mitre'),
  }),
]
