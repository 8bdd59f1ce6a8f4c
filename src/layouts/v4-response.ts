/** Reads responses of nodes as responses of the v4 contract: their bytes, and the number of their error. */

import { Readable } from 'node:stream'
import { readEnvelopeInTurns, UNKNOWN_ERROR } from '../core/envelope.ts'
import { isNodeFailureError, isUnfinishedError } from '../core/error-meanings.ts'
import { parseInTurns } from '../core/json-parse.ts'
import { concatInTurns } from '../core/long-values.ts'
import type { NodeResponse } from '../core/node-call.ts'
import { PROBLEM_TYPE } from '../core/origins.ts'
import type { EdgeRequest } from '../core/request.ts'
import type { RowRanges } from '../core/response.ts'
import { ownField, ownText, parseJson } from '../core/values.ts'
import { OF_NODE, type TranslatedResponse } from './dialect.ts'
import { SOME_FAILED } from './v4/content.ts'

/** Returns the response with unchanged bytes, or the reason why they are not one of the API. */
export async function toV4Response(
  { status, type, length, personal, body }: NodeResponse,
  kind: EdgeRequest['kind'],
): Promise<TranslatedResponse> {
  if (body instanceof Readable) {
    return {
      ok: true,
      response: {
        kind: 'file',
        status,
        type: `${type}; charset=utf-8`,
        ...(length !== undefined && { length }),
        stream: body,
      },
    }
  }
  const isProblem = type === PROBLEM_TYPE
  const origin = { ...OF_NODE, isPersonal: personal === true, isProblem }
  if (isProblem) {
    const errorNumber = numberOfProblem(body, status)
    if (errorNumber === undefined) return { ok: false, reason: 'the problem has no title' }
    return { ok: true, response: { kind: 'envelope', status, body, errorNumber, origin } }
  }
  const envelope = await readEnvelopeInTurns(body, 'failed_items')
  if (!envelope.ok) return envelope
  const { error, rows, namesFailedNodes } = envelope
  const errorNumber = SUMMARIES.has(error) ? numberOfItems(error, await parseList(body, rows), kind) : error
  return {
    ok: true,
    response: { kind: 'envelope', status, body, errorNumber, origin: { ...origin, namesFailedNodes } },
  }
}

/** The values of `error` that summarise the items: all of them failed, or some. */
const SUMMARIES: ReadonlySet<number> = new Set([1, 2])

/** Parses a list within the body. The rest of the body, such as 100,000 rows, is not parsed. */
async function parseList(body: Buffer, list: RowRanges | undefined): Promise<readonly unknown[]> {
  if (list === undefined) return []
  const bytes = await concatInTurns([Buffer.from('['), body.subarray(list.from, list.to), Buffer.from(']')])
  return (await parseInTurns(bytes)) as readonly unknown[]
}

/**
 * Returns the error of a failed item, first of one whose node failed, so that its work may still be in progress. A write
 * that was done for some items is no failure: it has changed data. A read without some of its items is not stored.
 */
function numberOfItems(summary: number, failed: readonly unknown[], kind: EdgeRequest['kind']): number {
  const errors = failed.map((item) => Number(ownField(ownField(item, 'error'), 'code')))
  const ofNode = errors.find(isUnfinishedError) ?? errors.find(isNodeFailureError)
  if (ofNode !== undefined) return ofNode
  if (summary === SOME_FAILED && kind === 'write') return 0
  return errors.find((code) => code > 0) ?? UNKNOWN_ERROR
}

/** The longest problem that is read. */
const MAX_PROBLEM_BYTES = 1024 * 1024

/** Returns the member `error`, or the status where the node has no number; `undefined`: the body is no problem. */
export function numberOfProblem(body: Buffer, status: number): number | undefined {
  const problem = body.length > MAX_PROBLEM_BYTES ? undefined : parseJson(body)
  if (ownText(problem, 'title') === undefined) return undefined
  const number = ownField(problem, 'error')
  return Number.isSafeInteger(number) ? Number(number) : status
}
