/** The concurrency limit and the queue of one node, with real calls. */
import type { ServerResponse } from 'node:http'
import type { Test } from 'tap'
import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { type ClusterTestOptions, clusterOf, envelope, fakeNode, get } from './fake-node.ts'
import { holdUntilReleased } from './forwarding.ts'

/** A node that responds on demand and counts its concurrent calls. */
async function slowNode(t: Test, options: ClusterTestOptions = {}) {
  const waiting: ServerResponse[] = []
  let max = 0
  const node = await fakeNode(t, (_, response) => {
    waiting.push(response)
    response.on('close', () => waiting.includes(response) && waiting.splice(waiting.indexOf(response), 1))
    max = Math.max(max, waiting.length)
  })
  const cluster = clusterOf(t, node.url, options)
  const respond = () => {
    const response = waiting.shift()
    if (response) envelope(response.req, response)
  }
  const refuse = (status: number) => {
    waiting.shift()?.writeHead(status, { 'content-type': 'application/json' }).end('{"error":1000,"message":"no"}')
  }
  const state = () => cluster.status()[0]
  return { node, cluster, waiting, respond, refuse, max: () => max, state }
}

t.test('calls beyond the limit are queued in order of arrival', async (t) => {
  const { node, cluster, waiting, respond, max, state } = await slowNode(t)
  t.equal(cluster.view.freeSlots('master'), 4)
  t.equal(cluster.view.freeSlots('unknown'), 0)
  const calls = Array.from({ length: 20 }, (_, i) => cluster.call(get(`/${i}`)))
  await eventually(() => waiting.length === 4)
  t.match(state(), { inFlight: 4, limit: 4, queue: 16 })
  t.equal(cluster.view.freeSlots('master'), 0)
  for (let done = 0; done < 20; done += 1) {
    await eventually(() => waiting.length > 0)
    respond()
  }
  for (const result of await Promise.all(calls)) t.ok(result.ok)
  t.equal(max(), 4)
  t.same(
    node.seen.map(({ url }) => Number(url?.slice(1))).sort((a, b) => a - b),
    Array.from({ length: 20 }, (_, i) => i),
  )
  const late = node.seen.slice(4).map(({ url }) => Number(url?.slice(1)))
  t.same(
    late,
    late.toSorted((a, b) => a - b),
  )
})

t.test('calls beyond the queue are rejected immediately, with Retry-After', async (t) => {
  const { cluster, waiting, respond } = await slowNode(t, { limits: { inFlight: 1, queue: 2 } })
  const held = [1, 2, 3].map(() => cluster.call(get()))
  await eventually(() => waiting.length === 1)
  t.notOk(cluster.view.isAvailable('master'))
  const result = await cluster.call(get())
  t.match(result, { ok: false, fault: 'overloaded', sent: false, reason: 'queueFull' })
  t.ok(!result.ok && Number.isInteger(result.retryAfter) && (result.retryAfter ?? 0) >= 1)
  for (let done = 0; done < 3; done += 1) {
    await eventually(() => waiting.length > 0)
    respond()
  }
  for (const { ok } of await Promise.all(held)) t.ok(ok)
  t.ok(cluster.view.isAvailable('master'))
})

t.test('a call that would wait beyond its deadline is rejected immediately', async (t) => {
  let now = 0
  const { cluster, waiting, respond } = await slowNode(t, { limits: { inFlight: 1 }, clock: () => now })
  const first = cluster.call(get('/', { timeout: 60_000 }))
  await eventually(() => waiting.length === 1)
  now += 2_000
  respond()
  await first
  const held = cluster.call(get('/', { timeout: 60_000 }))
  const long = cluster.call(get('/', { timeout: 10_000 }))
  const short = await cluster.call(get('/', { timeout: 3_000 }))
  t.match(short, { ok: false, fault: 'overloaded', sent: false, reason: 'waitTooLong', retryAfter: 4 })
  for (const call of [held, long]) {
    await eventually(() => waiting.length === 1)
    respond()
    t.match(await call, { ok: true })
  }
})

t.test('a queued call ends at its deadline, and when its client disconnects', async (t) => {
  const { node, cluster, waiting, respond, state } = await slowNode(t, { limits: { inFlight: 1 } })
  const held = cluster.call(get())
  await eventually(() => waiting.length === 1)
  const client = new AbortController()
  const late = cluster.call(get('/late', { timeout: 50 }))
  const left = cluster.call(get('/left', { signal: client.signal }))
  const next = cluster.call(get('/next'))
  t.equal(state()?.queue, 3)
  client.abort()
  t.match(await left, { ok: false, fault: 'abandoned', sent: false })
  t.match(await late, { ok: false, fault: 'overloaded', sent: false, reason: 'queueTimedOut' })
  t.equal(state()?.queue, 1)
  respond()
  await held
  await eventually(() => waiting.length === 1)
  respond()
  t.match(await next, { ok: true })
  t.same(
    node.seen.map(({ url }) => url),
    ['/agents', '/next'],
  )
})

t.test('timeouts lower the limit once per round; answers raise it again', async (t) => {
  let frozen = true
  const node = await fakeNode(t, (request, response) => {
    if (!frozen) envelope(request, response)
  })
  const cluster = clusterOf(t, node.url, { ejection: { failures: 1000 } })
  const limit = () => cluster.status()[0]?.limit
  const round = async (count: number) => {
    await Promise.all(Array.from({ length: count }, () => cluster.call(get('/', { timeout: 60 }))))
    await eventually(() => cluster.status()[0]?.inFlight === 0)
  }
  await round(4)
  t.equal(limit(), 2, '0.7 of four calls')
  await round(2)
  t.equal(limit(), 1)
  await round(1)
  t.equal(limit(), 1, 'never below 1')
  frozen = false
  for (let i = 0; i < 20; i += 1) t.match(await cluster.call(get()), { ok: true })
  t.equal(limit(), 2, 'after two cuts, 16 answers raise it by one')
})

t.test('a call without timeout is not aborted', async (t) => {
  const { cluster, waiting, respond } = await slowNode(t)
  const { timeout, ...unlimited } = get()
  const call = cluster.call(unlimited)
  await eventually(() => waiting.length === 1)
  await new Promise((done) => setTimeout(done, 50))
  respond()
  t.match(await call, { ok: true })
  t.equal(timeout, 20_000, 'other calls of this test have one')
})

t.test('a node that refuses calls with 429 or 503 gets one less', async (t) => {
  for (const status of [429, 503, 500]) {
    const { cluster, waiting, respond, refuse, state } = await slowNode(t)
    const calls = [cluster.call(get()), cluster.call(get())]
    await eventually(() => waiting.length === 2)
    refuse(status)
    t.match(await Promise.race(calls), { ok: true, response: { status } })
    t.equal(state()?.limit, status === 500 ? 4 : 3, `${status}`)
    respond()
    await Promise.all(calls)
  }
})

t.test('a node is saturated while another call would take the last free slot of several, or be queued', async (t) => {
  const { respond, release } = holdUntilReleased(envelope)
  const { url } = await fakeNode(t, respond)
  const calls: Promise<unknown>[] = []
  const saturatedAt = (inFlight: number) => {
    const cluster = clusterOf(t, url, { limits: { inFlight } })
    const isSaturated = () => cluster.view.isSaturated(cluster.view.master().name)
    return Array.from({ length: 4 }, () => {
      const before = isSaturated()
      calls.push(cluster.call(get('/agents')))
      return before
    })
  }
  t.same(saturatedAt(4), [false, false, false, true])
  t.same(saturatedAt(2), [false, true, true, true])
  t.same(saturatedAt(1), [false, true, true, true])
  release()
  await Promise.all(calls)
})
