/** From an Ask to the call on a node: written anew from parsed values, nothing of the client's bytes travels. */
import type { Endpoint } from '../../catalogue/endpoint.ts'
import { EdgeError } from '../../core/errors.ts'
import type { NodeCall } from '../../core/node-call.ts'
import { type EdgeRequest, priorityOf, type RequestBody } from '../../core/request.ts'
import type { Candidate } from '../route.ts'

/** `timeout` in milliseconds; absent: none. */
export function nodeCall(ask: EdgeRequest, { node, path }: Candidate, timeout: number | undefined): NodeCall {
  const { method } = ask.endpoint
  return {
    node,
    method,
    path: fillPath(path, ask.params) + queryText(ask),
    ...(ask.body && { body: nodeBody(ask.body) }),
    retryable: method === 'GET',
    expect: isRaw(ask) ? 'stream' : 'bytes',
    ...(timeout !== undefined && { timeout }),
    signal: ask.signal,
    requestId: ask.requestId,
    priority: priorityOf(ask),
    caller: ask.caller.name,
    endpoint: `${method} ${path}`,
    ...(ask.trace && { trace: ask.trace }),
    ...(ask.caller.credentials && { credentials: ask.caller.credentials }),
  }
}

/** Is the file itself asked for? */
function isRaw({ endpoint, query }: EdgeRequest): boolean {
  const raw: Endpoint['response']['raw'] = endpoint.response.raw
  return raw !== undefined && Object.hasOwn(query, raw.when)
}

function fillPath(template: string, params: EdgeRequest['params']): string {
  const fill = (part: string) => (part.startsWith(':') ? segment(params, part.slice(1)) : part)
  return template.split('/').map(fill).join('/')
}

/** One value is one segment: `/` in it is encoded, and what a server could take for a step up is refused. */
function segment(params: EdgeRequest['params'], name: string): string {
  const value = Object.hasOwn(params, name) ? params[name] : undefined
  if (value === undefined || /^\.*$/.test(value)) throw new EdgeError(601, `.  Field: ${name}`)
  return encode(value)
}

/** In the record's order, so that equal requests are equal bytes. The node lifts its own time limits by the flag. */
function queryText({ endpoint, query, waitForComplete }: EdgeRequest): string {
  const parts = Object.keys(endpoint.query)
    .filter((name) => Object.hasOwn(query, name) && endpoint.query[name]?.edgeOnly === undefined)
    .map((name) => `${encode(name)}=${encode(query[name] ?? '')}`)
  if (waitForComplete) parts.push('wait_for_complete')
  return parts.length === 0 ? '' : `?${parts.join('&')}`
}

/** RFC 3986: all but unreserved characters; encodeURIComponent leaves five more. */
function encode(value: string): string {
  return encodeURIComponent(value).replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`)
}

/** A node takes one of four types, without parameters (contract/wire.md, Parameters). */
function nodeBody(body: RequestBody): { type: string; bytes: Buffer } {
  if (body.kind === 'upload') return { type: body.type, bytes: body.bytes }
  return { type: 'application/json', bytes: Buffer.from(JSON.stringify(body.fields)) }
}
