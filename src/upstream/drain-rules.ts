/** Which nodes an operator may drain, and the state of all replicas after it. */
import { type DrainState, nextState } from '../core/drains.ts'
import { EdgeError } from '../core/errors.ts'
import type { ClusterView, NodeInfo } from '../core/node-call.ts'

export interface DrainRequest {
  readonly node: string
  /** The name of the operator. */
  readonly by: string
  /** Whether the operator has confirmed that the master is meant. */
  readonly confirmsMaster: boolean
  /** Mode `passthrough`: the master verifies the users of the edge, also those who would put it back. */
  readonly verifiesUsersAtMaster: boolean
}

type View = Pick<ClusterView, 'nodes' | 'master'>

/**
 * Returns the state with this node drained; the same state if it is drained already. Throws 603 for an unknown node, and
 * 940 for a node without address, for the last node in use, and for the master without a confirmation or in mode
 * `passthrough`. `now`: milliseconds since 1970.
 */
export function stateWithDrain(state: DrainState, request: DrainRequest, view: View, now: number): DrainState {
  const { node: name, by, confirmsMaster, verifiesUsersAtMaster } = request
  const node = findNode(name, view)
  if (!node.addressed) throw refusal(name, 'it has no address in cluster.nodes, so it receives no calls')
  if (state.drains.some((drain) => drain.node === name)) return state
  const isLast = view.nodes().every((each) => each === node || !each.addressed || isDrained(each, state))
  if (isLast) throw refusal(name, 'it is the last node in use; the edge could answer nothing from the manager')
  const isMaster = name === view.master().name
  if (isMaster && verifiesUsersAtMaster) {
    throw refusal(name, 'with cluster.credentials.mode passthrough, it verifies the users who would put it back')
  }
  if (isMaster && !confirmsMaster) {
    throw refusal(name, 'it is the master, without which writes fail; send confirm=master if it is meant')
  }
  return nextState(state, [...state.drains, { node: name, by, at: Math.floor(now) }], now)
}

/** Returns the state without this drain; the same state if there is none. Throws 603 for an unknown node. */
export function stateWithoutDrain(state: DrainState, name: string, view: View, now: number): DrainState {
  const drains = state.drains.filter(({ node }) => node !== name)
  // A node that was removed from the cluster while it was drained can still be put back.
  if (drains.length < state.drains.length) return nextState(state, drains, now)
  findNode(name, view)
  return state
}

function isDrained({ name }: NodeInfo, { drains }: DrainState): boolean {
  return drains.some(({ node }) => node === name)
}

function findNode(name: string, view: View): NodeInfo {
  const found = view.nodes().find((node) => node.name === name)
  if (found === undefined) throw new EdgeError(603, '. The cluster has no node with this name')
  return found
}

function refusal(name: string, reason: string): EdgeError {
  return new EdgeError(940, ` (${name}: ${reason})`)
}
