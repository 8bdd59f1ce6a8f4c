/**
 * THE ORDER. What happens to an Ask, outermost first:
 *
 *   edge operations – answered here, no node is asked and nothing is kept
 *   invalidate      – writes: what they touch is fenced before a node can act, and dropped before the answer leaves
 *   cached          – reads: outside of forward, so that a hit costs no node anything
 *   forward         – one node, chosen by the record's target
 */
import type { EdgeOperation } from '../catalogue/endpoint.ts'
import type { Handle, Stage } from './ports.ts'

export interface Parts {
  readonly operations: Readonly<Record<EdgeOperation, Handle>>
  /** Both absent: nothing is kept. */
  readonly invalidate?: Stage
  readonly cached?: Stage
  readonly forward: Handle
}

const pass: Stage = (next) => next

export function buildPipeline({ operations, invalidate = pass, cached = pass, forward }: Parts): Handle {
  const write = invalidate(forward)
  const read = cached(forward)
  return (ask) => {
    const { target, method } = ask.endpoint
    if (target.kind === 'edge') return operations[target.operation](ask)
    return method === 'GET' ? read(ask) : write(ask)
  }
}
