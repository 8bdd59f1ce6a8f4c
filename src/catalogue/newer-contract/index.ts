/** All records of the newer contract, by section. */
import type { Endpoint } from '../endpoint.ts'
import { agentCommands } from './agent-commands.ts'
import { agentWrites } from './agent-writes.ts'
import { agents } from './agents.ts'
import { cluster } from './cluster.ts'
import { edge } from './edge.ts'
import { experimental } from './experimental.ts'
import { groups } from './groups.ts'
import { inventory } from './inventory.ts'
import { manager } from './manager.ts'
import { mitre } from './mitre.ts'
import { nodes } from './nodes.ts'
import { master } from './record.ts'
import { ruleset } from './ruleset.ts'
import { scans } from './scans.ts'
import { securityReads } from './security-reads.ts'
import { securityWrites } from './security-writes.ts'
import { service } from './service.ts'
import { vulnerability } from './vulnerability.ts'

export const newerContract: readonly Endpoint[] = Object.freeze([
  ...service,
  ...agentCommands,
  ...agentWrites,
  ...agents,
  ...groups,
  ...scans,
  ...cluster,
  ...ruleset,
  ...manager,
  ...nodes,
  ...mitre,
  ...experimental,
  ...inventory,
  ...securityReads,
  ...securityWrites,
  ...vulnerability,
  ...edge,
])

/** Returns the records where clients log in as users of the manager: the node logs them out, and so ends their tokens. */
export function withManagerUsers(records: readonly Endpoint[]): readonly Endpoint[] {
  return records.map((record) =>
    record.target.kind === 'edge' && record.target.operation === 'logOut' ? { ...record, target: master() } : record,
  )
}
