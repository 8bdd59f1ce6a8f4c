/** What the console shows of nodes, and how it drains them. */
import type { DrainResult, NodeStateName } from '../admin/console/node-types.ts'
import type { NodeDrains, NodeState, PurgeCaller } from '../admin/console/ports.ts'
import type { Audit } from '../audit/index.ts'
import type { Drains } from '../upstream/drains.ts'
import type { Cluster, NodeStatus } from '../upstream/index.ts'
import type { NodeContacts } from '../upstream/node-contacts.ts'

/** Returns the state of each node as the console shows it. */
export function nodeStates({ status, view }: Cluster, contacts: Pick<NodeContacts, 'stateOf'>): NodeState[] {
  const now = Date.now()
  return status().map((node) => {
    const { name, type, layout, inFlight, limit, slots, queue, budget, ejectedUntil, cutOffUntil, lastFailure, drain } =
      node
    const until = ejectedUntil ?? cutOffUntil
    const { version } = view.find(name) ?? {}
    return {
      name,
      type,
      state: stateOf(node, view, contacts),
      inFlight,
      limit,
      slots,
      queue,
      ...(budget && { budget }),
      ...(version !== undefined && { version }),
      ...(layout && { layout }),
      ...(drain && { drain: { by: drain.by, ago: Math.max(0, now - drain.at) } }),
      ...(until !== undefined && { ejectedFor: Math.max(0, until - now) }),
      ...(lastFailure && {
        lastFailure: { fault: lastFailure.fault, detail: lastFailure.detail, ago: now - lastFailure.at },
      }),
    }
  })
}

/** Returns why the node receives no calls, or what the latest one showed. */
function stateOf(node: NodeStatus, view: Cluster['view'], contacts: Pick<NodeContacts, 'stateOf'>): NodeStateName {
  const { name, addressed, listed, ejectedUntil, hangs, cutOffUntil, drain } = node
  if (drain !== undefined) return 'drained'
  if (ejectedUntil !== undefined) return hangs ? 'hangs' : 'ejected'
  if (cutOffUntil !== undefined) return 'cut off'
  if (!addressed) return 'no address'
  const contact = contacts.stateOf(name)
  if (contact !== 'answered') return contact
  if (!view.isAvailable(name)) return 'full'
  return listed === false ? 'not listed' : 'up'
}

const ROUTE = '/api/nodes/:node/drain'

/** The audit records of a drain have the route of the operations listener. */
export function createNodeDrains({
  audit,
  drains,
}: {
  readonly audit: Pick<Audit, 'record'>
  readonly drains: Drains
}): NodeDrains {
  const { areShared } = drains
  const appliesTo = areShared ? 'allReplicas' : 'thisReplica'
  const describe = (method: 'PUT' | 'DELETE', node: string, { caller, client, requestId }: PurgeCaller) =>
    ({ request: requestId, caller: caller.name, client, method, route: ROUTE, params: { node } }) as const
  return {
    areShared,
    drain: async (node, confirmsMaster, by): Promise<DrainResult> => {
      const described = { ...describe('PUT', node, by), ...(confirmsMaster && { query: { confirm: 'master' } }) }
      await audit.record(described, () => drains.drain({ node, by: by.caller.name, confirmsMaster }))
      return { node, drained: true, appliesTo }
    },
    putBack: async (node, by): Promise<DrainResult> => {
      await audit.record(describe('DELETE', node, by), () => drains.putBack(node))
      return { node, drained: false, appliesTo }
    },
  }
}
