/** Merge rule `message`: all nodes are told to do something, and one text stands for all of them. */
import { EdgeError } from '../../core/errors.ts'
import type { EdgeResponse } from '../../core/response.ts'
import { type Act, refusedByAll, statusOf } from '../node-outcome.ts'

/** All acted: the first text. Some did not: 932 or 933, which says who did and who did not. */
export function joinMessages(acts: readonly Act[]): EdgeResponse {
  const [first] = acts
  if (first?.answer && acts.every(({ acted }) => acted)) return { ...first.answer, clusterStatus: statusOf(acts) }
  if (!acts.some(({ acted }) => acted)) return refusedByAll(acts)
  const done = acts.filter(({ acted }) => acted).map(({ node }) => node)
  const missing = acts
    .filter(({ acted }) => !acted)
    .map(({ node, error }) => `${node}: ${error?.code} ${error?.message}`)
  const code = acts.some(({ open }) => open) ? 933 : 932
  throw new EdgeError(code, ` (carried out on ${done.join(', ')}; not on ${missing.join('; ')})`, {
    headers: { 'cluster-status': statusOf(acts) },
  })
}
