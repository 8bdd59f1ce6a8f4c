/** The translation of requests to calls and of responses back. */
import type { RequestListener } from 'node:http'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { EdgeError } from '../../../src/core/errors.ts'
import { eventually } from '../../support/eventually.ts'
import { edgeRequest } from './edge-request.ts'
import { envelope } from './fake-node.ts'
import { holdUntilReleased, restart, startForwarding } from './forwarding.ts'

t.test('the call is built from the parsed values', async (t) => {
  const bodies: string[] = []
  const { master, handler, urls } = await startForwarding(t, (request, response) => {
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
  await handler(edgeRequest('GET', '/agents', { query: { search, sort: '+name', limit: '5', unknown: 'x' } }))
  await handler(edgeRequest('GET', '/agents/name/:agent_name', { params: { agent_name: 'a/b c..' } }))
  await handler(edgeRequest('POST', '/agents', { body: { kind: 'fields', fields: { name: 'x', ip: 'any' } } }))
  const bytes = Buffer.from('<a>\n</a>')
  const upload = { kind: 'upload', type: 'application/xml', bytes } as const
  await handler(edgeRequest('POST', '/manager/files', { query: { path: 'etc/rules/a.xml' }, body: upload }))
  t.same(urls(master), [
    'GET /agents?limit=5&sort=%2Bname&search=a%20b%2Fc%3Fd%26e%3Df%23%2B%252F%27%28%2A%29%21%C3%A4',
    'GET /agents/name/a%2Fb%20c..',
    'POST /agents',
    'POST /manager/files?path=etc%2Frules%2Fa.xml',
  ])
  t.same(bodies.slice(2), ['application/json {"name":"x","ip":"any"}', 'application/xml <a>\n</a>'])
  for (const odd of ['..', '.', '']) {
    await t.rejects(
      async () => handler(edgeRequest('GET', '/agents/name/:agent_name', { params: { agent_name: odd } })),
      {
        code: 601,
      },
    )
  }
  t.equal(master.seen.length, 4)
})

t.test('status and bytes are unchanged; a body that is no envelope is an error', async (t) => {
  const responses: Record<string, [number, string]> = {
    '/agents': [200, '{"error":1701,"message":"Agent does not exist"}'],
    '/rules': [400, '{"message":"x","error":604}'],
    '/decoders': [200, '{"error":0,"data":{"x":'],
    '/lists': [200, '<html>'],
  }
  const { handler } = await startForwarding(t, (request, response) => {
    const [status, body] = responses[request.url ?? ''] ?? [500, '']
    response.writeHead(status, { 'content-type': 'application/json', 'set-cookie': 'a=b' }).end(body)
  })
  for (const path of ['/agents', '/rules']) {
    const [status = 0, body = ''] = responses[path] ?? []
    const { error: errorNumber } = JSON.parse(body) as { readonly error: number }
    const expected = { kind: 'envelope', status, body: Buffer.from(body), errorNumber, origin: { isPersonal: true } }
    t.match(await handler(edgeRequest('GET', path)), expected)
  }
  for (const path of ['/decoders', '/lists']) {
    await t.rejects(async () => handler(edgeRequest('GET', path)), {
      code: 925,
      status: 502,
      message: /\(boss: not JSON\)/,
    })
  }
  // The connection did not fail, so the node has probably carried out the write.
  await t.rejects(async () => handler(restart()), { code: 928, status: 502, message: /\(boss: not JSON\)/ })
})

t.test(
  'timeouts: longer for slow endpoints, none with wait_for_complete, which each caller may use once at a time',
  async (t) => {
    const respond: RequestListener = (request, response) => {
      setTimeout(() => envelope(request, response), 700)
    }
    const { master, handler, urls } = await startForwarding(t, respond, {}, () => ({
      timeout: 400,
      slowTimeout: 20_000,
    }))
    await t.rejects(async () => handler(edgeRequest('GET', '/agents')), { code: 922 })
    t.match(await handler(edgeRequest('GET', '/manager/configuration/validation')), { status: 200 })
    const unlimited = { waitForComplete: true }
    const first = handler(edgeRequest('GET', '/agents', { ...unlimited, query: { limit: '1' } }))
    await eventually(() => master.seen.length === 3)
    await t.rejects(async () => handler(edgeRequest('GET', '/agents', { ...unlimited, requestId: 'b' })), {
      code: 903,
      status: 429,
      headers: { 'retry-after': /./ },
    })
    t.match(await handler(edgeRequest('GET', '/agents', { ...unlimited, caller: { name: 'bob', permissions: [] } })), {
      status: 200,
    })
    t.match(await first, { status: 200 })
    t.match(await handler(edgeRequest('GET', '/agents', unlimited)), { status: 200 })
    t.same(urls(master).slice(2), [
      'GET /agents?limit=1&wait_for_complete',
      'GET /agents?wait_for_complete',
      'GET /agents?wait_for_complete',
    ])
  },
)

t.test('a client that disconnects cancels the call', async (t) => {
  let closed = 0
  const { master, worker, handler } = await startForwarding(t, (_, response) => {
    response.on('close', () => {
      closed += 1
    })
  })
  const client = new AbortController()
  const response = handler(edgeRequest('GET', '/agents', { client: { signal: client.signal } }))
  await eventually(() => master.seen.length === 1)
  client.abort()
  await t.rejects(async () => response, { name: 'AbortError' })
  await eventually(() => closed === 1)
  t.equal(worker.seen.length, 0)
})

t.test('a raw file is a stream; its absence an envelope', async (t) => {
  const { handler } = await startForwarding(t, (request, response) => {
    if (request.url?.includes('nope')) {
      const body = '{"error":700,"message":"File does not exist"}'
      response.writeHead(404, { 'content-type': 'application/json' }).end(body)
    } else response.writeHead(200, { 'content-type': 'text/xml', 'content-length': 4 }).end('<a/>')
  })
  const found = await handler(edgeRequest('GET', '/rules/files', { query: { download: 'a.xml' } }))
  t.match(found, { kind: 'file', status: 200, type: 'text/xml', length: 4 })
  t.equal(found.kind === 'file' && (await text(found.stream)), '<a/>')
  t.match(await handler(edgeRequest('GET', '/rules/files', { query: { download: 'nope' } })), {
    kind: 'envelope',
    status: 404,
  })
  const notRequested = await Promise.resolve(handler(edgeRequest('GET', '/rules/files'))).catch(
    (error: unknown) => error,
  )
  t.ok(notRequested instanceof EdgeError && notRequested.code === 925)
})

t.test('a call that waits when the time of its part is over fails with the error of the part', async (t) => {
  const { respond, release } = holdUntilReleased(envelope)
  const { master, handler } = await startForwarding(t, respond, { limits: { inFlight: 1 } })
  const held = handler(edgeRequest('GET', '/agents'))
  await eventually(() => master.seen.length === 1)
  const part = new AbortController()
  const late = new EdgeError(922, ' (its part was not there in time)')
  const waiting = handler(edgeRequest('GET', '/agents', { client: { signal: part.signal } }))
  part.abort(late)
  await t.rejects(Promise.resolve(waiting), late)
  release()
  await held
})
