/** The simplest dialect: the v3 contract in front of nodes of the v3 layout. */
import { Readable } from 'node:stream'
import type { Endpoint } from '../contracts/endpoint.ts'
import { readEnvelope } from '../core/envelope.ts'
import type { NodeResponse } from '../core/node-call.ts'
import type { EdgeRequest } from '../core/request.ts'
import { type CooperativeTask, runTask } from '../core/turns.ts'
import { encode, fillPath } from './call-path.ts'
import { createNodeCall, type Dialect, formatBody, type TranslatedResponse } from './dialect.ts'

/**
 * The v3 layout: one call for a request. The public API has the same layout, so paths, parameters and envelopes stay
 * as they are.
 */
export const v3: Dialect = {
  ask: async (request, candidate, { call, timeout }) => {
    const { node, path, mayBePassedOn } = candidate
    const { method } = request.endpoint
    const formatted = formatBody(request)
    const body = formatted instanceof Promise ? await formatted : formatted
    const sent = createNodeCall(request, {
      node,
      method,
      path: fillPath(path, request.params) + v3Query(request),
      body,
      expect: isRawFile(request) ? 'stream' : 'bytes',
      timeout,
      endpoint: `${method} ${path}`,
      mayBePassedOn,
    })
    const result = await call(sent)
    if (!result.ok) return result
    const { response } = result
    const translated = runTask(toEdgeResponse(response))
    return { ok: true, response, translated: translated instanceof Promise ? await translated : translated }
  },
}

/** Returns whether the request is for a file as such, not for an envelope. */
function isRawFile({ endpoint, query }: EdgeRequest): boolean {
  const raw: Endpoint['response']['raw'] = endpoint.response.raw
  return raw?.when !== undefined && Object.hasOwn(query, raw.when)
}

/** Parameters are in the order of the endpoint record. With `wait_for_complete` the node lifts its own timeouts. */
function v3Query({ endpoint, query, waitForComplete }: EdgeRequest): string {
  const pairs: string[] = []
  for (const [name, { edgeOnly }] of Object.entries(endpoint.query))
    if (Object.hasOwn(query, name) && edgeOnly === undefined) pairs.push(`${encode(name)}=${encode(query[name] ?? '')}`)
  if (waitForComplete) pairs.push('wait_for_complete')
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}

/** Returns the response with unchanged bytes, or the reason why they are not an envelope of the API. */
export function* toEdgeResponse(response: NodeResponse): CooperativeTask<TranslatedResponse> {
  const { status, type, length, personal, body } = response
  if (body instanceof Readable) {
    return { ok: true, response: { kind: 'file', status, type, ...(length !== undefined && { length }), stream: body } }
  }
  const envelope = yield* readEnvelope(body)
  if (!envelope.ok) return envelope
  const { rows, namesFailedNodes } = envelope
  const isPersonal = personal === true
  const origin = { kind: 'node', isPersonal, age: 0, rows, namesFailedNodes, isProblem: false } as const
  return { ok: true, response: { kind: 'envelope', status, body, errorNumber: envelope.error, origin } }
}
