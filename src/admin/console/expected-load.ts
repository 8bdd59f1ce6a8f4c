/** The load of the other nodes while one is drained. The page of the console and `manager-edge drain` compute it alike. */
import type { NodeSummary, Nodes } from './node-types.ts'

/** The calls to a node of one replica in the last five minutes, and those that it gets if another node is drained. */
export interface ExpectedLoad {
  readonly node: string
  readonly callsPerMinute: number
  readonly expectedPerMinute: number
  readonly inFlight: number
  readonly limit: number
}

const COUNTED_MINUTES = 5

/** Assumes that the other nodes get equal shares of the calls. Requests that need `drained` fail instead. */
export function expectLoad(drained: NodeSummary, { nodes }: Pick<Nodes, 'nodes'>): readonly ExpectedLoad[] {
  const others = nodes.filter((node) => node.name !== drained.name && acceptsCalls(node))
  const share = drained.drain === undefined ? perMinute(drained) / Math.max(1, others.length) : 0
  return others.map((node) => ({
    node: node.name,
    callsPerMinute: round(perMinute(node)),
    expectedPerMinute: round(perMinute(node) + share),
    inFlight: node.inFlight,
    limit: node.limit,
  }))
}

/** Whether the edge sends calls to a node in this state, and the node has not failed. */
export function acceptsCalls({ state }: Pick<NodeSummary, 'state'>): boolean {
  return state === 'up' || state === 'full' || state === 'not tried'
}

function perMinute({ calls }: NodeSummary): number {
  return calls / COUNTED_MINUTES
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
