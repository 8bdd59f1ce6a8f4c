import t, { type Test } from 'tap'
import { eventually } from '../../../support/eventually.ts'
import { sendAndLeaveLater } from '../../../support/raw.ts'
import { KINDS, type Received, treeOf } from './collector.ts'
import { tracedEdge } from './traced-edge.ts'

const before = ['authenticate', 'authorise', 'validate']
const calling = (name: string) => ({ forward: ['route', 'queue', name] })

/** Client spans: the node, the status of its response, and the fault. */
function calls(spans: readonly Received[]) {
  return spans
    .filter(({ kind }) => kind === KINDS.client)
    .map(({ attributes, status }) => ({
      node: attributes['server.address'],
      ...(attributes['http.response.status_code'] !== undefined && {
        answered: attributes['http.response.status_code'],
      }),
      ...(attributes['error.type'] !== undefined && { error: attributes['error.type'] }),
      ...(attributes['http.request.resend_count'] !== undefined && { resend: attributes['http.request.resend_count'] }),
      status,
    }))
}

function named(t: Test, spans: readonly Received[], name: string): Received {
  const found = spans.find((span) => span.name === name)
  if (found === undefined) throw new Error(`no span ${name} among ${spans.map((span) => span.name).join(', ')}`)
  t.ok(found.end >= found.start, name)
  return found
}

t.test('one span for each stage', async (t) => {
  const { collector, ask, nodeHeaders, edge, simulator } = await tracedEdge(t, {
    settings: { cache: { ttl: { agents: '10m', rules: '10m', cluster: '10m' } } },
  })

  t.test('a miss, a hit and a HEAD have all stages, under the request id', async (t) => {
    const seen = nodeHeaders()
    const miss = await ask('/agents?limit=2')
    const spans = await collector.trace(miss.traceId)
    const stages = [...before, { cache: [calling('GET /agents')] }, 'respond']
    t.strictSame(treeOf(spans), { 'GET /agents': stages })
    const server = spans.find(({ kind }) => kind === KINDS.server)
    t.strictSame(server?.attributes, {
      'http.request.method': 'GET',
      'http.route': '/agents',
      'http.response.status_code': 200,
      'url.scheme': 'http',
      'network.protocol.version': '1.1',
      'edge.cache': 'miss',
      'edge.group': 'agents',
      'edge.request.id': miss.requestId,
    })
    t.equal(server?.status, 0)
    t.strictSame(named(t, spans, 'cache').attributes, {
      'http.route': '/agents',
      'edge.cache': 'miss',
      'edge.cache.stored': true,
    })
    const client = spans.find(({ kind }) => kind === KINDS.client)
    t.strictSame(client?.attributes, {
      'http.request.method': 'GET',
      'url.template': '/agents',
      'server.address': 'master',
      'http.response.status_code': 200,
    })
    const heads = seen().map(({ node, headers }) => [node, headers.traceparent])
    t.strictSame(
      heads,
      [['master', `00-${miss.traceId}-${client?.spanId}-01`]],
      'the node receives that very span as parent',
    )

    const hit = await ask('/agents?limit=2')
    t.match(hit.headers.get('cache-status'), /hit/)
    const ofHit = await collector.trace(hit.traceId)
    t.strictSame(treeOf(ofHit), { 'GET /agents': [...before, 'cache', 'respond'] })
    t.equal(named(t, ofHit, 'cache').attributes['edge.cache'], 'hit')
    const head = await ask('/agents?limit=2', { method: 'HEAD' })
    t.strictSame(treeOf(await collector.trace(head.traceId)), { 'HEAD /agents': [...before, 'cache', 'respond'] })
    const lines = edge.logged.map((line) => JSON.parse(line) as { reqId?: string; traceId?: string })
    t.equal(lines.find(({ reqId }) => reqId === hit.requestId)?.traceId, hit.traceId, 'in the log line of the request')
  })

  t.test('a refused request has the error code at its stage', async (t) => {
    const refused = async (path: string, init: Parameters<typeof ask>[1]) => {
      const response = await ask(path, init)
      const spans = await collector.trace(response.traceId)
      const codes = spans.map(({ name, attributes }) => [name, attributes['edge.error.code']])
      const server = spans.find(({ kind }) => kind === KINDS.server)
      t.equal(server?.attributes['http.response.status_code'], response.status)
      t.equal(server?.status, 0, 'a refusal is no server error')
      return [response.status, treeOf(spans), Object.fromEntries(codes.filter(([, code]) => code !== undefined))]
    }
    const stages = { '401': ['authenticate', 'respond'], '403': ['authenticate', 'authorise', 'respond'] }
    const rows = await Promise.all([
      refused('/agents', { headers: { authorization: '' } }),
      refused('/agents/001/restart', { method: 'PUT', user: 'reader' }),
      refused('/agents?limit=x', {}),
      refused('/nothing/here', {}),
    ])
    t.strictSame(rows, [
      [401, { 'GET /agents': stages['401'] }, { authenticate: 901 }],
      [403, { 'PUT /agents/:agent_id/restart': stages['403'] }, { authorise: 902 }],
      [400, { 'GET /agents': [...before, 'respond'] }, { validate: 600 }],
      [404, { GET: stages['403'] }, { authorise: 603 }],
    ])
  })

  t.test('a write: write lock, invalidation, and two audit records', async (t) => {
    const { traceId } = await ask('/agents/001/restart', { method: 'PUT' })
    const name = 'PUT /agents/:agent_id/restart'
    const stages = [...before, 'audit', { 'write lock': [{ invalidate: [calling(name)] }] }, 'audit', 'respond']
    t.strictSame(treeOf(await collector.trace(traceId)), { [name]: stages })
    const purge = await ask('/cache/rules', { method: 'DELETE' })
    const purged = treeOf(await collector.trace(purge.traceId))
    t.strictSame(purged, { 'DELETE /cache/:group': [...before, 'audit', 'edge operation', 'audit', 'respond'] })
  })

  t.test('a join has one child per node, and the merge', async (t) => {
    const seen = nodeHeaders()
    const { traceId } = await ask('/cluster/*/info')
    const spans = await collector.trace(traceId)
    const part = { cache: [calling('GET /manager/info')] }
    const stages = [...before, { cache: [{ join: [part, part, part, 'merge'] }] }, 'respond']
    t.strictSame(treeOf(spans), { 'GET /cluster/:node_ids/info': stages })
    const asked = calls(spans).map(({ node }) => node)
    t.strictSame(asked.sort(), ['master', 'worker-1', 'worker-2'])
    const ids = new Map(
      spans.filter(({ kind }) => kind === KINDS.client).map((span) => [span.attributes['server.address'], span.spanId]),
    )
    for (const { node, headers } of seen()) {
      t.equal(headers.traceparent, `00-${traceId}-${ids.get(node)}-01`, `${node} receives the span of the call to it`)
    }
  })

  t.test('a failed node part is marked at its call and at the join', async (t) => {
    await simulator.faults.set('worker-2', { status: 500 })
    const { status, traceId } = await ask('/cluster/*/status')
    await simulator.faults.clear()
    t.equal(status, 200)
    const spans = await collector.trace(traceId)
    t.strictSame(
      calls(spans).filter(({ node }) => node === 'worker-2'),
      [{ node: 'worker-2', error: 'unreadable', status: 2 }],
    )
    t.equal(named(t, spans, 'join').attributes['error.type'], 'partial')
    t.equal(spans.find(({ kind }) => kind === KINDS.server)?.status, 0)
  })

  t.test('fail-over: each attempt is a span with its node', async (t) => {
    await simulator.faults.set('master', { apiDown: true })
    const { status, traceId } = await ask('/rules?limit=3')
    await simulator.faults.clear()
    t.equal(status, 200)
    const spans = await collector.trace(traceId)
    const tries = calls(spans)
    const [last] = tries.slice(-1)
    t.match(last, { answered: 200, status: 0 })
    t.match(last?.node, /^worker-/)
    for (const one of tries.slice(0, -1)) t.match(one, { node: 'master', error: 'unreachable', status: 2 })
    t.ok(tries.length > 1, 'the master was tried first')
    t.equal(new Set(tries.map(({ resend = 0, node }) => `${node} ${resend}`)).size, tries.length, 'retries are counted')
  })

  t.test('all nodes down: a server error', async (t) => {
    for (const { name } of simulator.nodes) await simulator.faults.set(name, { reset: true })
    const { status, traceId } = await ask('/decoders?limit=1')
    await simulator.faults.clear()
    t.ok(status >= 500, `${status}`)
    const server = (await collector.trace(traceId)).find(({ kind }) => kind === KINDS.server)
    t.equal(server?.status, 2)
    t.equal(server?.attributes['error.type'], String(status))
  })

  t.test('a client that disconnects', async (t) => {
    await simulator.faults.set('master', { stall: true })
    const before = simulator.seen.length
    const leave = sendAndLeaveLater(`${edge.url}/lists?limit=1`, { authorization: edge.authorization('admin') })
    await eventually(() => simulator.seen.length > before)
    await leave()
    await simulator.faults.clear()
    const line = () => edge.logged.find((line) => line.includes('request not answered'))
    await eventually(() => line() !== undefined)
    const left = JSON.parse(line() ?? '{}') as { traceId?: string }
    const server = (await collector.trace(left.traceId ?? '')).find(({ kind }) => kind === KINDS.server)
    t.equal(server?.attributes['error.type'], 'cancelled')
    t.notOk('http.response.status_code' in (server?.attributes ?? {}), 'there was no response')
  })
})

t.test('mode edge: the owner lookup comes first; a write goes to each node', async (t) => {
  const { collector, ask } = await tracedEdge(t, {
    cluster: { workers: 2, agents: 6, distributed: false },
    settings: { cluster: { distribution: 'edge' } },
  })
  const name = 'GET /syscollector/:agent_id/os'
  const read = await ask('/syscollector/001/os')
  const spans = await collector.trace(read.traceId)
  const table = { cache: [calling('GET /agents')] }
  t.strictSame(treeOf(spans), { [name]: [...before, { cache: [{ owner: [table, calling(name)] }] }, 'respond'] })
  const restart = await ask('/agents/restart', { method: 'PUT' })
  const acts = await collector.trace(restart.traceId)
  const call = calling('PUT /agents/restart')
  const join = { join: [call, call, call, 'merge'] }
  t.strictSame(treeOf(acts), {
    'PUT /agents/restart': [...before, 'audit', { 'write lock': [{ invalidate: [join] }] }, 'audit', 'respond'],
  })
})

t.test('background work is a separate trace, linked to the request that caused it', async (t) => {
  const { collector, ask } = await tracedEdge(t, {
    settings: {
      cache: {
        ttl: { rules: '1ms', agents: '10m' },
        staleWhileRevalidate: { rules: '30s' },
        divergenceCheck: { sampleRatio: 1, maxPerSecond: 100 },
      },
    },
  })
  await ask('/rules?limit=1')
  const stale = await ask('/rules?limit=1')
  await ask('/agents?limit=1')
  const hit = await ask('/agents?limit=1')
  for (const [name, { traceId }] of [
    ['refresh', stale],
    ['verify', hit],
  ] as const) {
    const server = (await collector.trace(traceId)).find(({ kind }) => kind === KINDS.server)
    const found = () => collector.spans.find((span) => span.name === name)
    await eventually(() => found() !== undefined)
    const apart = found()
    t.equal(apart?.parentSpanId, undefined, `${name} is a root`)
    t.not(apart?.traceId, traceId)
    t.equal(apart?.links[0]?.traceId, traceId, 'linked')
    t.ok(server, name)
    const own = collector.spans.filter((span) => span.traceId === apart?.traceId)
    t.equal(own.filter(({ kind }) => kind === KINDS.client).length, 1, 'its call is a child span')
  }
})
