/** The context of one joined read: its deadlines, its node report, and how parts are fetched. */
import type { Endpoint } from '../contracts/endpoint.ts'
import { EdgeError } from '../core/errors.ts'
import type { JoinEvent } from '../core/events.ts'
import type { ClusterView } from '../core/node-call.ts'
import type { Caller, EdgeRead, Handler, RequestClient } from '../core/request.ts'
import { type Deadline, startDeadline, systemClock, type TimeLimits, timeLimitOf } from '../core/timing.ts'
import type { AgentOwners } from './agent-owners.ts'
import { type FetchNodePart, receivePart } from './node-part.ts'
import { NodeReport } from './node-report.ts'
import { pageWindowOf } from './part-queries.ts'

export interface JoinCollectionsPorts {
  /** The handler of reads. Each part is a separate read with its own key in the cache. */
  readonly read: Handler<EdgeRead>
  readonly view: ClusterView
  readonly owners: Pick<AgentOwners, 'allOwners' | 'verifiedOwners'>
  readonly limits: () => TimeLimits & { readonly agentsPerCollection: number }
  readonly isDistributing: IsDistributing
  readonly catalogue: readonly Endpoint[]
  /** Called once per joined response, also if all nodes failed. */
  readonly onJoin?: (event: JoinEvent) => void
}

/**
 * Whether a node is known to distribute requests itself. In distribution mode `edge` it must not: it would answer for all
 * nodes, so rows would appear under wrong names, and writes would be carried out once for each node. Never rejects.
 */
export type IsDistributing = (node: string, credentials: Caller['credentials']) => Promise<boolean>

export interface JoinedRead {
  readonly request: EdgeRead
  /** Whether all rows are requested. */
  readonly isSnapshot: boolean
  /** Whether the read may ask each agent. Its parts are reads like others. */
  readonly isComplete: boolean
  /** The names of all nodes, master first. */
  readonly nodes: readonly string[]
  readonly ports: JoinCollectionsPorts
  readonly fanOut: FanOut
  readonly report: NodeReport
  readonly fetchPart: FetchNodePart
}

export function startJoinedRead(request: EdgeRead, ports: JoinCollectionsPorts): JoinedRead {
  const fanOut = startFanOut(request, timeLimitOf(request, ports.limits()))
  const nodes = ports.view.nodes().map(({ name }) => name)
  const report = new NodeReport(nodes, fanOut.startedAt)
  const fetchPart: FetchNodePart = async (node, part, deadline = fanOut.deadline) => {
    const { endpoint, params, query, extent = 'whole' } = part
    const priority = endpoint.priority ?? request.priority
    const received = await receivePart(
      ports.read,
      { ...request, endpoint, params, query, extent, effort: 'bounded', priority, client: fanOut, deadline },
      request.client,
    )
    if (received.ok) report.addPart(node, received)
    return received
  }
  const [isSnapshot, isComplete] = [request.extent === 'allRows', request.effort === 'complete']
  return { request, isSnapshot, isComplete, nodes, ports, fanOut, report, fetchPart }
}

/** More rows than a request for all rows allows. The rest is not read. */
export class TooManyRowsError extends Error {
  readonly total: number

  constructor(total: number) {
    super(`at least ${total} rows`)
    this.name = 'TooManyRowsError'
    this.total = total
  }
}

/** Throws TooManyRowsError if all rows are requested, and `total` is more than the request allows. */
export function checkTotal({ isSnapshot, request }: JoinedRead, total: number): void {
  if (isSnapshot && total > pageWindowOf(request).limit) throw new TooManyRowsError(total)
}

/**
 * The deadlines of a fan-out. They are nested: client > request > fan-out > node, each with a margin in which the outer
 * one can still respond. A node that hangs costs its own rows only; those of the others are still in time.
 */
interface FanOut extends RequestClient, Pick<Deadline, 'end'> {
  /** By performance.now(). */
  readonly startedAt: number
  /** When nodes must have responded, by performance.now(); Infinity without a timeout. */
  readonly deadline: number
  /** When a share of the nodes' time is over: 0.5 is half of it. */
  deadlineAt(share: number): number
}

/** The margin between two deadlines, as a share of the timeout, and its maximum. */
const MARGIN_SHARE = 0.04
const MAX_MARGIN_MS = 400

/** `total`: the milliseconds that the request may take. */
function startFanOut({ client, waitForComplete }: EdgeRead, total: number): FanOut {
  const startedAt = performance.now()
  const margin = Math.min(MAX_MARGIN_MS, total * MARGIN_SHARE)
  // Calls to nodes end by their own deadline. This one ends other waits, such as for a fetch of another replica.
  const late = () => new EdgeError(922, ' (its part was not there in time)')
  const timeout = waitForComplete ? undefined : total - margin
  const { signal, end } = startDeadline(timeout, client.signal, systemClock.elapsed, late)
  const forNodes = waitForComplete ? Number.POSITIVE_INFINITY : total - 2 * margin
  const deadlineAt = (share: number) => startedAt + forNodes * share
  const { presence } = client
  return { signal, ...(presence && { presence }), end, startedAt, deadline: startedAt + forNodes, deadlineAt }
}

/** Calls `work` for each item, at most `concurrency` at once, and returns the results in the order of the items. */
export async function mapWithConcurrency<In, Out>(
  items: readonly In[],
  concurrency: number,
  work: (item: In) => Promise<Out>,
): Promise<Out[]> {
  const results: Out[] = []
  let next = 0
  const worker = async () => {
    for (let at = next++; at < items.length; at = next++) results[at] = await work(items[at] as In)
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, worker))
  return results
}
