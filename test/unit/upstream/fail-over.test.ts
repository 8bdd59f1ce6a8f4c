/** The error of a failed node, and which other nodes receive the request. */
import type { RequestListener } from 'node:http'
import t from 'tap'
import type { Fault } from '../../faults/proxy.ts'
import { eventually } from '../../support/eventually.ts'
import { together } from '../../support/together.ts'
import { edgeRequest } from './edge-request.ts'
import { envelope } from './fake-node.ts'
import { createPatientLimits, holdUntilReleased, restart, startForwarding } from './forwarding.ts'

const test = together(t, 2)

test('each fault has its code, and the message names the node', async (t) => {
  const long: RequestListener = (_, response) => {
    response.setHeader('content-type', 'application/json').end(`{"error":0,"data":"${'x'.repeat(1_000)}"}`)
  }
  const ejection = { failures: 100, refusals: 100 }
  const { limits, fitTo } = createPatientLimits()
  const { master, worker, handler } = await startForwarding(t, long, { ejection }, limits)
  await worker.set({ kind: 'refuse' })
  const cases: [Fault, number, number][] = [
    [{ kind: 'refuse' }, 924, 924],
    [{ kind: 'reset' }, 924, 928],
    [{ kind: 'stall' }, 922, 923],
    [{ kind: 'cut', after: 400 }, 925, 928],
  ]
  for (const [fault, read, write] of cases) {
    await master.set(fault)
    fitTo(fault)
    await t.rejects(
      async () => handler(edgeRequest('GET', '/agents')),
      { code: read, message: /\(boss: / },
      `${fault.kind}, read`,
    )
    await t.rejects(async () => handler(restart()), { code: write, message: /\(boss: / }, `${fault.kind}, write`)
  }
  t.equal(worker.seen.length, 0)
})

test('ejected and overloaded nodes: errors with Retry-After', async (t) => {
  const limits = { inFlight: 1, queue: 1 }
  const { respond, release } = holdUntilReleased(envelope)
  const { master, worker, handler, cluster } = await startForwarding(t, respond, { limits })
  await worker.set({ kind: 'refuse' })
  const held = [1, 2].map(async () => handler(restart()))
  await eventually(() => master.seen.length === 1)
  const retry = { headers: { 'retry-after': /^[0-9]+$/ } }
  await t.rejects(async () => handler(restart()), { code: 921, status: 503, message: /\(boss: queue full\)/, ...retry })
  release()
  await Promise.all(held)
  await master.set({ kind: 'refuse' })
  while (cluster.view.isAvailable('boss')) await Promise.resolve(handler(restart())).catch(() => undefined)
  for (let i = 0; i < 3; i += 1) {
    await t.rejects(async () => handler(restart()), { code: 920, status: 503, message: /\(boss: /, ...retry })
  }
})

test('refused credentials: 927 for those of the edge, 901 for those of the caller', async (t) => {
  const refuse: RequestListener = (_, response) => response.writeHead(401).end()
  const service = await startForwarding(t, refuse)
  await t.rejects(async () => service.handler(edgeRequest('GET', '/agents')), {
    code: 927,
    status: 502,
    message: /boss/,
  })
  const through = await startForwarding(t, refuse, { credentials: { mode: 'passthrough' } })
  const caller = { name: 'ann', permissions: [], credentials: { username: 'ann', password: 'x' } }
  await t.rejects(async () => through.handler(edgeRequest('GET', '/agents', { caller })), { code: 901, status: 401 })
})

test('if the master is unreachable, a worker receives the requests', async (t) => {
  const { master, worker, handler, urls, cluster } = await startForwarding(t)
  await master.set({ kind: 'refuse' })
  t.match(await handler(edgeRequest('GET', '/agents')), { status: 200 })
  t.match(await handler(restart()), { status: 200 }, 'the write was not sent to the master')
  t.notOk(cluster.view.isAvailable('boss'))
  t.match(await handler(edgeRequest('GET', '/manager/info')), { status: 200 })
  t.match(await handler(edgeRequest('GET', '/rules')), { status: 200 })
  t.match(await handler(edgeRequest('GET', '/experimental/syscollector/os')), { status: 200 })
  await t.rejects(
    async () => handler(edgeRequest('GET', '/cluster/config')),
    { code: 920 },
    'a worker would answer about itself',
  )
  t.match(await handler(edgeRequest('GET', '/cluster/:node_id/info', { params: { node_id: 'boss' } })), { status: 200 })
  t.same(urls(worker), [
    'GET /agents',
    'PUT /agents/001/restart',
    'GET /cluster/boss/info',
    'GET /rules',
    'GET /experimental/syscollector/os',
    'GET /cluster/boss/info',
  ])
})

test('a write that was sent goes to no other node; a read may', async (t) => {
  const { limits, fitTo } = createPatientLimits()
  const { master, worker, handler, urls } = await startForwarding(t, undefined, {}, limits)
  await master.set({ kind: 'reset' })
  await t.rejects(async () => handler(restart()), { code: 928 })
  t.equal(worker.seen.length, 0)
  t.match(await handler(edgeRequest('GET', '/agents')), { status: 200 })
  await master.set({ kind: 'stall' })
  fitTo({ kind: 'stall' })
  await t.rejects(async () => handler(restart()), { code: 923 })
  await t.rejects(async () => handler(edgeRequest('GET', '/agents')), { code: 922 }, 'no time is left for the worker')
  t.same(urls(worker), ['GET /agents'])
})

test('an unknown node opens no connection', async (t) => {
  const { master, worker, handler } = await startForwarding(t)
  for (const node_id of ['169.254.169.254', 'localhost:6379', '__proto__', 'constructor', 'w9']) {
    await t.rejects(async () => handler(edgeRequest('GET', '/cluster/:node_id/status', { params: { node_id } })), {
      code: 3022,
    })
  }
  t.equal(master.connections() + worker.connections(), 0)
})
