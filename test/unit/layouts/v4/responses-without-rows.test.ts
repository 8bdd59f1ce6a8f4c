/** A response that lacks its list of rows is a fault of the node. It is not the same as a list without rows. */
import t from 'tap'
import type { NodeCall, NodeResult } from '../../../../src/core/node-call.ts'
import type { EdgeRequest } from '../../../../src/core/request.ts'
import { v4 } from '../../../../src/layouts/v4/index.ts'
import { viewOfMaster } from '../../../support/cluster-view.ts'
import { edgeRequest } from '../../upstream/edge-request.ts'
import { success } from './recorded.ts'

const listed = { affected_items: [{ id: '001' }], total_affected_items: 1, failed_items: [] }
const broken: Record<string, unknown> = {
  'affected_items is null': { ...listed, affected_items: null },
  'affected_items is an object': { ...listed, affected_items: { 0: { id: '001' } } },
  'affected_items is missing': { total_affected_items: 1 },
  'there is no data': null,
  'the total is negative': { ...listed, total_affected_items: -1 },
  'the total is a fraction': { ...listed, total_affected_items: 0.5 },
  'the total is too large to be counted': { ...listed, total_affected_items: 1e300 },
}

async function outcomeOf(request: EdgeRequest, respond: (call: NodeCall) => unknown): Promise<unknown> {
  const call = async (nodeCall: NodeCall): Promise<NodeResult> => {
    const body = Buffer.from(JSON.stringify({ data: respond(nodeCall), message: '', error: 0 }))
    return { ok: true, response: { node: 'master', status: 200, type: 'application/json', body } }
  }
  const candidate = { node: 'master', path: request.endpoint.path }
  const result = await v4.ask(request, candidate, {
    call,
    timeout: 5_000,
    master: 'master',
    view: viewOfMaster(),
  })
  if (!result.ok) return { fault: result.fault, sent: result.sent }
  return { isReadable: result.translated.ok }
}

for (const [what, data] of Object.entries(broken)) {
  t.test(`a response is unreadable if ${what}`, async (t) => {
    const requests = [
      edgeRequest('GET', '/agents'),
      edgeRequest('GET', '/agents/:agent_id', { params: { agent_id: '001' } }),
      edgeRequest('GET', '/experimental/syscollector/os'),
      edgeRequest('DELETE', '/agents', { query: { ids: '001' } }),
    ]
    for (const request of requests) {
      t.same(await outcomeOf(request, () => data), { isReadable: false }, request.endpoint.path)
    }
  })

  t.test(`the rows of all agents are unreadable if in the response of a later call ${what}`, async (t) => {
    const request = edgeRequest('GET', '/experimental/syscollector/os')
    t.same(await outcomeOf(request, ({ path }) => (path.startsWith('/agents?') ? listed : data)), { isReadable: false })
  })

  t.test(`no group is removed if in the response with its members ${what}`, async (t) => {
    const methods: string[] = []
    const request = edgeRequest('DELETE', '/agents/groups', { query: { ids: 'web' } })
    const outcome = await outcomeOf(request, ({ method }) => {
      methods.push(method)
      return data
    })
    t.same(methods, ['GET'])
    t.same(outcome, { fault: 'unreadable', sent: false })
  })
}

t.test('a list without rows is readable', async (t) => {
  const { data } = JSON.parse(success([]).body.toString())
  t.same(await outcomeOf(edgeRequest('GET', '/agents'), () => data), { isReadable: true })
})
