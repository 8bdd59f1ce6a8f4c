/** Records of the MITRE ATT&CK tables. */
import type { Endpoint, Param } from '../endpoint.ts'
import { anyNode, withSnapshot } from '../schemas/targets.ts'
import { distinctSince47, q, rows, select } from './params.ts'
import { cacheIn, read } from './record.ts'
import { list, param, text } from './values.ts'

const reading = {
  section: 'MITRE',
  permission: 'mitre:read',
  rights: ['mitre:read on *:*:*'],
  target: anyNode,
  cache: cacheIn('rules', 'mitre'),
} as const
const distinct = { distinct: distinctSince47 }

export const mitre: readonly Endpoint[] = [
  read({ ...reading, path: '/mitre/metadata', summary: 'Get the metadata of the MITRE database' }),
  table('/mitre/groups', 'List MITRE groups', { group_ids: idsOf('MITRE groups'), ...distinct }),
  table('/mitre/mitigations', 'List MITRE mitigations', { mitigation_ids: idsOf('mitigations'), ...distinct }),
  table('/mitre/references', 'List MITRE references', { reference_ids: idsOf('references') }),
  table('/mitre/software', 'List MITRE software', { software_ids: idsOf('software'), ...distinct }),
  table('/mitre/tactics', 'List MITRE tactics', { tactic_ids: idsOf('tactics'), ...distinct }),
  table('/mitre/techniques', 'List MITRE techniques', { technique_ids: idsOf('techniques'), ...distinct }),
]

function table(path: `/mitre/${string}`, summary: string, query: Readonly<Record<string, Param>>): Endpoint {
  const cache = withSnapshot('pages', reading.cache)
  return read<string>({ ...reading, cache, path, summary, params: {}, query: { ...rows, ...query, select, q } })
}

function idsOf(what: string): Param {
  return param(`ids of ${what}`, list(text()))
}
