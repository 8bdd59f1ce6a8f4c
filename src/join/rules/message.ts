/** Merge rule `message`: all nodes carry out the same action, and the response is the message of the first node. */
import { EdgeError } from '../../core/errors.ts'
import type { EdgeResponse } from '../../core/response.ts'
import { clusterStatusOf, type NodeOutcome, respondWithRefusal } from '../node-outcome.ts'
import { originWith } from '../node-report.ts'

/**
 * Returns the message of the first node if all nodes succeeded. Throws 932 if only some did, and 933 if it is unknown
 * whether others did; both name the nodes.
 */
export function mergeMessages(outcomes: readonly NodeOutcome[]): EdgeResponse {
  const [first] = outcomes
  const clusterStatus = clusterStatusOf(outcomes)
  if (first?.response && outcomes.every(({ succeeded }) => succeeded)) {
    return { ...first.response, origin: originWith(clusterStatus) }
  }
  if (!outcomes.some(({ succeeded }) => succeeded)) return respondWithRefusal(outcomes)
  const done = outcomes.filter(({ succeeded }) => succeeded).map(({ node }) => node)
  const missing = outcomes
    .filter(({ succeeded }) => !succeeded)
    .map(({ node, error }) => `${node}: ${error?.code} ${error?.message}`)
  const code = outcomes.some(({ isUnknown }) => isUnknown) ? 933 : 932
  throw new EdgeError(code, ` (carried out on ${done.join(', ')}; not on ${missing.join('; ')})`, {
    headers: { 'cluster-status': clusterStatus },
  })
}
