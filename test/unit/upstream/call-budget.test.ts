/** The limit of calls per minute of a node (`cluster.limits.perMinute`), with real calls. */
import type { RequestListener } from 'node:http'
import t from 'tap'
import type { NodeResult } from '../../../src/core/node-call.ts'
import { eventually } from '../../support/eventually.ts'
import { clusterOf, envelope, fakeNode, get, put } from './fake-node.ts'
import { withLogin } from './v4-node.ts'

/** How a node of the v4 layout refuses a call beyond its limit. */
const refuse: RequestListener = (_, response) => {
  const body = '{"title": "Maximum number of requests per minute reached", "detail": "", "error": 6001}\n'
  response.writeHead(429, { 'content-type': 'application/problem+json', 'content-length': body.length })
  response.end(body)
}

function countOf(results: readonly NodeResult[], fault?: string): number {
  return results.filter((result) => (result.ok ? undefined : result.fault) === fault).length
}

t.test('reads beyond a burst that would wait beyond their deadline are rejected at once', async (t) => {
  const node = await fakeNode(t)
  const cluster = clusterOf(t, node.url, { limits: { perMinute: 30, inFlight: 8 } })
  const results = await Promise.all(Array.from({ length: 40 }, () => cluster.call(get('/agents', { timeout: 3_000 }))))
  t.equal(node.seen.length, 10, 'a third of the limit')
  t.equal(countOf(results), 10)
  t.equal(countOf(results, 'overloaded'), 30)
  const rejected = results.find(({ ok }) => !ok)
  t.match(rejected, { sent: false, reason: 'callLimit', about: 30, retryAfter: /^[1-9]\d?$/ })
  t.match(cluster.status(), [{ budget: { used: 10, limit: 30 }, queue: 0 }])
  t.equal(cluster.view.freeSlots('master'), 0, 'no idle capacity for background work')
})

t.test(
  'a write and a call of the edge itself are sent although reads have used up their part, a status is not',
  async (t) => {
    const node = await fakeNode(t)
    const cluster = clusterOf(t, node.url, { limits: { perMinute: 30 } })
    await Promise.all(Array.from({ length: 40 }, () => cluster.call(get('/agents', { timeout: 2_000 }))))
    t.ok((await cluster.call(put('/a', { priority: 'write' }))).ok)
    t.ok((await cluster.call(get('/b', { priority: 'own' }))).ok)
    const status = await cluster.call(get('/cluster/status', { priority: 'health', timeout: 2_000 }))
    t.match(status, { ok: false, fault: 'overloaded' }, 'clients may ask for a status as often as they like')
  },
)

t.test('queued reads are sent in turn as soon as the window has room', async (t) => {
  const node = await fakeNode(t)
  const cluster = clusterOf(t, node.url, { limits: { perMinute: 600, inFlight: 8 } })
  const results = await Promise.all(
    Array.from({ length: 205 }, () => cluster.call(get('/agents', { timeout: 60_000 }))),
  )
  t.equal(countOf(results), 205)
  t.equal(node.seen.length, 205)
})

t.test('a refused call closes the window: nothing more is sent, and nothing is repeated', async (t) => {
  const node = await fakeNode(t, withLogin(refuse))
  const cluster = clusterOf(t, node.url, { layout: 'v4' })
  const first = await cluster.call(get('/agents'))
  t.match(first, { ok: false, fault: 'overloaded', sent: false, reason: 'tooManyRequests' })
  t.ok(!first.ok && (first.retryAfter ?? 0) > 50 && (first.retryAfter ?? 0) <= 60)
  const later = await Promise.all(Array.from({ length: 50 }, () => cluster.call(get('/agents'))))
  t.equal(countOf(later, 'overloaded'), 50)
  t.match(await cluster.call(put()), { ok: false, fault: 'overloaded', sent: false })
  t.equal(node.seen.length, 2, 'a login and one call')
  t.ok(cluster.view.isAvailable('master'), 'the node is not ejected for it')
})

t.test('a refused call is followed by a trial, and an answer opens the window', async (t) => {
  let now = 0
  let isRefusing = true
  const node = await fakeNode(
    t,
    withLogin((request, response) => (isRefusing ? refuse : envelope)(request, response)),
  )
  const cluster = clusterOf(t, node.url, { layout: 'v4', clock: () => now })
  await cluster.call(get())
  now += 10_001
  t.match(await cluster.call(get()), { ok: false, fault: 'overloaded' }, 'the trial is refused')
  now += 5_000
  t.match(await cluster.call(get()), { ok: false, fault: 'overloaded' })
  t.equal(node.seen.length, 3, 'a login and two calls')
  isRefusing = false
  now += 5_001
  t.ok((await cluster.call(get())).ok)
  t.ok((await cluster.call(get('/agents', { priority: 'health' }))).ok)
  t.equal(node.seen.length, 5)
})

t.test('a refused call is one of its node in the events, with its status', async (t) => {
  const events: unknown[] = []
  const node = await fakeNode(t, withLogin(refuse))
  const cluster = clusterOf(t, node.url, { layout: 'v4', onCall: (call) => events.push(call) })
  await cluster.call(get())
  t.match(events.at(-1), { node: 'master', status: 429, fault: undefined })
})

t.test('a login counts', async (t) => {
  const node = await fakeNode(t, withLogin(envelope))
  const cluster = clusterOf(t, node.url, { layout: 'v4' })
  t.ok((await cluster.call(get())).ok)
  t.match(cluster.status(), [{ budget: { used: 2, limit: 300 } }])
})

t.test('a retry counts', async (t) => {
  let attempts = 0
  const node = await fakeNode(t, (request, response) => {
    attempts += 1
    if (attempts === 1) request.socket.destroy()
    else envelope(request, response)
  })
  const cluster = clusterOf(t, node.url, { limits: { perMinute: 30 } })
  t.ok((await cluster.call(get())).ok)
  t.match(cluster.status(), [{ budget: { used: 2 } }])
})

t.test('a retry that the limit does not permit is not sent: the first failure is returned', async (t) => {
  const node = await fakeNode(t, (request) => request.socket.destroy())
  const cluster = clusterOf(t, node.url, { limits: { perMinute: 1 } })
  t.match(await cluster.call(get()), { ok: false, fault: 'unreachable', sent: true })
  t.equal(node.seen.length, 1)
})

t.test('the v3 layout has no limit by default, the v4 one 300, and 0 means none', async (t) => {
  const node = await fakeNode(t)
  const budgets = [{}, { layout: 'v4' as const }, { layout: 'v4' as const, limits: { perMinute: 0 } }].map(
    (options) => clusterOf(t, node.url, options).status()[0]?.budget,
  )
  t.same(budgets, [undefined, { used: 0, limit: 300 }, undefined])
})

t.test('a reload that lifts the limit starts the queued calls', async (t) => {
  const node = await fakeNode(t)
  const changing = { perMinute: 30 }
  const cluster = clusterOf(t, node.url, { limits: changing })
  const calls = Array.from({ length: 12 }, () => cluster.call(get('/agents', { timeout: 60_000 })))
  await eventually(() => node.seen.length === 10)
  changing.perMinute = 0
  cluster.prepare({})()
  t.equal(countOf(await Promise.all(calls)), 12)
})

t.test('a queued call of a client that disconnects leaves the queue', async (t) => {
  const node = await fakeNode(t)
  const cluster = clusterOf(t, node.url, { limits: { perMinute: 30 } })
  await Promise.all(Array.from({ length: 10 }, () => cluster.call(get())))
  const client = new AbortController()
  const queued = cluster.call(get('/agents', { timeout: 60_000, signal: client.signal }))
  await eventually(() => cluster.status()[0]?.queue === 1)
  client.abort()
  t.match(await queued, { ok: false, fault: 'abandoned', sent: false })
  t.equal(node.seen.length, 10)
})
