/** From an Ask to a node and back: what the node sees and what the client gets. */
import { text } from 'node:stream/consumers'
import t from 'tap'
import { EdgeError } from '../../../src/core/errors.ts'
import { edge, restart } from './edge.ts'
import { ask } from './edge-request.ts'
import { envelope, until } from './fake-node.ts'

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
    await t.rejects(async () => handle(ask('GET', '/agents/name/:agent_name', { params: { agent_name: odd } })), {
      code: 601,
    })
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
    t.same(await handle(ask('GET', path)), { kind: 'json', status, body: Buffer.from(body), personal: true })
  }
  for (const path of ['/decoders', '/lists']) {
    await t.rejects(async () => handle(ask('GET', path)), { code: 925, status: 502, message: /\(boss: not JSON\)/ })
  }
  // Its connection did not fail, so the node has most likely acted.
  await t.rejects(async () => handle(restart()), { code: 928, status: 502, message: /\(boss: not JSON\)/ })
})

t.test('deadlines: longer for what is slow, none with wait_for_complete, one such call for each caller', async (t) => {
  const { master, handle, urls } = await edge(t, (request, response) => {
    setTimeout(() => envelope(request, response), 700)
  })
  await t.rejects(async () => handle(ask('GET', '/agents')), { code: 922 })
  t.match(await handle(ask('GET', '/manager/configuration/validation')), { status: 200 })
  const patient = { waitForComplete: true }
  const first = handle(ask('GET', '/agents', { ...patient, query: { limit: '1' } }))
  await until(() => master.seen.length === 3)
  await t.rejects(async () => handle(ask('GET', '/agents', { ...patient, requestId: 'b' })), {
    code: 903,
    status: 429,
    headers: { 'retry-after': /./ },
  })
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
  await t.rejects(async () => answer, { name: 'AbortError' })
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
  const unasked = await Promise.resolve(handle(ask('GET', '/rules/files'))).catch((error: unknown) => error)
  t.ok(unasked instanceof EdgeError && unasked.code === 925)
})
