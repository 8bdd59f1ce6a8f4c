/** All records of the v4 contract, by section. */
import type { Endpoint, V4Endpoint } from '../endpoint.ts'
import { agentReads, agentWrites } from './agents.ts'
import { groups } from './groups.ts'
import { experimental, inventory } from './inventory.ts'
import { cluster, nodes } from './nodes.ts'
import { upToLastRelease } from './release-5.ts'
import { mitre, ruleset } from './ruleset.ts'
import { scans } from './scans.ts'
import { securityReads } from './security.ts'
import { securityWrites } from './security-writes.ts'
import { edge, service } from './service.ts'
import { master } from './shared.ts'

const records: readonly V4Endpoint[] = [
  ...service,
  ...agentWrites,
  ...agentReads,
  ...groups,
  ...scans,
  ...cluster,
  ...ruleset,
  ...nodes,
  ...mitre,
  ...experimental,
  ...inventory,
  ...securityReads,
  ...securityWrites,
  ...edge,
]

export const v4Contract: readonly V4Endpoint[] = Object.freeze(records.map(upToLastRelease))

/** Returns the records where clients log in as users of the manager: the node logs them out, and so ends their tokens. */
export function withManagerUsers(records: readonly V4Endpoint[]): readonly V4Endpoint[] {
  return records.map((record) =>
    record.target.kind === 'edge' && record.target.operation === 'logOut' ? { ...record, target: master() } : record,
  )
}

/**
 * Returns what the manager checks for an operation of either contract: one of these lists, all of whose rights are needed. None:
 * it is not known.
 */
export function rightsNeeded(endpoint: Endpoint): readonly (readonly string[])[] {
  if (endpoint.contract === 'v4') return endpoint.rights === undefined ? [] : [endpoint.rights]
  if (endpoint.translation === undefined) return []
  const { call, plan } = endpoint.translation
  const path = call.path.replace('{node}', '/manager')
  const isCalled = (record: V4Endpoint) =>
    plan === 'writeFile'
      ? record.method === 'PUT' && 'body' in record && record.body.kind === 'upload'
      : record.method === (call.method ?? endpoint.method) && record.path === path
  return v4Contract.flatMap((record) => (isCalled(record) && record.rights !== undefined ? [record.rights] : []))
}
