/**
 * The classic layout: one call for a request. The public API has the same layout, so paths, parameters and envelopes stay
 * as they are.
 */
import { Readable } from 'node:stream'
import type { Endpoint } from '../../catalogue/endpoint.ts'
import { readEnvelopeInTurns } from '../../core/envelope.ts'
import type { NodeCall, NodeResponse } from '../../core/node-call.ts'
import type { EdgeRequest } from '../../core/request.ts'
import type { Candidate } from '../kinds/index.ts'
import {
  createNodeCall,
  type Dialect,
  type DialectResult,
  type DialectTools,
  encode,
  fillPath,
  formatBody,
  type TranslatedResponse,
} from './dialect.ts'

export const classic: Dialect = { ask }

async function ask(
  request: EdgeRequest,
  candidate: Candidate,
  { call, timeout }: DialectTools,
): Promise<DialectResult> {
  const result = await call(toNodeCall(request, candidate, timeout))
  if (!result.ok) return result
  const { response } = result
  return { ok: true, response, translated: await toEdgeResponse(response) }
}

function toNodeCall(
  request: EdgeRequest,
  { node, path, mayBePassedOn }: Candidate,
  timeout: number | undefined,
): NodeCall {
  const { method } = request.endpoint
  const body = formatBody(request)
  return createNodeCall(request, {
    node,
    method,
    path: fillPath(path, request.params) + formatQuery(request),
    ...(body && { body }),
    expect: isRawFile(request) ? 'stream' : 'bytes',
    timeout,
    endpoint: `${method} ${path}`,
    ...(mayBePassedOn && { mayBePassedOn }),
  })
}

/** Returns the response with unchanged bytes, or the reason why they are not an envelope of the API. */
export async function toEdgeResponse({
  status,
  type,
  length,
  personal,
  body,
}: NodeResponse): Promise<TranslatedResponse> {
  if (body instanceof Readable) {
    return { ok: true, response: { kind: 'file', status, type, ...(length !== undefined && { length }), stream: body } }
  }
  const envelope = await readEnvelopeInTurns(body)
  if (!envelope.ok) return envelope
  const origin = { kind: 'node', isPersonal: personal === true, rows: envelope.rows, isProblem: false } as const
  return { ok: true, response: { kind: 'envelope', status, body, errorNumber: envelope.error, origin } }
}

/** Returns whether the request is for a file as such, not for an envelope. */
function isRawFile({ endpoint, query }: EdgeRequest): boolean {
  const raw: Endpoint['response']['raw'] = endpoint.response.raw
  return raw?.when !== undefined && Object.hasOwn(query, raw.when)
}

/** Parameters are in the order of the endpoint record. With `wait_for_complete` the node lifts its own timeouts. */
function formatQuery({ endpoint, query, waitForComplete }: EdgeRequest): string {
  const pairs = Object.keys(endpoint.query)
    .filter((name) => Object.hasOwn(query, name) && endpoint.query[name]?.edgeOnly === undefined)
    .map((name) => `${encode(name)}=${encode(query[name] ?? '')}`)
  if (waitForComplete) pairs.push('wait_for_complete')
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}
