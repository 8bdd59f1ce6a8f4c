/** The state of each node as operators see it: whether it receives calls, and what the latest ones showed. */
import type { Drain } from '../core/drains.ts'
import type { NodeStateName } from '../core/node-faults.ts'
import type { Cluster, NodeStatus } from './index.ts'

export function nodeStates({ status, view, contacts }: Cluster) {
  const now = Date.now()
  const contactStates = contacts.states()
  return status().map((node) => {
    const { name, type, layout, inFlight, limit, slots, queue, budget, ejectedUntil, cutOffUntil, lastFailure, drain } =
      node
    const until = ejectedUntil ?? cutOffUntil
    const { version } = view.find(name) ?? {}
    return {
      name,
      type,
      state: stateOf(node, view, contactStates.get(name) ?? 'not tried'),
      inFlight,
      limit,
      slots,
      queue,
      ...(budget && { budget }),
      ...(version !== undefined && { version }),
      ...(layout && { layout }),
      ...(drain && { drain: drainOf(drain, now) }),
      ...(until !== undefined && { ejectedFor: Math.max(0, until - now) }),
      ...(lastFailure && {
        lastFailure: { fault: lastFailure.fault, detail: lastFailure.detail, ago: now - lastFailure.at },
      }),
    }
  })
}

function drainOf({ by, at, reason, until }: Drain, now: number) {
  const end = until === undefined ? {} : { endsIn: Math.max(0, until - now) }
  return { by, ago: Math.max(0, now - at), ...(reason !== undefined && { reason }), ...end }
}

/** Returns why the node receives no calls, or what the latest one showed. */
function stateOf(
  node: NodeStatus,
  view: Cluster['view'],
  contact: 'answered' | 'failing' | 'not tried',
): NodeStateName {
  const { name, addressed, listed, ejectedUntil, hangs, cutOffUntil, drain } = node
  if (drain !== undefined) return 'drained'
  if (ejectedUntil !== undefined) return hangs ? 'hangs' : 'ejected'
  if (cutOffUntil !== undefined) return 'cut off'
  if (!addressed) return 'no address'
  if (contact !== 'answered') return contact
  if (!view.isAvailable(name)) return 'full'
  return listed === false ? 'not listed' : 'up'
}
