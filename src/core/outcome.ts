/** What an answer or a failure of the nodes means to the cache. */
import { createHash } from 'node:crypto'
import { errorNumberOf, parseEnvelope } from './envelope.ts'
import { EdgeError } from './errors.ts'
import type { EdgeResponse } from './response.ts'

/** An answer that was read whole. */
export type Whole = Extract<EdgeResponse, { kind: 'json' }>

/** The framework's codes that another moment may answer otherwise (contract/errors.yaml, kind transient). */
export const TRANSIENT: ReadonlySet<number> = new Set([
  1010, 1011, 1013, 1014, 1017, 1118, 1601, 1652, 1702, 1713, 1714, 1715, 1901, 1902, 2002, 2005, 3000, 3009, 3012,
  3016, 3018, 3020, 3021, 3023,
])

/** The framework gave up waiting, and the work goes on behind it (contract/errors.yaml): 1 is its limit of 240 s. */
const UNFINISHED: ReadonlySet<number> = new Set([1, 3000, 3009, 3020, 3021])

/** No node could be asked, or what it answered cannot be used. */
const NODE_FAILED: ReadonlySet<number> = new Set([920, 921, 922, 923, 924, 925, 926])

/** Faults that leave it open whether a write was carried out: it was sent, and no readable answer came. */
const OUTCOME_UNKNOWN: ReadonlySet<number> = new Set([923, 925, 926, 928, 933, 949])

const PARTIAL = '"failed_nodes"'

/** May the answer be kept? Whole, without an error, from all nodes that were asked, nothing of it stale, to nobody in particular. */
export function isStorable(answer: EdgeResponse): answer is Whole {
  if (answer.kind !== 'json' || answer.status !== 200 || answer.headers !== undefined) return false
  if (answer.partial || answer.personal) return false
  return errorNumberOf(answer) === 0 && !answer.body.includes(PARTIAL)
}

/** Would another moment answer otherwise? Then a stale answer, where it is allowed, is the better one. */
export function isTransient(answer: EdgeResponse): boolean {
  return TRANSIENT.has(errorNumberOf(answer))
}

export function isNodeFailure(fault: unknown): boolean {
  return fault instanceof EdgeError && NODE_FAILED.has(fault.code)
}

/** May the write have been carried out although no success was heard of? Whatever nobody foresaw counts as that. */
export function isOutcomeUnknown(fault: unknown): boolean {
  return !(fault instanceof EdgeError) || OUTCOME_UNKNOWN.has(fault.code)
}

/** Some nodes have carried it out, and it is known which: what it touched has changed. */
export function isPartlyDone(fault: unknown): boolean {
  return fault instanceof EdgeError && fault.code === 932
}

export function isUnfinished(answer: EdgeResponse): boolean {
  if (answer.kind === 'json' && answer.outcomeUnknown) return true
  return UNFINISHED.has(errorNumberOf(answer))
}

/** `data` of a successful answer. */
export function dataOf(answer: EdgeResponse): unknown {
  const { error, data } = parseEnvelope(answer)
  return error === 0 ? data : undefined
}

/** Strong, and the same for the same bytes on every replica (RFC 9110 section 8.8.3). */
export function etagOf(bytes: Buffer): string {
  return `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 27)}"`
}
