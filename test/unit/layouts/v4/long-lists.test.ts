/** Lists of ids that do not fit into one request line are sent in parts, and a write that ends in between says so. */
import t from 'tap'
import type { NodeCall, NodeResult } from '../../../../src/core/node-call.ts'
import { v4 } from '../../../../src/layouts/v4/index.ts'
import { viewOfMaster } from '../../../support/cluster-view.ts'
import { edgeRequest } from '../../upstream/edge-request.ts'
import { ask, recorded, success } from './recorded.ts'

const ids = Array.from({ length: 3_000 }, (_, index) => String(index + 1).padStart(3, '0'))
const restart = () => edgeRequest('POST', '/agents/restart', { body: { kind: 'fields', fields: { ids } } })
const idsIn = ({ path }: NodeCall) => new URLSearchParams(path.split('?')[1]).get('agents_list')?.split(',') ?? []

t.test('all ids are sent once, in request lines that the node takes, and joined to one response', async (t) => {
  const sent: string[] = []
  const { calls, data } = await ask(restart(), (call) => {
    t.ok(`${call.method} ${call.path} HTTP/1.1`.length < 8_190)
    sent.push(...idsIn(call))
    const [first = '', ...rest] = idsIn(call)
    return success(rest, { failed: [{ error: { code: 1701, message: 'Agent does not exist' }, id: [first] }] })
  })
  t.same(sent, ids)
  t.equal(calls.length, 2)
  const { affected_agents, failed_ids } = data as { affected_agents: readonly string[]; failed_ids: readonly unknown[] }
  t.equal(affected_agents.length, 2_998)
  t.match(failed_ids, [
    { id: '001', error: { code: 1701 } },
    { id: /^\d+$/, error: { code: 1701 } },
  ])
})

/** Answers the first call with success and the second with this result. */
async function errorAfterFirst(second: (call: NodeCall) => NodeResult): Promise<unknown> {
  let asked = 0
  const call = async (nodeCall: NodeCall): Promise<NodeResult> => {
    asked += 1
    return asked === 1 ? { ok: true, response: { node: 'master', ...success(idsIn(nodeCall)) } } : second(nodeCall)
  }
  const request = restart()
  try {
    await v4.ask(
      request,
      { node: 'master', path: request.endpoint.path },
      { call, timeout: 5_000, master: 'master', view: viewOfMaster() },
    )
  } catch (error) {
    return error
  }
  return undefined
}

const failure = (sent: boolean): NodeResult => ({
  ok: false,
  node: 'master',
  fault: 'timeout',
  sent,
  reason: 'timedOut',
})

t.test('an outcome that is not known after the first part is error 933', async (t) => {
  t.match(await errorAfterFirst(() => failure(true)), {
    code: 933,
    message: /\(master: 1 of 2 parts of the list; timed out\)/,
  })
})

t.test('a part that was certainly not carried out is error 932', async (t) => {
  t.match(await errorAfterFirst(() => failure(false)), { code: 932 })
  const refused = recorded('GET /agents/001/config/agent/client')
  const problem = { ...refused, status: 403, type: 'application/problem+json' }
  const body = Buffer.from(JSON.stringify({ title: 'Permission Denied', detail: 'Permission denied', error: 4000 }))
  const error = await errorAfterFirst(() => ({ ok: true, response: { node: 'master', ...problem, body } }))
  t.match(error, { code: 932, message: /Permission denied/ })
})

t.test('a refusal of the first part is the error of the request', async (t) => {
  const denied = {
    status: 403,
    type: 'application/problem+json',
    body: Buffer.from(JSON.stringify({ title: 'Permission Denied', detail: 'Permission denied: x', error: 4000 })),
  }
  const { calls, status, json } = await ask(restart(), () => denied)
  t.equal(calls.length, 1)
  t.equal(status, 403)
  t.same(json, { error: 4000, message: 'Permission denied' })
})

t.test('a response to a read before a write that cannot be read has sent nothing of the write either', async (t) => {
  const request = edgeRequest('DELETE', '/agents/groups', { query: { ids: 'web' } })
  const call = async (): Promise<NodeResult> => {
    return { ok: true, response: { node: 'master', status: 200, type: 'application/json', body: Buffer.from('[') } }
  }
  const tools = { call, timeout: 5_000, master: 'master', view: viewOfMaster() }
  const result = await v4.ask(request, { node: 'master', path: '' }, tools)
  t.match(result, { ok: false, fault: 'unreadable', sent: false })
})

t.test('a read that fails before a write has sent nothing of the write', async (t) => {
  const request = edgeRequest('DELETE', '/agents/groups', { query: { ids: 'web' } })
  const call = async (): Promise<NodeResult> => failure(true)
  const result = await v4.ask(
    request,
    { node: 'master', path: '' },
    { call, timeout: 5_000, master: 'master', view: viewOfMaster() },
  )
  t.match(result, { ok: false, fault: 'timeout', sent: false })
})
