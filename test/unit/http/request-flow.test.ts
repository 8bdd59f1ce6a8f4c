/** A client that left before its request needed a node has no request waiting. */
import { once } from 'node:events'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import t from 'tap'

let now = 0
t.intercept(performance, 'now', { value: () => now })
const { edgeRequest } = await import('../../support/edge-requests.ts')
const { flowOf } = await import('../../../src/http/request-flow.ts')

function createResponse(): ServerResponse {
  const response = new ServerResponse(new IncomingMessage(new Socket()))
  response.assignSocket(new Socket())
  return response
}

t.test('the requests of a party are not bulk because of a client that left', async (t) => {
  const request = edgeRequest('GET /agents')
  const left = createResponse()
  left.destroy()
  await once(left, 'close')
  flowOf(request, 'ann 10.0.0.1', left)
  now += 60_000
  const flow = flowOf(request, 'ann 10.0.0.1', createResponse())
  t.equal(flow.isBulk, false)
  now += 6000
  t.equal(flow.isBulk, true, 'the request that waits is counted')
})
