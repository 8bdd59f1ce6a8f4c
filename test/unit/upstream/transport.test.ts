import t from 'tap'
import { clusterOf, envelope, fakeNode, get, put } from './fake-node.ts'

t.test('a read carries these headers and no others', async (t) => {
  const node = await fakeNode(t)
  const cluster = clusterOf(t, node.url)
  const result = await cluster.call(get('/agents?limit=1'))
  t.match(result, { ok: true, response: { node: 'master', status: 200, type: 'application/json' } })
  t.equal(node.seen[0]?.url, '/agents?limit=1')
  t.same(node.seen[0]?.headers, {
    host: `127.0.0.1:${node.port}`,
    connection: 'keep-alive',
    authorization: `Basic ${Buffer.from('edge:pass').toString('base64')}`,
    accept: 'application/json',
    'accept-encoding': 'identity',
    'user-agent': 'manager-edge',
    'x-request-id': 'test-1',
    'x-apicache-bypass': '1',
  })
})

t.test('a write has its body, a media type without parameters, and no cache bypass', async (t) => {
  let body = ''
  const node = await fakeNode(t, (request, response) => {
    request.on('data', (bytes) => {
      body += bytes
    })
    request.on('end', () => envelope(request, response))
  })
  const bytes = Buffer.from('{"name":"ä"}')
  const call = put('/agents', { method: 'POST', body: { type: 'application/json', bytes } })
  t.match(await clusterOf(t, node.url).call(call), { ok: true })
  t.equal(body, '{"name":"ä"}')
  t.match(node.seen[0]?.headers, { 'content-type': 'application/json', 'content-length': '13' })
  t.notOk(node.seen[0]?.headers['x-apicache-bypass'])
})

t.test('a write without a body has Content-Length: 0', async (t) => {
  const node = await fakeNode(t)
  await clusterOf(t, node.url).call(put())
  t.match(node.seen[0]?.headers, { 'content-length': '0', 'content-type': undefined })
})

t.test('reads reuse connections, each write has a new one', async (t) => {
  const node = await fakeNode(t)
  const cluster = clusterOf(t, node.url)
  for (let i = 0; i < 10; i += 1) await cluster.call(get())
  const reused = node.connections()
  t.ok(reused <= 2, 'a second one if the first is not free yet')
  for (let i = 0; i < 3; i += 1) await cluster.call(put())
  t.equal(node.connections(), reused + 3)
  t.equal(node.seen.at(-1)?.headers.connection, 'close')
})

t.test('with passthrough each call has the credentials of its caller', async (t) => {
  const node = await fakeNode(t, (request, response) => {
    if (request.headers.authorization !== undefined) return envelope(request, response)
    response.writeHead(401, { 'content-type': 'text/plain', 'www-authenticate': 'Basic' }).end('401 Unauthorized')
  })
  const cluster = clusterOf(t, node.url, { credentials: { mode: 'passthrough' } })
  const result = await cluster.call(get('/agents', { credentials: { username: 'ann', password: 'p:ä' } }))
  t.match(result, { ok: true })
  t.equal(node.seen[0]?.headers.authorization, `Basic ${Buffer.from('ann:p:ä').toString('base64')}`)
  t.match(await cluster.call(get()), { ok: false, fault: 'refusedCredentials' })
})

t.test('status, type, length and personal are all that is returned of the head', async (t) => {
  const node = await fakeNode(t, (_, response) => {
    const headers = { 'content-type': 'Application/JSON; charset=utf-8', 'set-cookie': 'a=b', location: 'http://x/' }
    response.writeHead(400, headers).end('{"error":600,"message":"x"}')
  })
  const result = await clusterOf(t, node.url).call(get())
  t.same(result, {
    ok: true,
    response: {
      node: 'master',
      status: 400,
      type: 'application/json',
      personal: true,
      body: Buffer.from('{"error":600,"message":"x"}'),
    },
  })
})

t.test('a node without address is not called', async (t) => {
  const node = await fakeNode(t)
  const cluster = clusterOf(t, node.url)
  for (const name of ['worker-9', '__proto__', 'constructor', '169.254.169.254']) {
    const result = await cluster.call(get('/agents', { node: name }))
    t.match(result, { ok: false, node: name, fault: 'unreachable', sent: false })
  }
  t.equal(node.connections(), 0)
})
