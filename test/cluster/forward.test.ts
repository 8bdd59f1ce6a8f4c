/** From an Ask to a node and back: what the node sees, what the client gets, and who else is asked. */
import type { RequestListener } from 'node:http'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import t from 'tap'
import type { ClusterOptions } from '../../src/cluster/index.ts'
import { EdgeError } from '../../src/errors.ts'
import { forward } from '../../src/pipeline/forward.ts'
import { createRouter } from '../../src/pipeline/route.ts'
import { type Fault, faultProxy } from '../faults/proxy.ts'
import { ask } from './asks.ts'
import { clusterOf, envelope, fakeNode, until } from './fake-node.ts'

/** A master and a worker, each behind a fault proxy. */
async function edge(t: Test, answer: RequestListener = envelope, options: Partial<ClusterOptions> = {}) {
  const started = async () => {
    const node = await fakeNode(t, answer)
    const proxy = await faultProxy(node.port)
    t.teardown(() => proxy.close())
    return { ...node, url: `http://127.0.0.1:${proxy.port}`, set: (fault: Fault) => proxy.set(fault) }
  }
  const [master, worker] = await Promise.all([started(), started()])
  const cluster = clusterOf(t, '', {
    nodes: [
      { name: 'boss', type: 'master', url: master.url },
      { name: 'w1', type: 'worker', url: worker.url },
    ],
    ...options,
  })
  const { call, view } = cluster
  const handle = forward({ call, view, route: createRouter('manager'), timeout: 400, slowTimeout: 1_500 })
  const urls = (node: typeof master) => node.seen.map(({ method, url }) => `${method} ${url}`)
  return { master, worker, handle, cluster, urls }
}

const restart = () => ask('PUT', '/agents/:agent_id/restart', { params: { agent_id: '001' } })

t.test('the request is written anew from its values', async (t) => {
  const bodies: string[] = []
  const { master, handle, urls } = await edge(t, (request, response) => {
    let body = ''
    request.on('data', (bytes) => {
      body += bytes
    })
    request.on('end', () => {
      bodies.push(`${request.headers['content-type']} ${body}`)
      envelope(request, response)
    })
  })
  const search = "a b/c?d&e=f#+%2F'(*)!ä"
  await handle(ask('GET', '/agents', { query: { search, sort: '+name', limit: '5', unknown: 'x' } }))
  await handle(ask('GET', '/agents/name/:agent_name', { params: { agent_name: 'a/b c..' } }))
  await handle(ask('POST', '/agents', { body: { kind: 'fields', fields: { name: 'x', ip: 'any' } } }))
  const bytes = Buffer.from('<a>\n</a>')
  const upload = { kind: 'upload', type: 'application/xml', bytes } as const
  await handle(ask('POST', '/manager/files', { query: { path: 'etc/rules/a.xml' }, body: upload }))
  t.same(urls(master), [
    'GET /agents?limit=5&sort=%2Bname&search=a%20b%2Fc%3Fd%26e%3Df%23%2B%252F%27%28%2A%29%21%C3%A4',
    'GET /agents/name/a%2Fb%20c..',
    'POST /agents',
    'POST /manager/files?path=etc%2Frules%2Fa.xml',
  ])
  t.same(bodies.slice(2), ['application/json {"name":"x","ip":"any"}', 'application/xml <a>\n</a>'])
  for (const odd of ['..', '.', '']) {
    await t.rejects(handle(ask('GET', '/agents/name/:agent_name', { params: { agent_name: odd } })), { code: 601 })
  }
  t.equal(master.seen.length, 4)
})

t.test('status and bytes pass unchanged; what is no envelope does not', async (t) => {
  const replies: Record<string, [number, string]> = {
    '/agents': [200, '{"error":1701,"message":"Agent does not exist"}'],
    '/rules': [400, '{"message":"x","error":604}'],
    '/decoders': [200, '{"error":0,"data":{"x":'],
    '/lists': [200, '<html>'],
  }
  const { handle } = await edge(t, (request, response) => {
    const [status, body] = replies[request.url ?? ''] ?? [500, '']
    response.writeHead(status, { 'content-type': 'application/json', 'set-cookie': 'a=b' }).end(body)
  })
  for (const path of ['/agents', '/rules']) {
    const [status = 0, body = ''] = replies[path] ?? []
    t.same(await handle(ask('GET', path)), { kind: 'json', status, bytes: Buffer.from(body) })
  }
  for (const path of ['/decoders', '/lists']) {
    await t.rejects(handle(ask('GET', path)), { code: 925, status: 502, message: /\(boss: not JSON\)/ })
  }
})

t.test('each fault has its code, and names the node', async (t) => {
  const long: RequestListener = (_, response) => {
    response.setHeader('content-type', 'application/json').end(`{"error":0,"data":"${'x'.repeat(1_000)}"}`)
  }
  const { master, worker, handle } = await edge(t, long, { ejection: { failures: 100, refusals: 100 } })
  await worker.set({ kind: 'refuse' })
  const cases: [Fault, number, number][] = [
    [{ kind: 'refuse' }, 924, 924],
    [{ kind: 'reset' }, 924, 928],
    [{ kind: 'stall' }, 922, 923],
    [{ kind: 'cut', after: 400 }, 925, 925],
  ]
  for (const [fault, read, write] of cases) {
    await master.set(fault)
    await t.rejects(handle(ask('GET', '/agents')), { code: read, message: /\(boss: / }, `${fault.kind}, read`)
    await t.rejects(handle(restart()), { code: write, message: /\(boss: / }, `${fault.kind}, write`)
  }
  t.equal(worker.seen.length, 0)
})

t.test('ejected and overloaded say when to come again', async (t) => {
  const { master, worker, handle, cluster } = await edge(t, () => undefined, { limits: { inFlight: 1, queue: 1 } })
  await worker.set({ kind: 'refuse' })
  const held = [1, 2].map(() => handle(restart()).catch((error: unknown) => error))
  await until(() => master.seen.length === 1)
  const retry = { headers: { 'retry-after': /^[0-9]+$/ } }
  await t.rejects(handle(restart()), { code: 921, status: 503, message: /\(boss: queue full\)/, ...retry })
  await Promise.all(held)
  await master.set({ kind: 'refuse' })
  while (cluster.view.available('boss')) await handle(restart()).catch(() => undefined)
  const spent: number[] = []
  for (let i = 0; i < 3; i += 1) {
    const began = performance.now()
    await t.rejects(handle(restart()), { code: 920, status: 503, message: /\(boss: /, ...retry })
    spent.push(performance.now() - began)
  }
  t.ok(Math.min(...spent) < 50)
})

t.test('a password that is refused: the edge has a wrong one, or the caller has', async (t) => {
  const refuse: RequestListener = (_, response) => response.writeHead(401).end()
  const service = await edge(t, refuse)
  await t.rejects(service.handle(ask('GET', '/agents')), { code: 927, status: 502, message: /boss/ })
  const through = await edge(t, refuse, { credentials: { mode: 'passthrough' } })
  const caller = { name: 'ann', permissions: [], credentials: { username: 'ann', password: 'x' } }
  await t.rejects(through.handle(ask('GET', '/agents', { caller })), { code: 901, status: 401 })
})

t.test('the master away: requests go in through a worker', async (t) => {
  const { master, worker, handle, urls, cluster } = await edge(t)
  await master.set({ kind: 'refuse' })
  t.match(await handle(ask('GET', '/agents')), { status: 200 })
  t.match(await handle(restart()), { status: 200 }, 'nothing of the write was sent')
  t.notOk(cluster.view.available('boss'))
  t.match(await handle(ask('GET', '/manager/info')), { status: 200 })
  t.match(await handle(ask('GET', '/rules')), { status: 200 })
  t.match(await handle(ask('GET', '/experimental/syscollector/os')), { status: 200 })
  await t.rejects(handle(ask('GET', '/cluster/config')), { code: 920 }, 'a worker would speak of itself')
  await t.rejects(handle(ask('GET', '/cluster/:node_id/info', { params: { node_id: 'boss' } })), { code: 920 })
  t.same(urls(worker), [
    'GET /agents',
    'PUT /agents/001/restart',
    'GET /cluster/boss/info',
    'GET /rules',
    'GET /experimental/syscollector/os',
  ])
})

t.test('a write that may have been seen goes nowhere else; a read may', async (t) => {
  const { master, worker, handle, urls } = await edge(t)
  await master.set({ kind: 'reset' })
  await t.rejects(handle(restart()), { code: 928 })
  t.equal(worker.seen.length, 0)
  t.match(await handle(ask('GET', '/agents')), { status: 200 })
  await master.set({ kind: 'stall' })
  await t.rejects(handle(restart()), { code: 923 })
  await t.rejects(handle(ask('GET', '/agents')), { code: 922 }, 'its time is up')
  t.same(urls(worker), ['GET /agents'])
})

t.test('an unknown node opens no connection', async (t) => {
  const { master, worker, handle } = await edge(t)
  for (const node_id of ['169.254.169.254', 'localhost:6379', '__proto__', 'constructor', 'w9']) {
    await t.rejects(handle(ask('GET', '/cluster/:node_id/status', { params: { node_id } })), { code: 3022 })
  }
  t.equal(master.connections() + worker.connections(), 0)
})

t.test('deadlines: longer for what is slow, none with wait_for_complete, one such call for each caller', async (t) => {
  const { master, handle, urls } = await edge(t, (request, response) => {
    setTimeout(() => envelope(request, response), 700)
  })
  await t.rejects(handle(ask('GET', '/agents')), { code: 922 })
  t.match(await handle(ask('GET', '/manager/configuration/validation')), { status: 200 })
  const patient = { waitForComplete: true }
  const first = handle(ask('GET', '/agents', { ...patient, query: { limit: '1' } }))
  await until(() => master.seen.length === 3)
  await t.rejects(handle(ask('GET', '/agents', patient)), { code: 903, status: 429, headers: { 'retry-after': /./ } })
  t.match(await handle(ask('GET', '/agents', { ...patient, caller: { name: 'bob', permissions: [] } })), {
    status: 200,
  })
  t.match(await first, { status: 200 })
  t.match(await handle(ask('GET', '/agents', patient)), { status: 200 })
  t.same(urls(master).slice(2), [
    'GET /agents?limit=1&wait_for_complete',
    'GET /agents?wait_for_complete',
    'GET /agents?wait_for_complete',
  ])
})

t.test('a client that leaves cancels the call', async (t) => {
  let closed = 0
  const { master, worker, handle } = await edge(t, (_, response) => {
    response.on('close', () => {
      closed += 1
    })
  })
  const client = new AbortController()
  const answer = handle(ask('GET', '/agents', { signal: client.signal }))
  await until(() => master.seen.length === 1)
  client.abort()
  await t.rejects(answer, { name: 'AbortError' })
  await until(() => closed === 1)
  t.equal(worker.seen.length, 0)
})

t.test('a raw download is a stream; its absence an envelope', async (t) => {
  const { handle } = await edge(t, (request, response) => {
    if (request.url?.includes('nope')) {
      const body = '{"error":700,"message":"File does not exist"}'
      response.writeHead(404, { 'content-type': 'application/json' }).end(body)
    } else response.writeHead(200, { 'content-type': 'text/xml', 'content-length': 4 }).end('<a/>')
  })
  const found = await handle(ask('GET', '/rules/files', { query: { download: 'a.xml' } }))
  t.match(found, { kind: 'raw', status: 200, type: 'text/xml', length: 4 })
  t.equal(found.kind === 'raw' && (await text(found.stream)), '<a/>')
  t.match(await handle(ask('GET', '/rules/files', { query: { download: 'nope' } })), { kind: 'json', status: 404 })
  const unasked = await handle(ask('GET', '/rules/files')).catch((error: unknown) => error)
  t.ok(unasked instanceof EdgeError && unasked.code === 925)
})
