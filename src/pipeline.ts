/**
 * THE ORDER. What happens to an Ask, outermost first:
 *
 *   edge operations – answered here, no node is asked and nothing is kept
 *
 *   reads:  cached     – outside of all that asks nodes, so that a hit costs no node anything; joined answers too
 *   writes: inTurn     – where the record says so, one write of a name at a time over all replicas; outside of fences,
 *                        since who stands in line touches nothing, and whose client leaves the line is not sent at all
 *           invalidate – what they touch is fenced before a node can act, and dropped before the answer leaves
 *
 *   then, by the record's target:
 *           forward    – one node
 *           askOwner    – the node that the agent reports to
 *           joinReads  – many nodes, one collection; each node's part comes by the road of reads again, kept on its own
 *           joinActs   – many nodes, each of which acts or judges
 */
import type { EdgeOperation } from './catalogue/endpoint.ts'
import type { EdgeRequest, Handler, Stage } from './core/request.ts'
import type { StageName } from './core/trace.ts'
import { traced } from './core/trace.ts'

export interface PipelineParts {
  readonly operations: Readonly<Record<EdgeOperation, Handler>>
  /** Both absent: nothing is kept. */
  readonly readThrough?: (next: Handler) => Handler
  readonly invalidate?: Stage
  readonly writeLock?: Stage
  readonly forward: Handler
  /** Made of the road of reads, and of that to one node; each absent one: the nodes distribute by themselves, and one is asked. */
  readonly multiNode?: (read: Handler, forward: Handler) => Partial<MultiNodeHandlers>
}

/** What is more than asking one node. */
export interface MultiNodeHandlers {
  readonly askOwner: Handler
  readonly joinReads: Handler
  readonly joinActs: Handler
}

export function buildPipeline(parts: PipelineParts): Handler {
  const { operations } = parts
  const inTurn = named('turn', parts.writeLock)
  const invalidate = named('invalidate', parts.invalidate)
  const forward = traced('forward', parts.forward)
  const live: Handler = (ask) => ways[wayOf(ask)](ask)
  const read: Handler = parts.readThrough === undefined ? live : traced('cache', parts.readThrough(live))
  const write: Handler = inTurn(invalidate(live))
  const { askOwner, joinReads, joinActs } = { ...parts.multiNode?.(read, forward) }
  const ways = {
    forward,
    askOwner: askOwner === undefined ? forward : traced('owner', askOwner),
    joinReads: joinReads === undefined ? forward : traced('join', joinReads),
    joinActs: joinActs === undefined ? forward : traced('join', joinActs),
  }
  return (ask) => {
    const { target, method } = ask.endpoint
    if (target.kind === 'edge') return traced('answer', operations[target.operation])(ask)
    return method === 'GET' ? read(ask) : write(ask)
  }
}

/** In a trace a part that is absent has no span. */
function named(name: StageName, stage: Stage | undefined): Stage {
  return stage === undefined ? (next) => next : (next) => traced(name, stage(next))
}

function wayOf({ endpoint: { target }, node }: EdgeRequest): 'forward' | keyof MultiNodeHandlers {
  if (node !== undefined) return 'forward'
  switch (target.kind) {
    case 'agentOwner':
      return 'askOwner'
    case 'severalNodes':
      return 'joinReads'
    case 'everyNode':
      return target.merge === 'collection' ? 'joinReads' : 'joinActs'
    case 'agentOwners':
      return 'joinActs'
    default:
      return 'forward'
  }
}
