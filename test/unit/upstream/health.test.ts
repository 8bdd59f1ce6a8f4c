/** Ejection of a failing node, and its end by a successful probe. */
import type { RequestListener } from 'node:http'
import type { Test } from 'tap'
import t from 'tap'
import { startFaultProxy } from '../../faults/proxy.ts'
import { eventually } from '../../support/eventually.ts'
import { clusterOf, envelope, fakeNode, get, put } from './fake-node.ts'

async function startCluster(t: Test, respond?: RequestListener) {
  let now = 0
  const node = await fakeNode(t, respond)
  const proxy = await startFaultProxy(node.port)
  t.teardown(() => proxy.close())
  const log: string[] = []
  const cluster = clusterOf(t, `http://127.0.0.1:${proxy.port}`, {
    clock: () => now,
    log: (_, message) => log.push(message),
    limits: { inFlight: 8 },
  })
  const wait = (ms: number) => {
    now += ms
  }
  return {
    node,
    proxy,
    log,
    wait,
    call: cluster.call,
    available: () => cluster.view.isAvailable('master'),
    status: cluster.status,
    outageFor: cluster.outageFor,
  }
}

t.test('two refused connections eject a node; one success ends the ejection', async (t) => {
  const { node, proxy, log, wait, call, available, status, outageFor } = await startCluster(t)
  await proxy.set({ kind: 'refuse' })
  t.match(await call(put()), { fault: 'unreachable' })
  t.ok(available())
  t.equal(outageFor(), undefined)
  t.match(await call(get()), { fault: 'unreachable' })
  t.notOk(available())
  t.match(await call(get()), { ok: false, fault: 'ejected', sent: false, retryAfter: 1 })
  t.match(await call(put()), { ok: false, fault: 'ejected', sent: false })
  t.ok((status()[0]?.ejectedFor ?? 0) > 0)
  t.equal(outageFor(), status()[0]?.ejectedFor)
  t.match(status()[0]?.lastFailure, { fault: 'unreachable', detail: 'connection refused' })
  await proxy.set({ kind: 'pass' })
  t.match(await call(get()), { fault: 'ejected' }, 'not before the ejection time has passed')
  wait(1_000)
  t.ok(available())
  t.match(await call(get()), { ok: true })
  t.match(await call(get()), { ok: true })
  t.equal(node.seen.length, 2)
  t.same(log, ['node ejected', 'node answers again'])
})

t.test('five consecutive failures of any kind eject a node', async (t) => {
  let bad = true
  const { node, call, available } = await startCluster(t, (request, response) => {
    if (bad) response.writeHead(502, { 'content-type': 'text/html' }).end('<h1>')
    else envelope(request, response)
  })
  for (let i = 0; i < 4; i += 1) t.match(await call(get(`/${i}`)), { fault: 'unreadable' })
  bad = false
  t.match(await call(get()), { ok: true })
  bad = true
  for (let i = 0; i < 4; i += 1) t.match(await call(get(`/${i}`)), { fault: 'unreadable' })
  t.ok(available())
  t.match(await call(get('/4')), { fault: 'unreadable' })
  t.notOk(available())
  t.match(await call(get('/5')), { fault: 'ejected' })
  t.equal(node.seen.length, 10)
})

t.test('unreadable responses of one endpoint do not eject the node, and decide no probe', async (t) => {
  const { proxy, wait, call, available } = await startCluster(t, (request, response) => {
    if (request.url === '/broken') response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>')
    else envelope(request, response)
  })
  for (let i = 0; i < 50; i += 1) t.match(await call(get('/broken')), { fault: 'unreadable' })
  t.ok(available())
  await proxy.set({ kind: 'refuse' })
  await call(get())
  await call(get())
  t.notOk(available())
  await proxy.set({ kind: 'pass' })
  wait(1_000)
  t.match(await call(get('/broken')), { fault: 'unreadable' }, 'no evidence about the node')
  t.match(await call(get()), { ok: true }, 'the next call is the probe')
  t.ok(available())
})

t.test('the ejection time doubles up to 6 s, so that the end of an outage is noticed', async (t) => {
  const { proxy, wait, call, status } = await startCluster(t)
  await proxy.set({ kind: 'refuse' })
  await call(get())
  await call(get())
  const times: number[] = []
  for (let i = 0; i < 8; i += 1) {
    times.push(status()[0]?.ejectedFor ?? 0)
    wait(30_000)
    t.match(await call(get()), { fault: 'unreachable' }, 'one call is the probe')
    t.match(await call(get()), { fault: 'ejected' }, 'further calls are rejected')
  }
  for (const [i, ms] of times.entries()) {
    const max = Math.min(6_000, 1_000 * 2 ** i)
    t.ok(ms <= max && ms >= max * 0.74, `${i}: ${ms}`)
  }
})

t.test('one probe at a time; a probe whose client disconnects decides nothing', async (t) => {
  let hold = false
  const held: (() => void)[] = []
  const { node, proxy, wait, call } = await startCluster(t, (request, response) => {
    if (hold) held.push(() => envelope(request, response))
    else envelope(request, response)
  })
  await proxy.set({ kind: 'refuse' })
  await call(get())
  await call(get())
  await proxy.set({ kind: 'pass' })
  wait(1_000)
  hold = true
  const client = new AbortController()
  const aborted = call(get('/', { signal: client.signal }))
  await eventually(() => held.length === 1)
  t.match(await call(get()), { fault: 'ejected' })
  client.abort()
  t.match(await aborted, { fault: 'cancelled' })
  const probe = call(get())
  await eventually(() => held.length === 2)
  t.match(await call(get()), { fault: 'ejected' })
  held[1]?.()
  t.match(await probe, { ok: true })
  hold = false
  t.match(await call(get()), { ok: true })
  t.equal(node.seen.length, 3)
})

t.test('queued calls are rejected when the node is ejected', async (t) => {
  let now = 0
  const node = await fakeNode(t, () => undefined)
  const options = { limits: { inFlight: 1 }, ejection: { failures: 1 }, clock: () => now }
  const cluster = clusterOf(t, node.url, options)
  const first = cluster.call(get('/', { timeout: 100 }))
  const waiting = [cluster.call(get()), cluster.call(put())]
  await eventually(() => node.seen.length === 1)
  now += 100
  t.match(await first, { fault: 'timeout' })
  for (const result of await Promise.all(waiting)) t.match(result, { fault: 'ejected', sent: false })
  t.equal(node.seen.length, 1)
})

t.test('faults caused by the request do not eject the node', async (t) => {
  const node = await fakeNode(t, (request, response) => {
    if (request.url === '/401') response.writeHead(401).end()
    else if (request.url === '/500') {
      const body = '{"error":3,"message":"x"}'
      response.writeHead(500, { 'content-type': 'application/json' }).end(body)
    } else response.writeHead(200, { 'content-type': 'application/json', 'content-length': 1e9 }).write(' ')
  })
  const cluster = clusterOf(t, node.url)
  for (let i = 0; i < 6; i += 1) {
    t.match(await cluster.call(get('/401')), { fault: 'refusedCredentials' })
    t.match(await cluster.call(get('/500')), { ok: true, response: { status: 500 } })
    t.match(await cluster.call(get('/large')), { fault: 'tooLarge' })
  }
  t.ok(cluster.view.isAvailable('master'))
})
