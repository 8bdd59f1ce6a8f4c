/** Merge rule `collection`: the rows of all nodes become one page. Nodes that failed are named in `failed_nodes`. */

import { type MergeFailure, type MergeOptions, mergeRows } from '../../collections/merge.ts'
import { createCollectionBody, frameOf } from '../../collections/page-frame.ts'
import type { CollectionError } from '../../collections/request.ts'
import { envelopeOf } from '../../core/envelope.ts'
import { EdgeError, errorTable } from '../../core/errors.ts'
import type { EnvelopeResponse } from '../../core/response.ts'
import { createUnreadableError, type NodeRows, PartFetchError, toPartError } from '../node-part.ts'
import { type NodeReport, originWith } from '../node-report.ts'

/**
 * Merges the rows. If the rows of one input are unreadable, the input is removed, its node is reported as failed, and the
 * others are merged. Rejects with CollectionError.
 */
export async function mergeCollection(
  inputs: readonly NodeRows[],
  options: MergeOptions,
  report: NodeReport,
): Promise<EnvelopeResponse> {
  if (inputs.length === 0 && report.hasOnlyFailures) return respondWithFirstError(report)
  let remaining = inputs
  for (;;) {
    const merged = await mergeRows(remaining, options)
    if (merged.ok) {
      for (const [at, { node, total }] of remaining.entries()) report.addRows(node, merged.rowsTaken[at] ?? 0, total)
      const body = await createCollectionBody(merged, frameOf(report.members))
      const origin = { ...report.madeOf, kind: 'joined', isUnfinished: false } as const
      return { kind: 'envelope', status: 200, body, errorNumber: 0, origin }
    }
    reportFailure(remaining[merged.input]?.node ?? 'unknown', merged, report)
    remaining = remaining.filter((_, at) => at !== merged.input)
    if (remaining.length === 0) return respondWithFirstError(report)
  }
}

function reportFailure(node: string, { reason, cause }: MergeFailure, report: NodeReport): void {
  if (!(cause instanceof PartFetchError)) {
    report.addError(node, cause === undefined ? createUnreadableError(reason) : toPartError(cause))
  } else if (!report.errorsOf(node).includes(cause.partError)) {
    report.addError(node, cause.partError)
  }
}

/** Returns the response of a node to a request with invalid parameters. */
export function refuseRequest({ code, message }: CollectionError, { clusterStatus }: NodeReport): EnvelopeResponse {
  return envelopeOf({ error: code, message }, originWith(clusterStatus))
}

/** Returns the error response of the first failed node unchanged, or throws the error of the edge. */
export function respondWithFirstError({ firstError, clusterStatus }: NodeReport): EnvelopeResponse {
  const { response, edgeError = new EdgeError(920) } = firstError ?? {}
  if (response) return { ...response, origin: originWith(clusterStatus) }
  const { code, message, headers, cause } = edgeError
  const detail = message.slice(errorTable[code].message.length)
  throw new EdgeError(code, detail, { headers: { ...headers, 'cluster-status': clusterStatus }, cause })
}
