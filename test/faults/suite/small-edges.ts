/** Two replicas with small limits in front of a node that is the bottleneck, and what they may answer. */
import { startEdgeProcess } from './edge-process.ts'
import { type Reply, verifyData } from './load.ts'
import type { RunContext } from './promise.ts'
import { startNodeUpstream } from './upstream.ts'

export const IN_FLIGHT = 2
export const QUEUE = 32
/** So slow that the nodes are the limit, and not the processors of this machine. */
export const NODE_MS = 40
export const REPLICAS = 2
export const MOST_CALLS = REPLICAS * IN_FLIGHT

const isShed = ({ status, headers: received }: Pick<Reply, 'status' | 'headers'>) =>
  status === 503 && Number(received['retry-after']) >= 1

/** Data, or an announced shed. */
export const verifyOrShed = (reply: Reply) => (isShed(reply) ? undefined : verifyData(reply))

export async function startSmall(context: RunContext, limits: object, cache: object = {}) {
  const upstream = context.keep(await startNodeUpstream({ steady: NODE_MS }))
  const settings = { cluster: { limits }, cache }
  const start = async () => context.keep(await startEdgeProcess({ nodes: upstream.nodes, settings }))
  return { upstream, replicas: await Promise.all(Array.from({ length: REPLICAS }, start)) }
}
