/** Which nodes may be drained, and what a change makes of the drains. */

import { EdgeError } from '../core/errors.ts'
import type { ClusterView, NodeInfo } from '../core/node-call.ts'
import { type Drain, type DrainState, isReadable, nextState } from './drain-state.ts'

export interface DrainRequest {
  readonly node: string
  /** The name of the operator. */
  readonly by: string
  /** Whether the operator has confirmed that the master is meant. */
  readonly confirmsMaster: boolean
  readonly reason?: string | undefined
  /** Milliseconds until the node is put back. Absent: an operator puts it back. */
  readonly duration?: number | undefined
  /** Mode `passthrough`: the master verifies the users of the edge, also those who would put it back. */
  readonly verifiesUsersAtMaster: boolean
}

export type View = Pick<ClusterView, 'nodes' | 'master'>

/**
 * Returns the state with this node drained; the same state if it is drained already and the request has neither a reason nor
 * an end. Throws 603 for an unknown node, and 940 for a node without address, for the last node in use, for the master
 * without a confirmation or in mode `passthrough`, and if the state would be too long. `now`: milliseconds since 1970.
 */
export function stateWithDrain(state: DrainState, request: DrainRequest, view: View, now: number): DrainState {
  const { node: name, by, reason, duration } = request
  const node = findNode(name, view)
  if (!node.addressed) throw refusal(name, 'it has no address in cluster.nodes, so it receives no calls')
  const current = withoutEnded(state, now)
  const drained = current.drains.find((drain) => drain.node === name)
  if (drained === undefined) checkMayBeDrained(node, request, view, current)
  else if (reason === undefined && duration === undefined) return state
  const others = current.drains.filter((drain) => drain !== drained)
  const at = drained?.at ?? Math.floor(now)
  const details = { ...(reason && { reason }), ...(duration && { until: Math.floor(now + duration) }) }
  const next = nextState(state, [...others, { node: name, by, at, ...details }], now)
  if (!isReadable(next)) {
    throw refusal(name, 'the list of drained nodes would be too long; shorten the reason, or put a node back')
  }
  return next
}

function checkMayBeDrained(node: NodeInfo, request: DrainRequest, view: View, current: DrainState): void {
  const { name } = node
  const drained = current.drains.map((drain) => drain.node)
  const isLast = view.nodes().every((each) => each === node || !each.addressed || drained.includes(each.name))
  if (isLast) throw refusal(name, 'it is the last node in use; the edge could answer nothing from the manager')
  if (name !== view.master().name) return
  if (request.verifiesUsersAtMaster) {
    throw refusal(name, 'with cluster.credentials.mode passthrough, it verifies the users who would put it back')
  }
  if (!request.confirmsMaster) {
    throw refusal(name, 'it is the master, without which writes fail; send confirm=master if it is meant')
  }
}

/** Returns the state without this drain; the same state if there is none. Throws 603 for an unknown node. */
export function stateWithoutDrain(state: DrainState, name: string, view: View, now: number): DrainState {
  const drains = state.drains.filter(({ node }) => node !== name)
  // A node that was removed from the cluster while it was drained can still be put back.
  if (drains.length < state.drains.length) return nextState(state, drains, now)
  findNode(name, view)
  return state
}

function findNode(name: string, view: View): NodeInfo {
  const found = view.nodes().find((node) => node.name === name)
  if (found === undefined) throw new EdgeError(603, '. The cluster has no node with this name')
  return found
}

function refusal(name: string, reason: string): EdgeError {
  return new EdgeError(940, ` (${name}: ${reason})`)
}

export function hasEnded({ until }: Drain, now: number): boolean {
  return until !== undefined && until <= now
}

/** Returns the state without the drains that have ended; the same state if there is none. */
export function withoutEnded(state: DrainState, now: number): DrainState {
  const drains = state.drains.filter((drain) => !hasEnded(drain, now))
  return drains.length === state.drains.length ? state : nextState(state, drains, now)
}
