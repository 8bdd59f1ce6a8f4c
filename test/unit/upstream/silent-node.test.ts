/** A node that answers nothing is told from a node whose calls are late, and is called again when it answers. */
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { type Fault, startFaultProxy } from '../../faults/proxy.ts'
import { eventually } from '../../support/eventually.ts'
import { edgeRequest } from './edge-request.ts'
import { type ClusterTestOptions, clusterOf, envelope, fakeNode, get, put } from './fake-node.ts'
import { handlerOf } from './forwarding.ts'

const silence = { minWait: 200, maxWait: 400, probeTimeout: 300, probes: 2, pause: 20 }

/** A master that leaves calls of these paths without a response, behind a fault proxy. */
async function start(t: Test, isLate: (url: string) => boolean = () => false, options: ClusterTestOptions = {}) {
  const node = await fakeNode(t, (request, response) => {
    if (!isLate(request.url ?? '')) envelope(request, response)
  })
  const proxy = await startFaultProxy(node.port)
  t.teardown(() => proxy.close())
  const logged: string[] = []
  const called: string[] = []
  const cluster = clusterOf(t, `http://127.0.0.1:${proxy.port}`, {
    ejection: { silence },
    log: (_, message, fields) => logged.push([message, fields.detail].join(' ').trim()),
    onCall: ({ requestId }) => called.push(requestId),
    limits: { inFlight: 16 },
    ...options,
  })
  const probes = () => node.seen.filter(({ url }) => url === '/').length
  return { ...cluster, node, probes, set: (fault: Fault) => proxy.set(fault), logged, called }
}

t.test('reads end when the node is found silent, a write at its deadline, and later calls fail at once', async (t) => {
  const { call, set, view, logged, called, status } = await start(t)
  t.match(await call(get()), { ok: true })
  await set({ kind: 'stall' })
  const write = call(put('/a', { timeout: 3_000 }))
  const read = await call(get('/b', { timeout: 60_000 }))
  t.match(read, { ok: false, fault: 'timeout', sent: true })
  t.match(await call(get('/c')), { ok: false, fault: 'ejected', sent: false, lastFault: 'timeout' })
  t.ok(view.isSilent('master'))
  t.match(status()[0], { ejectedFor: Number, lastFailure: { fault: 'timeout', detail: /calls and probes/ } })
  const began = performance.now()
  t.match(await write, { ok: false, fault: 'timeout', sent: true })
  t.ok(performance.now() - began > 500, 'the write was not ended with the reads')
  // A late answer to the write would end the ejection too.
  await eventually(() => status()[0]?.inFlight === 0)
  await set({ kind: 'pass' })
  // The answered probe shows nothing about the credentials: a call is sent that does.
  await eventually(() => called.includes('credentials'))
  t.match(await call(get('/d')), { ok: true })
  t.same(logged, ['node ejected no response to calls and probes', 'node answers again'])
})

t.test('a refusal with a status is a response: the node is not silent', async (t) => {
  let now = 0
  const minWait = 200
  const probedAt: number[] = []
  const node = await fakeNode(t, (request, response) => {
    if (request.url === '/') probedAt.push(now)
    if (request.url === '/refused') response.writeHead(429, { 'content-type': 'application/problem+json' }).end('{}')
    else if (request.url !== '/late') envelope(request, response)
  })
  const ejection = { silence: { ...silence, minWait } }
  const { call } = clusterOf(t, node.url, {
    layout: 'v4',
    credentials: { mode: 'passthrough' },
    limits: { perMinute: 0 },
    ejection,
    clock: () => now,
  })
  const client = new AbortController()
  const late = call(get('/late', { signal: client.signal }))
  await eventually(() => node.seen.length === 1)
  now = minWait - 10
  t.match(await call(get('/refused')), { ok: false, fault: 'overloaded', status: 429 })
  now = minWait + 10
  await sleep(2 * minWait)
  now = 10 * minWait
  await eventually(() => probedAt.length > 0)
  t.equal(probedAt[0], now, 'the time since the refusal counts, not the time since the late call')
  client.abort()
  await late
})

t.test('the response to a call in flight ends the ejection too', async (t) => {
  const { call, set, view } = await start(t)
  await set({ kind: 'stall' })
  const write = call(put('/a', { timeout: 60_000 }))
  await eventually(() => view.isSilent('master') === true)
  await set({ kind: 'pass' })
  t.match(await write, { ok: true })
  await eventually(() => view.isAvailable('master'))
})

t.test('a node that answers probes is not ejected for late calls that another node may have delayed', async (t) => {
  const { call, view, probes, logged } = await start(t, (url) => url.startsWith('/late'))
  const late = (at: number) => get(`/late/${at}`, { timeout: 500, mayBePassedOn: true })
  const results = await Promise.all(Array.from({ length: 12 }, (_, at) => call(late(at))))
  for (const result of results) t.match(result, { fault: 'timeout' })
  t.ok(probes() > 0, 'it was probed')
  t.ok(view.isAvailable('master'))
  t.same(logged, [])
})

t.test('a node without calls in flight, or with quick ones, is not probed', async (t) => {
  const { call, probes } = await start(t)
  for (let at = 0; at < 20; at += 1) {
    await call(get(`/${at + 1}`))
    await new Promise((resolve) => setTimeout(resolve, silence.minWait / 10))
  }
  t.equal(probes(), 0)
})

t.test('requests that a worker passes on to a silent master do not eject the worker', async (t) => {
  const never = await fakeNode(t, () => undefined)
  const worker = await fakeNode(t, (request, response) => {
    if (request.url === '/') envelope(request, response)
  })
  const nodes = [
    { name: 'boss', type: 'master', url: never.url },
    { name: 'w1', type: 'worker', url: worker.url },
  ] as const
  const cluster = clusterOf(t, '', { nodes, ejection: { silence } })
  const { view } = cluster
  const handler = handlerOf(cluster, () => ({ timeout: 2_000, slowTimeout: 2_000 }))
  const agent = (id: number) => edgeRequest('GET', '/agents/:agent_id', { params: { agent_id: `00${id}` } })
  const failures = await Promise.all(
    [1, 2, 3, 4, 5, 6, 7].map((id) => Promise.resolve(handler(agent(id))).catch(() => id)),
  )
  t.equal(failures.length, 7)
  t.ok(view.isSilent('boss'))
  t.ok(view.isAvailable('w1'))
})
