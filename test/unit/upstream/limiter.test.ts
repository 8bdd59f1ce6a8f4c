/** A node never has more calls on it than it bears; those who wait do so within bounds. */
import type { ServerResponse } from 'node:http'
import type { Test } from 'tap'
import t from 'tap'
import type { ClusterOptions } from '../../../src/upstream/index.ts'
import { clusterOf, envelope, fakeNode, get, until } from './fake-node.ts'

/** A node that answers when it is told to, and knows how many calls were on it at once. */
async function slowNode(t: Test, options: Partial<ClusterOptions> = {}) {
  const waiting: ServerResponse[] = []
  let most = 0
  const node = await fakeNode(t, (_, response) => {
    waiting.push(response)
    response.on('close', () => waiting.includes(response) && waiting.splice(waiting.indexOf(response), 1))
    most = Math.max(most, waiting.length)
  })
  const cluster = clusterOf(t, node.url, options)
  const answer = () => {
    const response = waiting.shift()
    if (response) envelope(response.req, response)
  }
  const state = () => cluster.status()[0]
  return { node, cluster, waiting, answer, most: () => most, state }
}

t.test('at most so many at once, the others in order of arrival', async (t) => {
  const { node, cluster, waiting, answer, most, state } = await slowNode(t)
  t.equal(cluster.view.freeSlots('master'), 4)
  t.equal(cluster.view.freeSlots('nobody'), 0)
  const calls = Array.from({ length: 20 }, (_, i) => cluster.call(get(`/${i}`)))
  await until(() => waiting.length === 4)
  t.match(state(), { inFlight: 4, limit: 4, queue: 16 })
  t.equal(cluster.view.freeSlots('master'), 0)
  for (let done = 0; done < 20; done += 1) {
    await until(() => waiting.length > 0)
    answer()
  }
  for (const result of await Promise.all(calls)) t.ok(result.ok)
  t.equal(most(), 4)
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

t.test('beyond the line: refused at once, with the time to come again', async (t) => {
  const { cluster, waiting, answer } = await slowNode(t, { limits: { inFlight: 1, queue: 2 } })
  const held = [1, 2, 3].map(() => cluster.call(get()))
  await until(() => waiting.length === 1)
  t.notOk(cluster.view.isAvailable('master'))
  const result = await cluster.call(get())
  t.match(result, { ok: false, fault: 'overloaded', sent: false, detail: 'queue full' })
  t.ok(!result.ok && Number.isInteger(result.retryAfter) && (result.retryAfter ?? 0) >= 1)
  for (let done = 0; done < 3; done += 1) {
    await until(() => waiting.length > 0)
    answer()
  }
  for (const one of await Promise.all(held)) t.ok(one.ok)
  t.ok(cluster.view.isAvailable('master'))
})

t.test('who would wait beyond its deadline is refused early', async (t) => {
  let now = 0
  const { cluster, waiting, answer } = await slowNode(t, { limits: { inFlight: 1 }, clock: () => now })
  const first = cluster.call(get('/', { timeout: 60_000 }))
  await until(() => waiting.length === 1)
  now += 2_000
  answer()
  await first
  const held = cluster.call(get('/', { timeout: 60_000 }))
  const patient = cluster.call(get('/', { timeout: 10_000 }))
  const hasty = await cluster.call(get('/', { timeout: 3_000 }))
  t.match(hasty, { ok: false, fault: 'overloaded', sent: false, detail: /longer than the time/, retryAfter: 4 })
  for (const call of [held, patient]) {
    await until(() => waiting.length === 1)
    answer()
    t.match(await call, { ok: true })
  }
})

t.test('a deadline that passes in the line, and a client that leaves it', async (t) => {
  const { node, cluster, waiting, answer, state } = await slowNode(t, { limits: { inFlight: 1 } })
  const held = cluster.call(get())
  await until(() => waiting.length === 1)
  const client = new AbortController()
  const late = cluster.call(get('/late', { timeout: 50 }))
  const left = cluster.call(get('/left', { signal: client.signal }))
  const next = cluster.call(get('/next'))
  t.equal(state()?.queue, 3)
  client.abort()
  t.match(await left, { ok: false, fault: 'cancelled', sent: false })
  t.match(await late, { ok: false, fault: 'overloaded', sent: false, detail: /before the deadline/ })
  t.equal(state()?.queue, 1)
  answer()
  await held
  await until(() => waiting.length === 1)
  answer()
  t.match(await next, { ok: true })
  t.same(
    node.seen.map(({ url }) => url),
    ['/agents', '/next'],
  )
})

t.test('time-outs halve the limit, once a round; answers raise it again', async (t) => {
  let frozen = true
  const node = await fakeNode(t, (request, response) => {
    if (!frozen) envelope(request, response)
  })
  const cluster = clusterOf(t, node.url, { ejection: { failures: 1000 } })
  const limit = () => cluster.status()[0]?.limit
  const round = (count: number) =>
    Promise.all(Array.from({ length: count }, () => cluster.call(get('/', { timeout: 60 }))))
  await round(4)
  t.equal(limit(), 2)
  await round(2)
  t.equal(limit(), 1)
  await round(1)
  t.equal(limit(), 1, 'never none')
  frozen = false
  for (let i = 0; i < 12; i += 1) t.match(await cluster.call(get()), { ok: true })
  t.equal(limit(), 4)
})

t.test('a call without a time limit is not cut', async (t) => {
  const { cluster, waiting, answer } = await slowNode(t)
  const { timeout, ...unlimited } = get()
  const call = cluster.call(unlimited)
  await until(() => waiting.length === 1)
  await new Promise((done) => setTimeout(done, 100))
  answer()
  t.match(await call, { ok: true })
  t.equal(timeout, 5_000)
})
