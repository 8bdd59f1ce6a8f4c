/** The calls about the MITRE ATT&CK knowledge base, which every node has for itself. */
import { affected } from '../answers.ts'
import { collectRows, type Table } from '../collection.ts'
import { V4Error } from '../errors.ts'
import type { Asked, Call } from '../model.ts'
import { membersOf } from '../parameters.ts'
import { type MitreTable, mitreMetadata, mitreRows } from './mitre-rows.ts'

const common = ['id', 'name', 'description', 'created_time', 'modified_time', 'url', 'source', 'external_id']
const versioned = [...common, 'references', 'mitre_version', 'deprecated', 'techniques']

const fields: Readonly<Record<MitreTable, readonly string[]>> = {
  groups: [...versioned, 'software'],
  mitigations: versioned,
  references: ['id', 'source', 'external_id', 'url', 'description'],
  software: [...versioned, 'groups'],
  tactics: [...common, 'references', 'short_name', 'techniques'],
  techniques: [
    ...[...common, 'references', 'mitre_version', 'deprecated', 'remote_support', 'network_requirements'],
    ...['subtechnique_of', 'tactics', 'mitigations', 'groups', 'software'],
  ],
}

/** Throws 2003 for a node that has not downloaded the database. */
function requireDatabase({ world }: Asked): void {
  if (world.hasFeeds === false) throw new V4Error(2003, "Couldn't open DB mitre")
}

function read(kind: MitreTable, list: string): Call['run'] {
  const table: Table = { kind: 'database', fields: fields[kind], keys: ['id'], order: '+id' }
  return (asked) => {
    requireDatabase(asked)
    const ids = membersOf(asked.query[list])
    const rows = mitreRows[kind].filter(({ id }) => ids?.includes(String(id)) ?? true)
    const { items, total } = collectRows(rows, table, asked.query, asked.world.now())
    return affected(items, { total })
  }
}

function callOf(kind: MitreTable | 'metadata', run: Call['run']): Call {
  return {
    method: 'GET',
    path: `/mitre/${kind}`,
    runs: 'here',
    needs: [{ action: 'mitre:read', type: '*:*', named: 'whole' }],
    texts: {
      all: `MITRE ${kind} information was returned`,
      some: `Some MITRE ${kind} information was not returned`,
      none: `No MITRE ${kind} information was returned`,
    },
    run,
  }
}

export const mitreCalls: readonly Call[] = [
  callOf('metadata', (asked) => {
    requireDatabase(asked)
    return affected(mitreMetadata)
  }),
  callOf('groups', read('groups', 'group_ids')),
  callOf('mitigations', read('mitigations', 'mitigation_ids')),
  callOf('references', read('references', 'reference_ids')),
  callOf('software', read('software', 'software_ids')),
  callOf('tactics', read('tactics', 'tactic_ids')),
  callOf('techniques', read('techniques', 'technique_ids')),
]
