/**
 * The newer contract in front of nodes of the newer layout: one call for a request, with the same path and parameters. The
 * response stays as it is, so a client gets the bytes of the node.
 */
import { Readable } from 'node:stream'
import type { PassesOnTo } from '../../catalogue/endpoint.ts'
import { isNodeFailureError, isUnfinishedError, readEnvelopeInTurns, UNKNOWN_ERROR } from '../../core/envelope.ts'
import { EdgeError } from '../../core/errors.ts'
import type { NodeResponse, PassedOnTo } from '../../core/node-call.ts'
import type { EdgeRequest } from '../../core/request.ts'
import type { RowRanges } from '../../core/response.ts'
import { PROBLEM_TYPE } from '../../core/response.ts'
import { waitForJsonTurn } from '../../core/turns.ts'
import { ownField, ownText, parseJson } from '../../core/values.ts'
import { createNodeCall, type Dialect, fillPath, formatBody, type TranslatedResponse } from './dialect.ts'
import { checkRequestLine, formatQuery } from './newer/conversation.ts'

export const newerContract: Dialect = {
  ask: async (request, { node, replacesMaster }, { call, timeout, master }) => {
    const { endpoint, params, query, waitForComplete } = request
    const { method, path } = endpoint
    const sent = waitForComplete ? { ...query, wait_for_complete: 'true' } : query
    const url = fillPath(path, params) + formatQuery(sent)
    checkRequestLine(node, method, url)
    const body = formatBody(request)
    const result = await call(
      createNodeCall(request, {
        node,
        method,
        path: url,
        ...(body && { body }),
        expect: isFile(request) ? 'stream' : 'bytes',
        timeout,
        endpoint: `${method} ${path}`,
        passedOnTo: replacesMaster ? { node: master } : passedOnTo(request, master),
      }),
    )
    if (!result.ok) return result
    return { ok: true, response: result.response, translated: await toResponse(result.response, request.kind) }
  },
}

/** Nodes of the classic layout lack most of what the newer contract has. */
export const refused: Dialect = {
  ask: async (_request, { node }) => {
    throw new EdgeError(938, ` (${node}: it has the classic layout, and listen.contract is newer)`)
  },
}

function isFile({ endpoint, query }: EdgeRequest): boolean {
  const { raw } = endpoint.response
  return raw !== undefined && (raw.when === undefined || query[raw.when] === 'true')
}

function passedOnTo({ endpoint: { target }, params }: EdgeRequest, master: string): PassedOnTo | undefined {
  const to: PassesOnTo | undefined = target.kind === 'master' ? target.passesOnTo : undefined
  if (to === 'agentOwner') return { agent: params.agent_id ?? '' }
  if (to === 'node') return params.node_id === master ? undefined : { node: params.node_id ?? '' }
  return to
}

/** Returns the response with unchanged bytes, or the reason why they are not one of the API. */
async function toResponse(
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
  const origin = { kind: 'node', isPersonal: personal === true, rows: undefined, isProblem } as const
  if (isProblem) {
    const errorNumber = numberOfProblem(body, status)
    if (errorNumber === undefined) return { ok: false, reason: 'the problem has no title' }
    return { ok: true, response: { kind: 'envelope', status, body, errorNumber, origin } }
  }
  const envelope = await readEnvelopeInTurns(body, 'failed_items')
  if (!envelope.ok) return envelope
  const { error, rows } = envelope
  const errorNumber = SUMMARIES.has(error) ? numberOfItems(error, await parseList(body, rows), kind) : error
  return { ok: true, response: { kind: 'envelope', status, body, errorNumber, origin } }
}

/** The values of `error` that summarise the items: all of them failed, or some. */
const SUMMARIES: ReadonlySet<number> = new Set([1, 2])
const SOME_FAILED = 2

/** Parses a list within the body. The rest of the body, such as 100,000 rows, is not parsed. */
async function parseList(body: Buffer, list: RowRanges | undefined): Promise<readonly unknown[]> {
  if (list === undefined) return []
  await waitForJsonTurn(list.to - list.from)
  return JSON.parse(`[${body.subarray(list.from, list.to)}]`)
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
function numberOfProblem(body: Buffer, status: number): number | undefined {
  const problem = body.length > MAX_PROBLEM_BYTES ? undefined : parseJson(body)
  if (ownText(problem, 'title') === undefined) return undefined
  const number = ownField(problem, 'error')
  return Number.isSafeInteger(number) ? Number(number) : status
}
