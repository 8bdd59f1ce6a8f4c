/** Asks the dialect of the v4 layout, with a master that answers as recorded on a real cluster. */
import type { NodeCall, NodeInfo, NodeResponse } from '../../../../src/core/node-call.ts'
import { describeFailure } from '../../../../src/core/node-faults.ts'
import type { EdgeRead, EdgeWrite } from '../../../../src/core/request.ts'
import { v4 } from '../../../../src/layouts/v4/index.ts'
import { clusterViewOf } from '../../../support/cluster-view.ts'
import { edgeRequest } from '../../upstream/edge-request.ts'
import { exchanges } from './recorded.ts'

export interface Reply {
  readonly status?: number
  readonly type?: string
  readonly body: unknown
}

/** The replies of the healthy master to an administrator, by call. */
const recorded = new Map<string, Reply>(
  exchanges
    .filter(({ node, user, note }) => node === 'master' && user === 'wazuh' && note === '')
    .reverse()
    .map(({ request: { method, path }, response: { status, headers, body } }) => [
      nameOf(method, path),
      { status, type: headers['content-type']?.split(';')[0] ?? '', body: body ?? '' },
    ]),
)

/** A call without differences that have no meaning: the order of parameters, and what is encoded. */
function nameOf(method: string, path: string): string {
  const { pathname, searchParams } = new URL(path, 'http://node')
  searchParams.sort()
  const query = [...searchParams].map(([name, value]) => `${name}=${value}`).join('&')
  return `${method} ${decodeURIComponent(pathname)}${query === '' ? '' : `?${query}`}`
}

/** A body with these items, in the v4 layout. */
export function items(affected: readonly unknown[], failed: readonly (readonly [string, number, string])[] = []) {
  return {
    data: {
      affected_items: affected,
      total_affected_items: affected.length,
      total_failed_items: failed.length,
      failed_items: failed.map(([id, code, message]) => ({ error: { code, message }, id: [id] })),
    },
    message: 'Text of the node',
    error: failed.length === 0 ? 0 : affected.length === 0 ? 1 : 2,
  }
}

export type AskOptions = (Partial<EdgeRead> | Partial<EdgeWrite>) & {
  /** Replies that were not recorded, by call, with parameters in alphabetical order. */
  readonly replies?: Readonly<Record<string, Reply>>
  /** A call that gets no response. */
  readonly timesOut?: string
  /** The asked node; absent: the master. */
  readonly at?: string
  readonly workers?: readonly string[]
  /** The release of the node; absent: that of the recordings. */
  readonly version?: string
  /** Receives the calls, also if the request is rejected. */
  readonly seen?: string[]
}

export interface Asked {
  /** The calls of the node, with parameters in alphabetical order. */
  readonly calls: readonly string[]
  readonly sent: readonly NodeCall[]
  readonly status: number
  readonly envelope: { readonly error: number; readonly data?: unknown; readonly message?: string }
}

/** Sends a v3 request through the dialect. Rejects as the dialect does. */
export async function ask(method: string, path: string, options: AskOptions = {}): Promise<Asked> {
  const { replies = {}, timesOut, at = 'master', workers = ['worker-1', 'worker-2'], ...others } = options
  const { version = '4.5.4', seen: calls = [], ...overrides } = others
  const sent: NodeCall[] = []
  const call = async (nodeCall: NodeCall) => {
    const name = nameOf(nodeCall.method, nodeCall.path)
    sent.push(nodeCall)
    calls.push(name)
    if (name === timesOut) {
      return {
        ok: false as const,
        node: at,
        fault: 'timeout' as const,
        sent: true,
        reason: 'unreadableBody' as const,
        about: `no response to ${name}`,
      }
    }
    const reply = Object.hasOwn(replies, name) ? replies[name] : recorded.get(name)
    if (reply === undefined) throw new Error(`no reply to ${name}`)
    return { ok: true as const, response: responseOf(at, reply) }
  }
  const nodes: readonly NodeInfo[] = ['master', ...workers].map((name) => ({
    name,
    type: name === 'master' ? 'master' : 'worker',
    addressed: true,
  }))
  const tools = {
    call,
    timeout: 10_000,
    master: 'master',
    view: clusterViewOf(nodes, { releaseOf: () => version, versions: { of: () => version, note: () => {} } }),
  }
  const result = await v4.ask(edgeRequest(method, path, overrides), { node: at, path }, tools)
  if (!result.ok)
    throw Object.assign(new Error(describeFailure(result)), { fault: result.fault, sent: result.sent, calls })
  if (!result.translated.ok) throw new Error(`unreadable: ${result.translated.reason}`)
  const { response } = result.translated
  if (response.kind !== 'envelope') throw new Error(`the response is ${response.kind}`)
  return { calls, sent, status: response.status, envelope: JSON.parse(response.body.toString()) }
}

function responseOf(node: string, { status = 200, type = 'application/json', body }: Reply): NodeResponse {
  return { node, status, type, body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)) }
}
