/**
 * THE ORDER. What happens to an Ask, outermost first:
 *
 *   edge operations – answered here, no node is asked
 *   forward         – one node, chosen by the record's target
 */
import type { EdgeOperation } from '../catalogue/endpoint.ts'
import type { Handle } from './ports.ts'

export interface Parts {
  readonly operations: Readonly<Record<EdgeOperation, Handle>>
  readonly forward: Handle
}

export function buildPipeline(parts: Parts): Handle {
  return (ask) => {
    const { target } = ask.endpoint
    return target.kind === 'edge' ? parts.operations[target.operation](ask) : parts.forward(ask)
  }
}
