/** A node that fails again and again is left alone, and let in again by one call that succeeds. */
import type { RequestListener } from 'node:http'
import type { Test } from 'tap'
import t from 'tap'
import { faultProxy } from '../../faults/proxy.ts'
import { clusterOf, envelope, fakeNode, get, put, until } from './fake-node.ts'

async function cluster(t: Test, answer?: RequestListener) {
  let now = 0
  const node = await fakeNode(t, answer)
  const proxy = await faultProxy(node.port)
  t.teardown(() => proxy.close())
  const log: string[] = []
  const one = clusterOf(t, `http://127.0.0.1:${proxy.port}`, {
    clock: () => now,
    log: (_, message) => log.push(message),
    limits: { inFlight: 8 },
  })
  const wait = (ms: number) => {
    now += ms
  }
  return { node, proxy, log, wait, call: one.call, available: () => one.view.isAvailable('master'), status: one.status }
}

t.test('two refusals eject; one success readmits', async (t) => {
  const { node, proxy, log, wait, call, available, status } = await cluster(t)
  await proxy.set({ kind: 'refuse' })
  t.match(await call(put()), { fault: 'unreachable' })
  t.ok(available())
  t.match(await call(get()), { fault: 'unreachable' })
  t.notOk(available())
  t.match(await call(get()), { ok: false, fault: 'ejected', sent: false, retryAfter: 1 })
  t.match(await call(put()), { ok: false, fault: 'ejected', sent: false })
  t.ok((status()[0]?.ejectedUntil ?? 0) > 0)
  t.match(status()[0]?.lastFailure, { fault: 'unreachable', detail: 'connection refused' })
  await proxy.set({ kind: 'pass' })
  t.match(await call(get()), { fault: 'ejected' }, 'not before its time')
  wait(1_000)
  t.ok(available())
  t.match(await call(get()), { ok: true })
  t.match(await call(get()), { ok: true })
  t.equal(node.seen.length, 2)
  t.same(log, ['node ejected', 'node answers again'])
})

t.test('five failures of any kind in a row eject, fewer do not', async (t) => {
  let bad = true
  const { node, call, available } = await cluster(t, (request, response) => {
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

t.test('one endpoint that cannot be read leaves the others served, during an ejection too', async (t) => {
  const { proxy, wait, call, available } = await cluster(t, (request, response) => {
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
  t.match(await call(get('/broken')), { fault: 'unreadable' }, 'no verdict')
  t.match(await call(get()), { ok: true }, 'so the next call is the probe')
  t.ok(available())
})

t.test('the back-off grows to half a minute', async (t) => {
  const { proxy, wait, call, status } = await cluster(t)
  await proxy.set({ kind: 'refuse' })
  await call(get())
  await call(get())
  const waits: number[] = []
  for (let i = 0; i < 8; i += 1) {
    waits.push((status()[0]?.ejectedUntil ?? 0) - Date.now())
    wait(30_000)
    t.match(await call(get()), { fault: 'unreachable' }, 'one call finds out')
    t.match(await call(get()), { fault: 'ejected' }, 'and one only')
  }
  for (const [i, ms] of waits.entries()) {
    const most = Math.min(30_000, 1_000 * 2 ** i)
    t.ok(ms <= most && ms >= most * 0.74, `${i}: ${ms}`)
  }
})

t.test('one probe at a time; a probe whose client leaves is none', async (t) => {
  let hold = false
  const held: (() => void)[] = []
  const { node, proxy, wait, call } = await cluster(t, (request, response) => {
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
  const leaving = call(get('/', { signal: client.signal }))
  await until(() => held.length === 1)
  t.match(await call(get()), { fault: 'ejected' })
  client.abort()
  t.match(await leaving, { fault: 'cancelled' })
  const probe = call(get())
  await until(() => held.length === 2)
  t.match(await call(get()), { fault: 'ejected' })
  held[1]?.()
  t.match(await probe, { ok: true })
  hold = false
  t.match(await call(get()), { ok: true })
  t.equal(node.seen.length, 3)
})

t.test('those in line are sent elsewhere when the node is ejected', async (t) => {
  let now = 0
  const node = await fakeNode(t, () => undefined)
  const options = { limits: { inFlight: 1 }, ejection: { failures: 1 }, clock: () => now }
  const one = clusterOf(t, node.url, options)
  const first = one.call(get('/', { timeout: 100 }))
  const waiting = [one.call(get()), one.call(put())]
  await until(() => node.seen.length === 1)
  now += 100
  t.match(await first, { fault: 'timeout' })
  for (const result of await Promise.all(waiting)) t.match(result, { fault: 'ejected', sent: false })
  t.equal(node.seen.length, 1)
})

t.test('what the request is to blame for ejects nobody', async (t) => {
  const node = await fakeNode(t, (request, response) => {
    if (request.url === '/401') response.writeHead(401).end()
    else if (request.url === '/500') {
      const body = '{"error":3,"message":"x"}'
      response.writeHead(500, { 'content-type': 'application/json' }).end(body)
    } else response.writeHead(200, { 'content-type': 'application/json', 'content-length': 1e9 }).write(' ')
  })
  const one = clusterOf(t, node.url)
  for (let i = 0; i < 6; i += 1) {
    t.match(await one.call(get('/401')), { fault: 'refusedCredentials' })
    t.match(await one.call(get('/500')), { ok: true, response: { status: 500 } })
    t.match(await one.call(get('/large')), { fault: 'tooLarge' })
  }
  t.ok(one.view.isAvailable('master'))
})
