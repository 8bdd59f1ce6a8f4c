/** Connection faults: the resulting fault, whether the call was sent, and whether it is retried. */
import type { RequestListener, ServerResponse } from 'node:http'
import net, { type Socket } from 'node:net'
import type { Test } from 'tap'
import t from 'tap'
import { type Fault, startFaultProxy } from '../../faults/proxy.ts'
import { eventually } from '../../support/eventually.ts'
import { clusterOf, envelope, fakeNode, get, listen, put } from './fake-node.ts'

async function behindProxy(t: Test, fault: Fault, respond?: RequestListener) {
  const node = await fakeNode(t, respond)
  const proxy = await startFaultProxy(node.port)
  t.teardown(() => proxy.close())
  await proxy.set(fault)
  const cluster = clusterOf(t, `http://127.0.0.1:${proxy.port}`, { ejection: { failures: 1000, refusals: 1000 } })
  return { node, proxy, cluster }
}

t.test('refused: nothing was sent', async (t) => {
  const { cluster } = await behindProxy(t, { kind: 'refuse' })
  const expected = { ok: false, fault: 'unreachable', sent: false, reason: 'connectionRefused' }
  t.match(await cluster.call(get()), expected)
  t.match(await cluster.call(put()), expected)
})

t.test('reset: a read is retried once, a write is not', async (t) => {
  const { cluster, proxy } = await behindProxy(t, { kind: 'reset' })
  const expected = { ok: false, fault: 'unreachable', sent: true, reason: 'connectionLost' }
  t.match(await cluster.call(get()), expected)
  t.equal(proxy.accepted(), 2)
  t.match(await cluster.call(put()), expected)
  t.equal(proxy.accepted(), 3)
})

t.test('FIN before the response: as reset', async (t) => {
  const { cluster, node } = await behindProxy(t, { kind: 'halfClose' })
  const expected = { ok: false, fault: 'unreachable', sent: true }
  t.match(await cluster.call(put()), expected)
  await eventually(() => node.seen.length === 1)
  t.match(await cluster.call(get()), expected)
})

t.test('stall: ends at the deadline', async (t) => {
  const { cluster, proxy } = await behindProxy(t, { kind: 'stall' })
  let later: unknown
  void cluster.call(get('/', { timeout: 5_000 })).then((result) => {
    later = result
  })
  const calls = [cluster.call(get('/', { timeout: 150 })), cluster.call(put('/', { timeout: 150 }))]
  for (const result of await Promise.all(calls)) t.match(result, { ok: false, fault: 'timeout', sent: true })
  t.equal(later, undefined, 'before a call with a later deadline')
  t.ok(proxy.accepted() >= 2)
})

t.test('no response: sent once', async (t) => {
  const { cluster, node } = await behindProxy(t, { kind: 'pass' }, () => undefined)
  const calls = [cluster.call(get('/', { timeout: 300 })), cluster.call(put('/', { timeout: 300 }))]
  for (const result of await Promise.all(calls)) t.match(result, { ok: false, fault: 'timeout', sent: true })
  t.strictSame(node.seen.map(({ method }) => method).sort(), ['GET', 'PUT'])
})

t.test('drip: ends at the deadline although bytes arrive', async (t) => {
  const { cluster } = await behindProxy(t, { kind: 'drip', ms: 20 })
  t.match(await cluster.call(get('/', { timeout: 200 })), { ok: false, fault: 'timeout', sent: true })
})

t.test('cut in the head: a read is retried; cut in the body: unreadable', async (t) => {
  const { cluster, node, proxy } = await behindProxy(t, { kind: 'cut', after: 10 })
  t.match(await cluster.call(get()), { ok: false, fault: 'unreachable', sent: true })
  t.equal(node.seen.length, 2)
  await proxy.set({ kind: 'cut', after: 180 })
  t.match(await cluster.call(get()), { ok: false, fault: 'unreadable', sent: true, reason: 'cutShort' })
  t.equal(node.seen.length, 3)
})

t.test('latency: the response is used', async (t) => {
  const { cluster } = await behindProxy(t, { kind: 'link', toTarget: { delay: 50 }, toClient: { delay: 50 } })
  t.match(await cluster.call(get()), { ok: true })
})

t.test('a TLS handshake that does not finish: nothing was sent', async (t) => {
  const server = await listen(t, net.createServer())
  const cluster = clusterOf(t, server.url.replace('http', 'https'), { connectTimeout: 200 })
  const early = cluster.call(put('/', { timeout: 50 }))
  const late = cluster.call(get())
  t.match(await early, { ok: false, fault: 'timeout', sent: false })
  t.match(await late, { ok: false, fault: 'unreachable', sent: false, reason: 'connectionTimedOut' })
})

t.test('a client that disconnects cancels the call, whose slot is free when the node has answered', async (t) => {
  const held: ServerResponse[] = []
  const node = await fakeNode(t, (_, response) => held.push(response))
  const cluster = clusterOf(t, node.url)
  const client = new AbortController()
  const call = cluster.call(get('/', { signal: client.signal }))
  await eventually(() => node.seen.length === 1)
  client.abort()
  t.match(await call, { ok: false, fault: 'cancelled', sent: true })
  t.equal(cluster.status()[0]?.inFlight, 1)
  for (const response of held) envelope(response.req, response)
  await eventually(() => cluster.status()[0]?.inFlight === 0)
  t.match(await cluster.call(get('/', { signal: client.signal })), { ok: false, fault: 'abandoned', sent: false })
})

t.test('close aborts calls in flight and opens no connection', async (t) => {
  const node = await fakeNode(t, () => undefined)
  const cluster = clusterOf(t, node.url, { limits: { inFlight: 2 } })
  const calls = [get(), put(), get(), put()].map((call) => cluster.call(call))
  await eventually(() => node.seen.length === 2)
  await cluster.close()
  const results = await Promise.all(calls)
  for (const result of results) t.match(result, { ok: false })
  t.match(
    results.map((result) => !result.ok && result.sent),
    [true, true, false, false],
  )
  t.equal(node.seen.length, 2)
})

t.test('if a node closes idle connections, no read fails and no write is sent twice', async (t) => {
  // Closes each connection shortly after its response, while the edge may send the next request on it.
  const node = await fakeNode(t, (request, response) => {
    envelope(request, response)
    setTimeout(() => request.socket.destroy(), Math.random() * 3)
  })
  const cluster = clusterOf(t, node.url)
  let writes = 0
  for (let i = 0; i < 200; i += 1) {
    const result = await cluster.call(i % 10 === 0 ? put() : get())
    if (i % 10 === 0) writes += 1
    if (!result.ok) t.fail(`${i}: ${result.reason}`)
    if (i % 3 === 0) await new Promise((done) => setTimeout(done, Math.random() * 3))
  }
  t.equal(node.seen.filter(({ method }) => method === 'PUT').length, writes)
})

/** Ends each connection at its second request, in one of the ways of which a node has the choice. */
for (const [name, end] of Object.entries({
  FIN: (socket: Socket) => socket.end(),
  reset: (socket: Socket) => socket.resetAndDestroy(),
}))
  for (const parallel of [1, 6])
    t.test(`a node that answers one request of each connection, then ${name}: ${parallel} at once`, async (t) => {
      const used = new WeakSet<Socket>()
      let lost = 0
      const node = await fakeNode(t, (request, response) => {
        if (!used.has(request.socket)) {
          used.add(request.socket)
          return envelope(request, response)
        }
        lost += 1
        end(request.socket)
      })
      const cluster = clusterOf(t, node.url)
      for (let i = 0; i < 60; i += parallel) {
        const results = await Promise.all(Array.from({ length: parallel }, (_, k) => cluster.call(get(`/${i + k}`))))
        for (const result of results) t.match(result, { ok: true })
      }
      t.ok(lost > 0 && lost <= 10 + 60 * 0.1, `${lost} requests were sent again`)
    })

t.test('retries are at most a tenth of the calls', async (t) => {
  const { cluster, proxy } = await behindProxy(t, { kind: 'reset' })
  for (let i = 0; i < 150; i += 1) await cluster.call(get())
  t.ok(proxy.accepted() <= 150 * 1.1 + 11, `${proxy.accepted()} connections for 150 calls`)
  t.ok(proxy.accepted() > 150)
})
