/**
 * The state of nodes for other rooms: for the cache, of those that a request would go to; for operators, whether each node
 * receives calls, and what the latest ones showed.
 */

import type { ClusterView } from '../core/node-call.ts'
import type { NodeStateName } from '../core/node-faults.ts'
import { type EdgeRequest, onlyNodeOf } from '../core/request.ts'
import type { Drain } from './drain-state.ts'
import type { Cluster, NodeStatus } from './index.ts'
import type { ClusterKind, KindOf } from './kinds.ts'

/**
 * `hasIdleCapacity`: whether nodes have idle capacity for work that no client waits for. It holds if each node that the
 * request may go to would still have a free slot for the next client. If the node is not known yet (an agent owner,
 * several nodes), all nodes must have one.
 *
 * `firstNode`: the node that is asked first; `undefined`: it is not known before the call.
 *
 * `isSilent`: whether the node that is asked first is known not to answer at all.
 *
 * `isSaturated`: whether the node that is asked first would have no free slot left for the next client.
 *
 * `waitForRead`: the milliseconds until the limit per minute of the node that is asked first permits one more read,
 * after those in its queue and `others`.
 */
export function createNodeQuestions(view: ClusterView, kindOf: KindOf) {
  const { isSilent, isSaturated, waitForNextRead } = view
  /** Returns the node that is asked first; `undefined`: there is none, or it is not known yet. */
  const firstNodeFor = (request: EdgeRequest, { firstNode, route } = kindOf(view)): string | undefined => {
    if (firstNode !== undefined) return firstNode(view)
    try {
      return route(request, view)[0]?.node
    } catch {
      return undefined
    }
  }
  const isUnknown = (request: EdgeRequest, { firstNode }: ClusterKind): boolean => {
    const { kind } = request.endpoint.target
    const isOpen = kind === 'agentOwner' || kind === 'everyNode' || kind === 'severalNodes'
    return isOpen && onlyNodeOf(request) === undefined && firstNode === undefined
  }
  const isFirst = (request: EdgeRequest, has: (name: string) => boolean): boolean => {
    // Routing each stale response would cost more than this test of a few nodes.
    if (!view.nodes().some(({ name }) => has(name))) return false
    const first = firstNodeFor(request)
    return first !== undefined && has(first)
  }
  return {
    firstNode: (request: EdgeRequest): string | undefined => {
      const kind = kindOf(view)
      return isUnknown(request, kind) ? undefined : firstNodeFor(request, kind)
    },
    hasIdleCapacity: (request: EdgeRequest): boolean => {
      const addressed = () => view.nodes().flatMap(({ name, addressed }) => (addressed ? [name] : []))
      const nodes = isUnknown(request, kindOf(view)) ? addressed() : [firstNodeFor(request)]
      return nodes.length > 0 && nodes.every((node) => node !== undefined && view.freeSlots(node) > 1)
    },
    isSilent: (request: EdgeRequest) => isFirst(request, isSilent),
    isSaturated: (request: EdgeRequest) => isFirst(request, isSaturated),
    waitForRead: (request: EdgeRequest, others: number): number => {
      // Each stale hit comes here, mostly while no node is at its limit: routing them would cost more than this test.
      if (!view.nodes().some(({ name }) => waitForNextRead(name, others) > 0)) return 0
      const first = firstNodeFor(request)
      return first === undefined ? 0 : waitForNextRead(first, others)
    },
  }
}

export function nodeStates({ status, view, contacts }: Cluster) {
  const now = Date.now()
  const contactStates = contacts.states()
  return status().map((node) => {
    const { addressed, listed, hangs, cutOffFor, ejectedFor = cutOffFor, lastFailure, drain, ...shown } = node
    const { version } = view.find(node.name) ?? {}
    return {
      ...shown,
      state: stateOf(node, view, contactStates.get(node.name) ?? 'not tried'),
      ...(version !== undefined && { version }),
      ...(drain && { drain: drainOf(drain, now) }),
      ...(ejectedFor !== undefined && { ejectedFor }),
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
  const { name, addressed, listed, ejectedFor, hangs, cutOffFor, drain } = node
  if (drain !== undefined) return 'drained'
  if (ejectedFor !== undefined) return hangs ? 'hangs' : 'ejected'
  if (hangs) return 'stuck'
  if (cutOffFor !== undefined) return 'cut off'
  if (!addressed) return 'no address'
  if (contact !== 'answered') return contact
  if (!view.isAvailable(name)) return 'full'
  return listed === false ? 'not listed' : 'up'
}
