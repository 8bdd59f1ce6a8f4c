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
    summary: 'List MITRE groups',
    permission: 'mitre:read',
    rights: ['mitre:read on *:*:*'],
    target: anyNode,
    query: { ...rows, group_ids: param('ids of MITRE groups', list(text())), select, q, distinct: distinctSince47 },
    cache: cacheIn('rules', 'mitre'),
  }),
  read({
    path: '/mitre/metadata',
    section: 'MITRE',
    summary: 'Get the metadata of the MITRE database',
    permission: 'mitre:read',
    rights: ['mitre:read on *:*:*'],
    target: anyNode,
    cache: cacheIn('rules', 'mitre'),
  }),
  read({
    path: '/mitre/mitigations',
    section: 'MITRE',
    summary: 'List MITRE mitigations',
    permission: 'mitre:read',
    rights: ['mitre:read on *:*:*'],
    target: anyNode,
    query: { ...rows, mitigation_ids: param('ids of mitigations', list(text())), select, q, distinct: distinctSince47 },
    cache: cacheIn('rules', 'mitre'),
  }),
  read({
    path: '/mitre/references',
    section: 'MITRE',
    summary: 'List MITRE references',
    permission: 'mitre:read',
    rights: ['mitre:read on *:*:*'],
    target: anyNode,
    query: { ...rows, reference_ids: param('ids of references', list(text())), select, q },
    cache: cacheIn('rules', 'mitre'),
  }),
  read({
    path: '/mitre/software',
    section: 'MITRE',
    summary: 'List MITRE software',
    permission: 'mitre:read',
    rights: ['mitre:read on *:*:*'],
    target: anyNode,
    query: { ...rows, software_ids: param('ids of software', list(text())), select, q, distinct: distinctSince47 },
    cache: cacheIn('rules', 'mitre'),
  }),
  read({
    path: '/mitre/tactics',
    section: 'MITRE',
    summary: 'List MITRE tactics',
    permission: 'mitre:read',
    rights: ['mitre:read on *:*:*'],
    target: anyNode,
    query: { ...rows, tactic_ids: param('ids of tactics', list(text())), select, q, distinct: distinctSince47 },
    cache: cacheIn('rules', 'mitre'),
  }),
  read({
    path: '/mitre/techniques',
    section: 'MITRE',
    summary: 'List MITRE techniques',
    permission: 'mitre:read',
    rights: ['mitre:read on *:*:*'],
    target: anyNode,
    query: { ...rows, technique_ids: param('ids of techniques', list(text())), select, q, distinct: distinctSince47 },
    cache: cacheIn('rules', 'mitre'),
  }),
]
