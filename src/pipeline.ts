/**
 * The order of the stages of a request, outermost first:
 *
 *   audit – writes and purges only: a record before anything is done, and one after it
 *
 *   operations of the edge (tokens, `/cache`): answered here, without a node and without the cache
 *
 *   reads:   readThrough – outside of everything that calls nodes, so that a hit costs the nodes nothing
 *   writes:  refuseWrites – while nodes of two layouts run side by side, and during a read-only trial
 *            writeLock   – if the record has one: one write at a time for a name, over all replicas; outside of the fences, so
 *                          that a write that waits blocks no reads, and is never sent if its client disconnects
 *            invalidate  – fences the touched tags before a node can act, invalidates them before the response is sent
 *            endTokens   – within the fence: the edge refuses the tokens that the write has ended
 *
 *   Admission has counted each request against the limit on hits. A read that reaches an operation of the edge or the nodes
 *   is charged in addition.
 *   Reads that share a fetch are hits, so the cache charges the one that starts it, for the fetch and not for its parts.
 *
 *   then, by the target of the record:
 *            forward         – one node
 *            forwardToOwner  – the node that the agent reports to
 *            joinCollections – several nodes, one collection; each part passes through the reads again and is stored
 *            joinVerdicts    – several nodes, each of which checks something
 *            joinWrites      – several nodes, each of which acts
 */
import type { EdgeOperation } from './contracts/endpoint.ts'
import {
  type EdgeRead,
  type EdgeRequest,
  type EdgeWrite,
  type Handler,
  onlyNodeOf,
  type Stage,
} from './core/request.ts'
import type { StageName } from './core/trace.ts'
import { traced } from './core/traced.ts'

export interface PipelineParts {
  readonly audit: Stage<EdgeWrite>
  readonly operations: Readonly<Record<EdgeOperation, Handler>>
  /** Both absent: the cache is off. */
  readonly readThrough?: Stage<EdgeRead>
  readonly invalidate?: Stage<EdgeWrite>
  readonly refuseWrites: Stage<EdgeWrite>
  readonly writeLock: Stage<EdgeWrite>
  readonly endTokens: Stage<EdgeWrite>
  /** `read` is the pipeline of reads: a call for one contract may be answered from stored responses of the other one. */
  readonly forward: (read: Handler<EdgeRead>) => Handler
  /** `read` is the pipeline of reads: each part of a joined response is one. */
  readonly multiNode: (read: Handler<EdgeRead>, forward: Handler) => MultiNodeHandlers
}

export interface MultiNodeHandlers {
  readonly forwardToOwner: Handler
  readonly joinCollections: Handler<EdgeRead>
  readonly joinVerdicts: Handler<EdgeRead>
  readonly joinWrites: Handler<EdgeWrite>
}

export function buildPipeline(parts: PipelineParts): Handler {
  const { operations, refuseWrites, endTokens } = parts
  const forward = traced(
    'forward',
    parts.forward((request) => read(request)),
  )
  const callForRead: Handler<EdgeRead> = (request) => {
    const { target, response } = request.endpoint
    // Free for a fetch of the cache: its first request has paid for it (`workOf` in cache/fetch-sharing.ts).
    request.cost.charge()
    if (onlyNodeOf(request) !== undefined) return forward(request)
    if (target.kind === 'severalNodes') return joinCollections(request)
    if (target.kind === 'everyNode')
      return response.data === 'collection' ? joinCollections(request) : joinVerdicts(request)
    return target.kind === 'agentOwner' ? multiNode.forwardToOwner(request) : forward(request)
  }
  const callForWrite: Handler<EdgeWrite> = (request) => {
    const { kind } = request.endpoint.target
    if (kind === 'everyNode' || kind === 'agentOwners') return joinWrites(request)
    return kind === 'agentOwner' ? multiNode.forwardToOwner(request) : forward(request)
  }
  const read = stage('cache', parts.readThrough)(callForRead)
  const fenced = stage('invalidate', parts.invalidate)(endTokens(callForWrite))
  const write = refuseWrites(traced('write lock', parts.writeLock(fenced)))
  const multiNode = parts.multiNode(read, forward)
  const joinCollections = traced('join', multiNode.joinCollections)
  const joinVerdicts = traced('join', multiNode.joinVerdicts)
  const joinWrites = traced('join', multiNode.joinWrites)
  const operate = (request: EdgeRequest, operation: EdgeOperation) =>
    traced('edge operation', operations[operation])(request)
  const change = parts.audit((request) => {
    const { target } = request.endpoint
    return target.kind === 'edge' ? operate(request, target.operation) : write(request)
  })
  return (request) => {
    if (request.kind === 'write') return change(request)
    const { target } = request.endpoint
    if (target.kind !== 'edge') return read(request)
    request.cost.charge()
    return operate(request, target.operation)
  }
}

/** An absent stage has no span. */
function stage<R extends EdgeRequest>(name: StageName, part: Stage<R> | undefined): Stage<R> {
  return part === undefined ? (next) => next : (next) => traced(name, part(next))
}
