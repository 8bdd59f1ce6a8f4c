/** A master that was upgraded to release 5.0 since its release was read: its first 404 shows it, and the client gets what it would get later. */
import { mock } from 'node:test'
import t, { type Test } from 'tap'
import { v4Contract } from '../../../src/contracts/v4/index.ts'
import type { CallNode } from '../../../src/core/node-call.ts'
import type { EdgeRead } from '../../../src/core/request.ts'
import { edgeRequest } from './edge-request.ts'
import { clusterOf, fakeNode } from './fake-node.ts'
import { handlerOf } from './forwarding.ts'
import { ofRelease5 } from './release-5-node.ts'
import { rows, sendJson } from './v4-node.ts'

const GONE = /^\/(?:manager|rules)/
const daemons = { 'wazuh-manager-db': { ready: true, running: true }, ready: true }

const endpoint = v4Contract.find(({ method, path }) => `${method} ${path}` === 'GET /rules')
const RULES = { ...edgeRequest('GET', '/agents'), endpoint } as EdgeRead

/** `ofWorker`: with a worker of release 4.14. */
async function start(t: Test, ofWorker = false) {
  let release = '4.14.7'
  const node = await fakeNode(
    t,
    ofRelease5(
      (request, response) => {
        const { url = '', method } = request
        const isGone = release === '5.0.0' ? GONE.test(url) : url.startsWith('/cluster/master/')
        if (isGone) {
          const problem = JSON.stringify({ title: 'Not Found', detail: '404: Not Found' })
          response.writeHead(404, { 'content-type': 'application/problem+json' }).end(problem)
        } else if (method === 'PUT') sendJson(response, 202, listOf(['master']))
        else rows([daemons])(request, response)
      },
      () => release,
    ),
  )
  const worker = ofWorker && (await fakeNode(t, ofRelease5(rows([{ id: 5710 }]), '4.14.7')))
  const nodes = [
    { name: 'master', type: 'master', url: node.url },
    ...(worker ? [{ name: 'w1', type: 'worker', url: worker.url } as const] : []),
  ] as const
  const cluster = clusterOf(t, node.url, { layout: 'v4', nodes })
  for (const { name } of nodes) await cluster.contacts.probe(name)
  release = '5.0.0'
  const before = node.seen.length
  const calls = () =>
    node.seen
      .slice(before)
      .filter(({ url }) => url !== '/security/user/authenticate')
      .map(({ method, url }) => `${method} ${url}`)
  return { calls, cluster, handler: handlerOf(cluster) }
}

function listOf(items: readonly string[]) {
  const data = { affected_items: items, total_affected_items: items.length, total_failed_items: 0, failed_items: [] }
  return { data, message: 'Request sent', error: 0 }
}

t.test('a v4 client gets the 404 of the release with its title', async (t) => {
  const { calls, handler } = await start(t)
  for (const _ of [1, 2]) {
    const error = await Promise.resolve(handler(RULES)).catch((reason: unknown) => reason)
    t.match(error, { title: /gone since release 5\.0/ })
  }
  t.strictSame(calls(), ['GET /rules', 'GET /'])
})

t.test('a v3 client gets 938 for what is gone', async (t) => {
  const { calls, handler } = await start(t)
  for (const _ of [1, 2])
    await t.rejects(async () => handler(edgeRequest('GET', '/rules')), { code: 938, message: /release 5\.0\.0/ })
  t.equal(calls().filter((call) => call === 'GET /rules').length, 1)
})

t.test('a worker of 4.14 answers what the master no longer has, from the first request on', async (t) => {
  for (const read of [edgeRequest('GET', '/rules'), RULES]) {
    const { calls, handler } = await start(t, true)
    const response = await handler(read)
    t.equal(response.status, 200)
    t.match(response.kind === 'envelope' && response.body.toString(), /5710/)
    t.strictSame(calls(), ['GET /rules', 'GET /'])
  }
})

t.test('the worker has the time that the master has left', async (t) => {
  const { cluster } = await start(t, true)
  const timeouts = new Map<string, number | undefined>()
  const now = performance.now.bind(performance)
  let taken = 0
  mock.method(performance, 'now', () => now() + taken)
  t.teardown(() => mock.restoreAll())
  const call: CallNode = async (one) => {
    if (one.endpoint === 'GET /rules') timeouts.set(one.node, one.timeout)
    const result = await cluster.call(one)
    if (one.node === 'master') taken = 15_000
    return result
  }
  await handlerOf({ call, view: cluster.view })(RULES)
  t.match([...timeouts.keys()], ['master', 'w1'])
  t.ok(Number(timeouts.get('w1')) <= 5_000)
})

t.test('a v3 client gets the facts of the manager', async (t) => {
  const { calls, handler } = await start(t)
  const response = await handler(edgeRequest('GET', '/manager/status'))
  t.equal(response.status, 200)
  t.match(response.kind === 'envelope' && response.body.toString(), /"wazuh-db":"running"/)
  t.strictSame(calls(), ['GET /manager/status', 'GET /', 'GET /cluster/master/status'])
})

t.test('a write of a v3 client, of which nothing was done, is sent as the release has it', async (t) => {
  const { calls, handler } = await start(t)
  const response = await handler(edgeRequest('PUT', '/manager/restart'))
  t.equal(response.status, 200)
  t.strictSame(calls(), ['PUT /manager/restart', 'GET /', 'PUT /cluster/restart?nodes_list=master'])
})
