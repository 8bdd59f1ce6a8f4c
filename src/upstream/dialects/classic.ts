/**
 * The classic API layout of the nodes: translates a request of the edge to a call, and the response of a node to a
 * response of the edge. The public API has the same layout, so paths, parameters and envelopes stay as they are. A node
 * with another layout gets another `Dialect` beside this one, and `forward.ts` chooses between them by the node.
 */
import { Readable } from 'node:stream'
import type { Endpoint } from '../../catalogue/endpoint.ts'
import { readEnvelope } from '../../core/envelope.ts'
import { EdgeError } from '../../core/errors.ts'
import type { NodeCall, NodeResponse } from '../../core/node-call.ts'
import { type EdgeRequest, priorityOf, type RequestBody } from '../../core/request.ts'
import type { EdgeResponse } from '../../core/response.ts'
import type { Candidate } from '../route.ts'

export interface Dialect {
  /**
   * Returns the call of a request on a node. `timeout` in milliseconds; `undefined`: none. Throws 601 for a value that
   * cannot be a path segment.
   */
  toNodeCall(request: EdgeRequest, candidate: Candidate, timeout: number | undefined): NodeCall
  /** Returns the response, or the reason why the body of a node's response is not an envelope of the API. */
  toEdgeResponse(response: NodeResponse): TranslatedResponse
}

export type TranslatedResponse =
  | { readonly ok: true; readonly response: EdgeResponse }
  | { readonly ok: false; readonly reason: string }

export const classic: Dialect = { toNodeCall, toEdgeResponse }

/** Builds the call from the parsed values; no bytes of the client's request are copied. */
function toNodeCall(request: EdgeRequest, { node, path }: Candidate, timeout: number | undefined): NodeCall {
  const { method } = request.endpoint
  return {
    node,
    method,
    path: fillPath(path, request.params) + formatQuery(request),
    ...(request.body && { body: formatBody(request.body) }),
    retryable: method === 'GET',
    expect: isRawFile(request) ? 'stream' : 'bytes',
    ...(timeout !== undefined && { timeout }),
    signal: request.signal,
    requestId: request.requestId,
    priority: priorityOf(request),
    caller: request.caller.name,
    endpoint: `${method} ${path}`,
    ...(request.trace && { trace: request.trace }),
    ...(request.caller.credentials && { credentials: request.caller.credentials }),
  }
}

/** The bytes of the body are unchanged. */
function toEdgeResponse({ status, type, length, personal, body }: NodeResponse): TranslatedResponse {
  if (body instanceof Readable) {
    return { ok: true, response: { kind: 'raw', status, type, ...(length !== undefined && { length }), stream: body } }
  }
  const envelope = readEnvelope(body)
  if (!envelope.ok) return envelope
  const { error: errorNumber } = envelope
  return { ok: true, response: { kind: 'json', status, body, errorNumber, ...(personal && { personal }) } }
}

/** Returns whether the request is for a file as such, not for an envelope. */
function isRawFile({ endpoint, query }: EdgeRequest): boolean {
  const raw: Endpoint['response']['raw'] = endpoint.response.raw
  return raw !== undefined && Object.hasOwn(query, raw.when)
}

function fillPath(template: string, params: EdgeRequest['params']): string {
  const fill = (part: string) => (part.startsWith(':') ? encodeSegment(params, part.slice(1)) : part)
  return template.split('/').map(fill).join('/')
}

/** Encodes a value as one segment. A value of dots only is refused: servers read `..` as the parent. */
function encodeSegment(params: EdgeRequest['params'], name: string): string {
  const value = Object.hasOwn(params, name) ? params[name] : undefined
  if (value === undefined || /^\.*$/.test(value)) throw new EdgeError(601, `.  Field: ${name}`)
  return encode(value)
}

/** Parameters are in the order of the endpoint record. With `wait_for_complete` the node lifts its own timeouts. */
function formatQuery({ endpoint, query, waitForComplete }: EdgeRequest): string {
  const pairs = Object.keys(endpoint.query)
    .filter((name) => Object.hasOwn(query, name) && endpoint.query[name]?.edgeOnly === undefined)
    .map((name) => `${encode(name)}=${encode(query[name] ?? '')}`)
  if (waitForComplete) pairs.push('wait_for_complete')
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}

/** Encodes all characters but the unreserved ones of RFC 3986; encodeURIComponent leaves five more. */
function encode(value: string): string {
  return encodeURIComponent(value).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** Nodes accept the media type without parameters only. */
function formatBody(body: RequestBody): { type: string; bytes: Buffer } {
  if (body.kind === 'upload') return { type: body.type, bytes: body.bytes }
  return { type: 'application/json', bytes: Buffer.from(JSON.stringify(body.fields)) }
}
