/**
 * The edge's side of a replay: its HTTP border and the dialect, in front of nodes that know only the recorded responses.
 */
import { request as send } from 'undici'
import type { CallNode, NodeCall, NodeResult } from '../../../src/core/node-call.ts'
import { forward } from '../../../src/upstream/forward.ts'
import { createKinds } from '../../../src/upstream/kinds.ts'
import { clusterViewOf } from '../../support/cluster-view.ts'
import { defaultConfig } from '../../support/default-config.ts'
import { basic, startServer } from '../../unit/http/test-server.ts'
import type { SeenCall } from './calls.ts'
import type { V4Exchange } from './exchanges.ts'
import { type ExpectedCalls, expectCalls, type FurtherReplies, type Reply } from './expected-calls.ts'
import type { V3Request } from './v3-request.ts'
import { urlOf } from './v3-requests.ts'

type Tap = Parameters<typeof startServer>[0]

export interface Outcome extends Pick<ExpectedCalls, 'calls' | 'unexpected'> {
  readonly status: number
  readonly text: string
}

export interface Replay {
  /** `further`: recorded responses that the edge may need besides the one of the exchange. */
  send(request: V3Request, exchange: V4Exchange, further: FurtherReplies): Promise<Outcome>
}

const nodes = [
  { name: 'master', type: 'master', addressed: true },
  { name: 'worker-1', type: 'worker', addressed: true },
  { name: 'worker-2', type: 'worker', addressed: true },
] as const

const view = clusterViewOf(nodes, {
  layoutOf: () => 'v4',
  versions: { of: () => '4.5.4', note: () => {} },
  freeSlots: () => 1,
})

const kindOf = createKinds('manager')

export async function startReplay(t: Tap): Promise<Replay> {
  let asked = 'master'
  let reply: (call: NodeCall) => NodeResult = () => {
    throw new Error('no exchange')
  }
  const call: CallNode = async (nodeCall) => reply(nodeCall)
  const handler = forward({
    call,
    view,
    kindOf: (now) => ({ ...kindOf(now), route: ({ endpoint }) => [{ node: asked, path: endpoint.path }] }),
    limits: () => ({ timeout: 30_000, slowTimeout: 30_000 }),
    // Recorded responses do not change with time.
    pause: async () => undefined,
  })
  const server = await startServer(t, handler, {
    settings: () => ({
      ...defaultConfig,
      cluster: {
        ...defaultConfig.cluster,
        upgradeRepositories: ['127.0.0.1/'],
        packageFolders: ['/var/ossec/var/upgrade', '/tmp'],
      },
    }),
  })
  return {
    async send(request, exchange, further) {
      asked = request.asked
      const expected = expectCalls(request, exchange, further)
      reply = (nodeCall) => {
        const found = expected.answer(seenCall(nodeCall))
        return found === undefined ? failure(nodeCall) : success(nodeCall, found)
      }
      const { body } = request
      const response = await send(`http://127.0.0.1:${server.port}${urlOf(request)}`, {
        method: methodOf(request),
        headers: { authorization: basic('alice'), ...(body && { 'content-type': body.type }) },
        ...(body && { body: body.text }),
      })
      const { calls, unexpected } = expected
      return { status: response.statusCode, text: await response.body.text(), calls, unexpected }
    },
  }
}

function seenCall({ node, method, path, body }: NodeCall): SeenCall {
  return { node, method, path, body: body?.bytes.toString() }
}

export function methodOf({ endpoint }: V3Request) {
  return endpoint.split(' ')[0] as 'GET' | 'POST' | 'PUT' | 'DELETE'
}

function failure({ node, method, path }: NodeCall): NodeResult {
  return {
    ok: false,
    node,
    fault: 'unreadable',
    sent: true,
    reason: 'unreadableBody',
    about: `not recorded: ${method} ${path}`,
  }
}

function success({ node }: NodeCall, { status, headers, body }: Reply): NodeResult {
  const type = (headers['content-type'] ?? '').replace(/;.*/, '')
  return { ok: true, response: { node, status, type, body: Buffer.from(body ?? '') } }
}
