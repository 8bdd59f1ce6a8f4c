/** The retry budget: a failing node receives little more than its normal load. */
import type { Socket } from 'node:net'
import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { clusterOf, envelope, fakeNode, get } from './fake-node.ts'

const CALLS = 400

t.test('unreadable responses are not retried, and one success ends the ejection', async (t) => {
  let down = true
  const node = await fakeNode(t, (request, response) => {
    if (down) response.writeHead(503, { 'content-type': 'text/html' }).end('<h1>503</h1>')
    else envelope(request, response)
  })
  const cluster = clusterOf(t, node.url, { limits: { queue: 10_000 } })
  const storm = await Promise.all(Array.from({ length: CALLS }, (_, i) => cluster.call(get(`/${i % 40}`))))
  t.notOk(storm.some(({ ok }) => ok))
  t.ok(node.seen.length <= CALLS * 1.1, `${node.seen.length}`)
  down = false
  await eventually(() => cluster.view.isAvailable('master'), 3_000)
  t.match(await cluster.call(get('/1')), { ok: true })
  const after = await Promise.all(Array.from({ length: 20 }, (_, i) => cluster.call(get(`/${i}`))))
  t.ok(after.every(({ ok }) => ok))
})

t.test('lost connections: one retry for ten calls, beyond the initial budget', async (t) => {
  const node = await fakeNode(t, (request) => request.socket.destroy())
  const limits = { queue: 10_000, inFlight: 4 }
  const cluster = clusterOf(t, node.url, { limits, ejection: { failures: 1e6, refusals: 1e6 } })
  for (let i = 0; i < CALLS; i += 4) {
    await Promise.all([0, 1, 2, 3].map((k) => cluster.call(get(`/${i + k}`))))
  }
  t.ok(node.seen.length <= CALLS * 1.1 + 10, `${node.seen.length}`)
})

t.test('a reload of the limit on calls changes the initial budget of retries', async (t) => {
  const node = await fakeNode(t, (request) => request.socket.destroy())
  const limits = { queue: 10_000, inFlight: 64 }
  const cluster = clusterOf(t, node.url, { limits, ejection: { failures: 1e6, refusals: 1e6 } })
  limits.inFlight = 4
  cluster.prepare({})()
  for (let i = 0; i < 40; i += 1) await cluster.call(get(`/${i}`))
  t.ok(node.seen.length <= 40 * 1.1 + 10, `${node.seen.length}`)
})

t.test('a read that a closed connection has lost is sent again at once while the minute paces reads', async (t) => {
  const reused = new WeakSet<Socket>()
  let closes = false
  const node = await fakeNode(t, (request, response) => {
    const { socket } = request
    if (closes && reused.has(socket)) return void socket.destroy()
    reused.add(socket)
    envelope(request, response)
  })
  const perMinute = 600
  const cluster = clusterOf(t, node.url, { limits: { queue: 10_000, perMinute } })
  const burst = await Promise.all(Array.from({ length: perMinute / 3 }, (_, i) => cluster.call(get(`/${i}`))))
  t.ok(burst.every(({ ok }) => ok))
  closes = true
  const seen = node.seen.length
  t.match(await cluster.call(get('/lost')), { ok: true })
  t.equal(node.seen.length, seen + 2, 'sent again')
})
