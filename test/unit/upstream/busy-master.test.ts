/** Which node answers while the master has no free slot. */
import type { RequestListener } from 'node:http'
import t, { type Test } from 'tap'
import { SharedPresence } from '../../../src/cache/shared-presence.ts'
import { Presence } from '../../../src/core/presence.ts'
import { createNoClient } from '../../../src/core/request.ts'
import { eventually } from '../../support/eventually.ts'
import { edgeRequest } from './edge-request.ts'
import { type ClusterTestOptions, envelope } from './fake-node.ts'
import { holdUntilReleased, startForwarding } from './forwarding.ts'

type Forwarding = Awaited<ReturnType<typeof startForwarding>>

/** Occupies the only slot of the master until `release`. */
async function busyMaster(t: Test, worker: RequestListener = envelope, options: ClusterTestOptions = {}) {
  const { respond, release } = holdUntilReleased(envelope)
  const nodes: Forwarding = await startForwarding(
    t,
    (request, response) => {
      const isMaster = request.socket.localPort === nodes.master.port
      if (!isMaster) return worker(request, response)
      if (request.url === '/agents') respond(request, response)
      else envelope(request, response)
    },
    { limits: { inFlight: 1 }, ...options },
  )
  const first = nodes.handler(edgeRequest('GET', '/agents'))
  await eventually(() => nodes.master.seen.length === 1)
  return { ...nodes, first, release }
}

t.test('a worker answers from its own copy what every node has', async (t) => {
  const { worker, master, handler, urls, first, release } = await busyMaster(t)
  for (const path of ['/rules', '/decoders', '/rules/files'] as const) {
    t.match(await handler(edgeRequest('GET', path, { copies: 'current' })), { status: 200 })
  }
  t.same(urls(worker), ['GET /rules', 'GET /decoders', 'GET /rules/files'])
  t.equal(master.seen.length, 1)
  release()
  t.match(await first, { status: 200 })
})

t.test('what a worker would hand on to the master waits for the master', async (t) => {
  const { worker, handler, urls, master, first, release } = await busyMaster(t)
  const others = [
    '/agents/summary',
    '/cluster/nodes',
    '/lists',
    '/manager/info',
    '/experimental/syscollector/os',
  ] as const
  const answers = others.map((path) => handler(edgeRequest('GET', path)))
  release()
  for (const answer of [first, ...answers]) t.match(await answer, { status: 200 })
  t.equal(worker.seen.length, 0)
  t.same(new Set(urls(master)), new Set(['/agents', ...others].map((path) => `GET ${path}`)))
})

t.test('data that may not have reached the workers yet comes from the master', async (t) => {
  const { worker, handler, first, release } = await busyMaster(t)
  const answers = [{ copies: 'lagging' as const }, {}].map((state) => handler(edgeRequest('GET', '/rules', state)))
  release()
  for (const each of [first, ...answers]) t.match(await each, { status: 200 })
  t.equal(worker.seen.length, 0)
})

t.test('the master answers if the worker does not, or is not ready', async (t) => {
  const notReady: RequestListener = (_, response) => {
    response.setHeader('content-type', 'application/json').end('{"error":1017,"message":"not ready"}')
  }
  const unreadable: RequestListener = (_, response) => response.end('<html>')
  const refused: RequestListener = (_, response) => response.writeHead(401).end()
  const hanging: RequestListener = () => undefined
  const closing: RequestListener = ({ socket }) => socket.destroy()
  for (const [name, listener] of Object.entries({ notReady, unreadable, refused, hanging, closing })) {
    const { worker, handler, first, release } = await busyMaster(t, listener)
    const answer = handler(edgeRequest('GET', '/rules', { copies: 'current' }))
    await eventually(() => worker.seen.length > 0)
    release()
    for (const each of [first, answer]) t.match(await each, { status: 200, body: /"error":0/ }, name)
  }
})

t.test('an error in the request is answered by the worker', async (t) => {
  const { handler, master, first, release } = await busyMaster(t, (_, response) => {
    response.setHeader('content-type', 'application/json').end('{"error":1403,"message":"Not a valid sort field"}')
  })
  t.match(await handler(edgeRequest('GET', '/rules', { query: { sort: 'x' }, copies: 'current' })), {
    body: /"error":1403/,
  })
  t.equal(master.seen.length, 1)
  release()
  await first
})

t.test('a master whose queue is full is replaced only by a worker that answers from its own copy', async (t) => {
  const { worker, master, handler, urls, first, release } = await busyMaster(t, envelope, {
    limits: { inFlight: 1, queue: 1 },
  })
  const queued = handler(edgeRequest('GET', '/agents'))
  const full = { code: 921, message: /\(boss: / }
  await t.rejects(async () => handler(edgeRequest('GET', '/agents/summary')), full)
  await t.rejects(async () => handler(edgeRequest('GET', '/rules', { copies: 'lagging' })), full)
  t.same(urls(worker), [], 'a call that is handed on costs the worker and the master')
  const client = { ...createNoClient(), flow: { party: 'ann 10.0.0.1', name: 1, isBulk: true } }
  await t.rejects(async () => handler(edgeRequest('GET', '/rules', { client })), full)
  t.same(urls(worker), [], 'the slots of workers are left to others than bulk clients')
  t.match(await handler(edgeRequest('GET', '/rules')), { status: 200 })
  t.same(urls(worker), ['GET /rules'])
  const joined = new SharedPresence()
  joined.join(undefined, true)
  joined.join(new Presence())
  const shared = { ...client, presence: joined }
  t.match(await handler(edgeRequest('GET', '/rules', { client: shared })), { status: 200 }, 'a person waits too')
  t.equal(master.seen.length, 1)
  release()
  t.match(await Promise.all([first, queued]), [{ status: 200 }, { status: 200 }])
})
