/** What errors of the edge and of the nodes mean for the cache, the audit and the state of a node. */

import { errorNumberOf } from './envelope.ts'
import { EdgeError } from './errors.ts'
import { AbandonedError } from './presence.ts'
import type { EdgeResponse, ReadResponse } from './response.ts'

/** The edge did not send the call, because too many were in flight: no failure of the node. */
export const OVERLOADED = 921
/** The call of a node took too long. */
export const CALL_TIMED_OUT = 922
/** No node is known to which an agent reports. */
export const OWNER_UNKNOWN = 931

/**
 * Errors for which a stored response is served stale. 920 to 926: the edge gets no usable response of a node. 927: the node
 * refuses the account of the edge, which no client can change. The others: a node that answers reports that the node with
 * the data failed or took too long, that the cluster between them did, or that the node is not connected (3022; a node that
 * never existed has no stored response). All other errors are the state of a node that answers, and clients act on it
 * (`NOT_READY_ERRORS`).
 */
const NODE_FAILURES: ReadonlySet<number> = new Set([
  920, 921, 922, 923, 924, 925, 926, 927, 3000, 3009, 3012, 3016, 3018, 3020, 3021, 3022, 3023,
])

/** Returns why the nodes have failed; `undefined`: this error is none of theirs. */
export function nodeFailureOf(fault: unknown): number | undefined {
  if (!(fault instanceof EdgeError)) return undefined
  const isOfMaster = fault.code === OWNER_UNKNOWN && isNodeFailure(fault.cause)
  return isOfMaster || NODE_FAILURES.has(fault.code) ? fault.code : undefined
}

/**
 * Those by which no node that could answer does: the edge reaches none, the master does not say to which one an agent reports
 * (931), or the asked one reaches no other one. A timeout (922) and the limit of 10 s (3021) show that of one call only.
 */
const OUTAGE_FAILURES: ReadonlySet<number> = new Set([
  920,
  924,
  OWNER_UNKNOWN,
  3000,
  3009,
  3012,
  3016,
  3018,
  3020,
  3022,
  3023,
])

export function isOutageFailure(error: number): boolean {
  return OUTAGE_FAILURES.has(error)
}

/** The node answers, but its daemons are not ready yet. Clients wait until these errors end. */
const NOT_READY_ERRORS: ReadonlySet<number> = new Set([1013, 1014, 1017, 1018, 1019])

export function isNotReadyError(error: number): boolean {
  return NOT_READY_ERRORS.has(error)
}

/** The framework stopped waiting while the work goes on; 1 is its limit of 240 s. */
const UNFINISHED_ERRORS: ReadonlySet<number> = new Set([1, 3000, 3009, 3020, 3021])

/** Whether the work that failed with this error may still be in progress. */
export function isUnfinishedError(error: number): boolean {
  return UNFINISHED_ERRORS.has(error)
}

/** The write was sent. It may have been carried out, or Redis has not confirmed it (943, 944). */
const UNKNOWN_OUTCOMES: ReadonlySet<number> = new Set([923, 925, 926, 928, 933, 941, 943, 944, 949])

/**
 * Returns the error of a response by which a node reports a failed node, so that a stale response is better, where one may
 * be served; `undefined` for all others.
 */
export function reportedNodeFailure(response: ReadResponse): number | undefined {
  const error = errorNumberOf(response)
  return NODE_FAILURES.has(error) ? error : undefined
}

/** Whether a response with this error is worse than a stale one. */
export function isNodeFailureError(error: number): boolean {
  return NODE_FAILURES.has(error)
}

export function isNodeFailure(fault: unknown): fault is EdgeError {
  // A call that was abandoned shows nothing about its node.
  return fault instanceof EdgeError && NODE_FAILURES.has(fault.code) && !(fault instanceof AbandonedError)
}

/** Whether a write that failed this way may have been carried out. An unexpected error counts as such. */
export function isOutcomeUnknown(fault: unknown): boolean {
  return !(fault instanceof EdgeError) || UNKNOWN_OUTCOMES.has(fault.code)
}

/** Whether some nodes are known to have carried the write out. */
export function isPartlyDone(fault: unknown): boolean {
  return fault instanceof EdgeError && fault.code === 932
}

/** Whether the write of this response may still be in progress on a node. */
export function isUnfinished(response: EdgeResponse): boolean {
  if (response.kind === 'file') return false
  const { origin, errorNumber } = response
  return UNFINISHED_ERRORS.has(errorNumber) || ('isUnfinished' in origin && origin.isUnfinished)
}
