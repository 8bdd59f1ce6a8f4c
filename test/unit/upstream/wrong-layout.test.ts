/** `cluster.layout` names another layout than the nodes have: the error says so. */
import type { RequestListener } from 'node:http'
import t, { type Test } from 'tap'
import { edgeRequest } from './edge-request.ts'
import { clusterOf, fakeNode } from './fake-node.ts'
import { handlerOf } from './forwarding.ts'
import { sendJson } from './v4-node.ts'

async function errorOf(t: Test, layout: 'v3' | 'v4', listener: RequestListener): Promise<unknown> {
  const { url } = await fakeNode(t, listener)
  const handler = handlerOf(clusterOf(t, url, { layout }))
  return Promise.resolve(handler(edgeRequest('GET', '/agents'))).catch((error: unknown) => error)
}

t.test('v3 is configured, and the node has the v4 layout', async (t) => {
  const error = await errorOf(t, 'v3', (_, response) =>
    sendJson(response, 401, { title: 'Unauthorized', detail: 'No authorization token provided' }),
  )
  t.match(error, { code: 927, message: /master: status 401, its API has the v4 layout; check cluster\.layout/ })
})

t.test('v4 is configured, and the v3 node accepts the password', async (t) => {
  const error = await errorOf(t, 'v4', (_, response) =>
    sendJson(response, 200, { error: 603, message: 'The requested URL was not found on this server' }),
  )
  t.match(error, { code: 925 })
  const notFound = await errorOf(t, 'v4', (_, response) => {
    response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":603,"message":"not found"}')
  })
  t.match(notFound, { code: 925, message: /status 404 for the login, .* check cluster\.layout/ })
})

t.test('v4 is configured, and the v3 node refuses the password', async (t) => {
  const error = await errorOf(t, 'v4', (_, response) => {
    const headers = { 'content-type': 'text/plain', 'www-authenticate': 'Basic realm="OSSEC API"' }
    response.writeHead(401, headers).end('401 Unauthorized')
  })
  t.match(error, { code: 927, message: /its API has the v3 layout; check cluster\.layout/ })
})
