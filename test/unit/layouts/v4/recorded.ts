/** Asks the dialect of the v4 layout, with the recorded responses of a 4.5.4 cluster in place of a node. */
import { readFileSync } from 'node:fs'
import type { NodeCall, NodeResponse, NodeResult } from '../../../../src/core/node-call.ts'
import type { EdgeRequest } from '../../../../src/core/request.ts'
import { v4 } from '../../../../src/layouts/v4/index.ts'
import { viewOfMaster } from '../../../support/cluster-view.ts'
import { edgeRequest } from '../../upstream/edge-request.ts'

interface Exchange {
  readonly node: string
  readonly user: string
  readonly note: string
  readonly request: { readonly method: string; readonly path: string }
  readonly response: { readonly status: number; readonly headers: Record<string, string>; readonly body: string }
}

const file = new URL('../../../contract/exchanges/v4-layout.jsonl', import.meta.url)
export const exchanges: readonly Exchange[] = readFileSync(file, 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as Exchange)

/** Returns the first response to the user, by default the administrator, that was recorded for this call. */
export function recorded(call: string, by = 'wazuh'): Pick<NodeResponse, 'status' | 'type' | 'body'> {
  const found = exchanges.find(({ user, request }) => user === by && `${request.method} ${request.path}` === call)
  if (found === undefined) throw new Error(`no exchange was recorded for ${call}`)
  const { status, headers, body } = found.response
  return { status, type: headers['content-type']?.split(';')[0] ?? '', body: Buffer.from(body) }
}

/** A response in the form of the v4 layout. */
export function success(items: readonly unknown[], more: { total?: number; failed?: readonly unknown[] } = {}) {
  const { total = items.length, failed = [] } = more
  const error = failed.length === 0 ? 0 : items.length === 0 ? 1 : 2
  const data = {
    affected_items: items,
    total_affected_items: total,
    total_failed_items: failed.length,
    failed_items: failed,
  }
  const body = Buffer.from(JSON.stringify({ data, message: '', error }))
  return { status: 200, type: 'application/json', body }
}

export type Respond = (call: NodeCall) => Pick<NodeResponse, 'status' | 'type' | 'body'>

/** Returns the calls that the node received, decoded, and the v3 response. `timeout` in milliseconds. */
export async function ask(
  request: EdgeRequest,
  respond: (call: NodeCall) => ReturnType<Respond> | Promise<ReturnType<Respond>>,
  timeout = 5_000,
  perMinute?: number,
) {
  const calls: string[] = []
  const call = async (nodeCall: NodeCall): Promise<NodeResult> => {
    calls.push(`${nodeCall.method} ${decodeURIComponent(nodeCall.path)}`)
    return { ok: true, response: { node: 'master', ...(await respond(nodeCall)) } }
  }
  const candidate = { node: 'master', path: request.endpoint.path }
  const result = await v4.ask(request, candidate, {
    call,
    timeout,
    master: 'master',
    view: { ...viewOfMaster(), nodes: () => [] },
    ...(perMinute !== undefined && { perMinute }),
  })
  if (!result.ok || !result.translated.ok) throw new Error('the dialect has no response')
  const { response } = result.translated
  const json: unknown = response.kind === 'envelope' ? JSON.parse(response.body.toString()) : undefined
  return { calls, response, status: response.status, json, data: (json as { data?: unknown } | undefined)?.data }
}

/** Asks for a v3 path template and query, and answers with the recorded response to another call. */
export function askRecorded(
  v3: string,
  parts: { readonly params?: Record<string, string>; readonly query?: Record<string, string> },
  call: string,
) {
  const [method = '', path = ''] = v3.split(' ')
  return ask(edgeRequest(method, path, parts), () => recorded(call))
}
