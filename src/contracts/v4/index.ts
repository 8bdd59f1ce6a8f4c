/** All records of the v4 contract, by section. */
import type { Endpoint } from '../endpoint.ts'
import { agentReads, agentWrites } from './agents.ts'
import { groups } from './groups.ts'
import { experimental, inventory } from './inventory.ts'
import { cluster, nodes } from './nodes.ts'
import { mitre, ruleset } from './ruleset.ts'
import { scans } from './scans.ts'
import { securityReads, securityWrites } from './security.ts'
import { edge, service } from './service.ts'
import { master } from './shared.ts'

export const v4Contract: readonly Endpoint[] = Object.freeze([
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
])

/** Returns the records where clients log in as users of the manager: the node logs them out, and so ends their tokens. */
export function withManagerUsers(records: readonly Endpoint[]): readonly Endpoint[] {
  return records.map((record) =>
    record.target.kind === 'edge' && record.target.operation === 'logOut' ? { ...record, target: master() } : record,
  )
}

/**
 * Returns what the manager checks for an operation of either contract: one of these lists, all of whose rights are needed. None:
 * it is not known.
 */
export function rightsNeeded({ method, rights, translation: v4 }: Endpoint): readonly (readonly string[])[] {
  if (v4 === undefined) return rights === undefined ? [] : [rights]
  const { call, plan } = v4
  const path = call.path.replace('{node}', '/manager')
  const isCalled = (record: Endpoint) =>
    plan === 'writeFile'
      ? record.method === 'PUT' && 'body' in record && record.body.kind === 'upload'
      : record.method === (call.method ?? method) && record.path === path
  return v4Contract.flatMap((record) => (isCalled(record) && record.rights !== undefined ? [record.rights] : []))
}
