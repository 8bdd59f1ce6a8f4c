/**
 * The newer contract in front of nodes of the newer layout: one call for a request, with the same path and parameters. The
 * response stays as it is, so a client gets the bytes of the node.
 */
import { Readable } from 'node:stream'
import type { PassesOnTo } from '../../catalogue/endpoint.ts'
import { readEnvelopeInTurns } from '../../core/envelope.ts'
import { EdgeError } from '../../core/errors.ts'
import type { NodeResponse, PassedOnTo } from '../../core/node-call.ts'
import type { EdgeRequest } from '../../core/request.ts'
import { ownField, ownText } from '../../core/values.ts'
import { PROBLEM_TYPE } from '../node-response.ts'
import { createNodeCall, type Dialect, fillPath, formatBody, type TranslatedResponse } from './dialect.ts'
import { formatQuery, MAX_REQUEST_LINE } from './newer/conversation.ts'

export const newerContract: Dialect = {
  ask: async (request, { node, replacesMaster }, { call, timeout, master }) => {
    const { endpoint, params, query, waitForComplete } = request
    const { method, path } = endpoint
    const sent = waitForComplete ? { ...query, wait_for_complete: 'true' } : query
    const url = fillPath(path, params) + formatQuery(sent)
    if (`${method} ${url} HTTP/1.1`.length > MAX_REQUEST_LINE) {
      throw new EdgeError(908, ` (${node}: a request line has at most ${MAX_REQUEST_LINE} bytes)`)
    }
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
    return { ok: true, response: result.response, translated: await toResponse(result.response) }
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
  return raw !== undefined && query[raw.when] === 'true'
}

function passedOnTo({ endpoint: { target }, params }: EdgeRequest, master: string): PassedOnTo | undefined {
  const to: PassesOnTo | undefined = target.kind === 'master' ? target.passesOnTo : undefined
  if (to === 'agentOwner') return { agent: params.agent_id ?? '' }
  if (to === 'node') return params.node_id === master ? undefined : { node: params.node_id ?? '' }
  return to
}

/** Returns the response with unchanged bytes, or the reason why they are not one of the API. */
async function toResponse({ status, type, length, personal, body }: NodeResponse): Promise<TranslatedResponse> {
  if (body instanceof Readable) {
    return { ok: true, response: { kind: 'file', status, type, ...(length !== undefined && { length }), stream: body } }
  }
  const isProblem = type === PROBLEM_TYPE
  const origin = { kind: 'node', isPersonal: personal === true, rows: undefined, isProblem } as const
  if (isProblem) {
    const errorNumber = errorNumberOf(body, status)
    if (errorNumber === undefined) return { ok: false, reason: 'the problem has no title' }
    return { ok: true, response: { kind: 'envelope', status, body, errorNumber, origin } }
  }
  const envelope = await readEnvelopeInTurns(body)
  if (!envelope.ok) return envelope
  return { ok: true, response: { kind: 'envelope', status, body, errorNumber: envelope.error, origin } }
}

/** The longest problem that is read. */
const MAX_PROBLEM_BYTES = 1024 * 1024

/** Returns the member `error`, or the status where the node has no number; `undefined`: the body is no problem. */
function errorNumberOf(body: Buffer, status: number): number | undefined {
  if (body.length > MAX_PROBLEM_BYTES) return undefined
  try {
    const problem: unknown = JSON.parse(body.toString())
    if (ownText(problem, 'title') === undefined) return undefined
    const number = ownField(problem, 'error')
    return Number.isSafeInteger(number) ? Number(number) : status
  } catch {
    return undefined
  }
}
