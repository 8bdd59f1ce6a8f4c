/**
 * The order of the stages of a request, outermost first:
 *
 *   operations of the edge (tokens, `/cache`): answered here, without a node and without the cache
 *
 *   reads:   readThrough – outside of everything that calls nodes, so that a hit costs the nodes nothing
 *   writes:  refuseWrites – while nodes of two layouts run side by side, and during a read-only trial
 *            writeLock   – one write at a time for a name, over all replicas; outside of the fences, so that a write
 *                          that waits blocks no reads, and is never sent if its client disconnects
 *            invalidate  – fences the touched tags before a node can act, invalidates them before the response is sent
 *
 *   A read that reaches an operation of the edge or the nodes is charged first: hits have a rate limit of their own.
 *   Reads that share a fetch are hits, so the cache charges the one that starts it.
 *
 *   then, by the target of the record:
 *            forward         – one node
 *            forwardToOwner  – the node that the agent reports to
 *            joinCollections – several nodes, one collection; each part passes through the reads again and is stored
 *            joinResults     – several nodes, each of which acts or checks something
 */
import type { EdgeOperation } from './catalogue/endpoint.ts'
import type { EdgeRequest, Handler, Stage } from './core/request.ts'
import type { RecordStages, StageName } from './core/trace.ts'
import { traced } from './core/traced.ts'

export interface PipelineParts {
  readonly operations: Readonly<Record<EdgeOperation, Handler>>
  /** Both absent: the cache is off. */
  readonly readThrough?: Stage
  readonly invalidate?: Stage
  readonly writeLock?: Stage
  /** Absent: no state of the cluster forbids writes. */
  readonly refuseWrites?: Stage
  readonly forward: Handler
  /** Absent: stages are recorded for traces only. */
  readonly recordStages?: RecordStages
  /** `read` is the pipeline of reads. An absent handler: the nodes distribute the request themselves, so one is called. */
  readonly multiNode?: (read: Handler, forward: Handler) => Partial<MultiNodeHandlers>
}

export interface MultiNodeHandlers {
  readonly forwardToOwner: Handler
  readonly joinCollections: Handler
  readonly joinResults: Handler
}

export function buildPipeline(parts: PipelineParts): Handler {
  const { operations } = parts
  const forward = traced('forward', parts.forward)
  const callNodes: Handler = (request) => {
    request.cost?.charge()
    const recorded = recordsFrom(request, parts.recordStages)
    return handlers[handlerOf(recorded)](recorded)
  }
  const read = stage('cache', parts.readThrough)(callNodes)
  const guard: Stage = parts.refuseWrites ?? ((next) => next)
  const write = guard(stage('write lock', parts.writeLock)(stage('invalidate', parts.invalidate)(callNodes)))
  const { forwardToOwner, joinCollections, joinResults } = { ...parts.multiNode?.(read, forward) }
  const handlers = {
    forward,
    forwardToOwner: forwardToOwner ?? forward,
    joinCollections: joinCollections === undefined ? forward : traced('join', joinCollections),
    joinResults: joinResults === undefined ? forward : traced('join', joinResults),
  }
  return (request) => {
    const { target, method } = request.endpoint
    if (target.kind === 'edge') {
      request.cost?.charge()
      return traced('edge operation', operations[target.operation])(request)
    }
    return method === 'GET' ? read(request) : write(request)
  }
}

/**
 * The record of a miss begins here if it has not begun before; a request of the edge itself has none.
 */
function recordsFrom(request: EdgeRequest, recordStages: RecordStages | undefined): EdgeRequest {
  if (recordStages === undefined || request.cost === undefined || request.trace !== undefined) return request
  return { ...request, trace: recordStages(request.requestId, undefined) }
}

/** An absent stage has no span. */
function stage(name: StageName, part: Stage | undefined): Stage {
  return part === undefined ? (next) => next : (next) => traced(name, part(next))
}

function handlerOf({ endpoint: { target }, node }: EdgeRequest): 'forward' | keyof MultiNodeHandlers {
  if (node !== undefined) return 'forward'
  switch (target.kind) {
    case 'agentOwner':
      return 'forwardToOwner'
    case 'severalNodes':
      return 'joinCollections'
    case 'everyNode':
      return target.merge === 'collection' ? 'joinCollections' : 'joinResults'
    case 'agentOwners':
      return 'joinResults'
    default:
      return 'forward'
  }
}
