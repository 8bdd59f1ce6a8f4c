/** Merge rule `verdict`: all nodes check the same, and KO of one node is KO of all. Without all verdicts there is none. */
import type { EdgeResponse } from '../../core/response.ts'
import { ownField, ownText } from '../../core/values.ts'
import { clusterStatusOf, createResponse, type NodeOutcome, respondWithRefusal, withNodeName } from '../node-outcome.ts'

export function mergeVerdicts(outcomes: readonly NodeOutcome[]): EdgeResponse {
  const failed = outcomes.find(({ succeeded }) => !succeeded)
  if (failed !== undefined) return respondWithoutVerdict(outcomes, failed)
  const refusing = outcomes.filter((outcome) => verdictOf(outcome) !== 'OK')
  const details = refusing.flatMap(({ contents }) => listOf(ownField(contents.data, 'details')))
  const clusterStatus = clusterStatusOf(outcomes, (outcome) => ({ detail: verdictOf(outcome) }))
  const data = refusing.length === 0 ? { status: 'OK' } : { status: 'KO', details: [...new Set(details)] }
  return createResponse(Buffer.from(JSON.stringify({ error: 0, data })), outcomes, clusterStatus)
}

/** Returns the response of all nodes if none gives a verdict, otherwise the error of the first one that does not. */
function respondWithoutVerdict(
  outcomes: readonly NodeOutcome[],
  { response, edgeError, node, error }: NodeOutcome,
): EdgeResponse {
  if (!outcomes.some(({ succeeded }) => succeeded)) return respondWithRefusal(outcomes)
  if (edgeError !== undefined || response === undefined) throw edgeError
  return withNodeName(response, node, error, clusterStatusOf(outcomes))
}

/** Everything except OK is KO. */
function verdictOf({ contents }: NodeOutcome): 'OK' | 'KO' {
  return ownText(contents.data, 'status') === 'OK' ? 'OK' : 'KO'
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
