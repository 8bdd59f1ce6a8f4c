import t from 'tap'
import type { EdgeResponse } from '../../../src/core/response.ts'
import { cachedResponse, startServer, uncachedResponse } from './test-server.ts'

const body = Buffer.from(JSON.stringify({ error: 0, data: { items: [{ id: '001' }], totalItems: 1 } }))
const responses: Record<string, EdgeResponse> = {
  '/agents': cachedResponse(body),
  '/rules': uncachedResponse(body),
}

t.test('If-None-Match with the current tag is answered with 304, after authentication', async (t) => {
  const server = await startServer(t, async (request) => responses[request.endpoint.path] as EdgeResponse)
  const { headers } = await server.send('/agents')
  const etag = String(headers.etag)
  t.match(etag, /^"[^"]+"$/, 'a strong tag')

  const table: readonly [sent: string, status: number][] = [
    [etag, 304],
    [`W/${etag}`, 304],
    ['*', 304],
    [`"other", ${etag}`, 304],
    [`"with,comma",W/${etag} , "x"`, 304],
    [`, ,${etag}`, 304],
    ['"other"', 200],
    [etag.slice(1, -1), 200],
    [`"other" ${etag}`, 200],
    [`w/${etag}`, 200],
    [`${etag.slice(0, -1)}-gzip"`, 200],
    ['', 200],
    [`"${'x'.repeat(7000)}`, 200],
  ]
  for (const [sent, status] of table) {
    const response = await server.send('/agents', { 'if-none-match': sent })
    t.equal(response.status, status, sent.slice(0, 60))
    t.equal(response.body.length, status === 304 ? 0 : body.length)
    t.match(
      response.headers,
      {
        etag,
        'cache-control': 'private, no-cache',
        vary: 'Accept-Encoding, Authorization',
        age: '1',
        'cache-status': 'manager-edge; hit; ttl=4',
        'x-content-type-options': 'nosniff',
        'x-request-id': /^[0-9a-f-]{36}$/,
      },
      'with the headers of the answer',
    )
    t.equal(response.headers['content-type'], status === 304 ? undefined : 'application/json; charset=utf-8')
    t.equal(response.headers['content-length'], status === 304 ? undefined : String(body.length))
  }
})

t.test('without authentication and permission no header shows whether a response is cached', async (t) => {
  const server = await startServer(t, async () => cachedResponse(body))
  const known = await server.send('/agents')
  const of = (headers: object) => Object.keys(headers).filter((name) => /etag|age|vary|cache-status|expires/.test(name))
  for (const sent of ['*', String(known.headers.etag)]) {
    const response = await server.send('/agents', { authorization: '', 'if-none-match': sent })
    t.equal(response.status, 401)
    t.same(of(response.headers), [])
    t.equal(response.headers['cache-control'], 'no-store')
    const wrong = await server.send('/agents', { authorization: 'Basic eDp5', 'if-none-match': sent })
    t.equal(wrong.status, 401)
    t.same(of(wrong.headers), [])
    const denied = await server.send('/agents/001/key', {
      authorization: `Basic ${btoa('bob:bob-pw')}`,
      'if-none-match': sent,
    })
    t.equal(denied.status, 403)
    t.same(of(denied.headers), [])
    const unknown = await server.send('/nothing/here', { authorization: '', 'if-none-match': sent })
    t.equal(unknown.status, 401)
  }
  t.equal(server.requests.length, 1)
})

t.test('an uncached response has no validator and is no-store', async (t) => {
  const server = await startServer(t, async (request) => responses[request.endpoint.path] ?? uncachedResponse(body))
  for (const [path, method] of [
    ['/rules', 'GET'],
    ['/agents/001/key', 'GET'],
    ['/agents/restart', 'PUT'],
    ['/cache', 'DELETE'],
  ] as const) {
    const response = await server.send(path, { 'if-none-match': '*' }, method)
    t.equal(response.status, 200, path)
    t.equal(response.headers['cache-control'], 'no-store')
    t.equal(response.headers.etag, undefined)
    t.equal(response.headers.age, undefined)
  }
  for (const path of ['/agents?nonsense=1', '/nothing/here', '/agents/%zz']) {
    const response = await server.send(path, { 'if-none-match': '*' })
    t.ok(response.status >= 400, path)
    t.equal(response.headers['cache-control'], 'no-store')
  }
})

t.test('HEAD has the headers of the GET and no body', async (t) => {
  const large = Buffer.from(JSON.stringify({ error: 0, data: 'x'.repeat(5000) }))
  const server = await startServer(t, async (request) =>
    request.endpoint.path === '/agents' ? cachedResponse(large) : uncachedResponse(body),
  )
  for (const path of ['/agents', '/agents?pretty', '/rules'])
    for (const coding of ['identity', 'gzip', 'br']) {
      const get = await server.send(path, { 'accept-encoding': coding })
      const head = await server.send(path, { 'accept-encoding': coding }, 'HEAD')
      t.equal(head.body.length, 0)
      t.equal(get.headers['content-length'], String(get.body.length))
      const { date: _1, 'x-request-id': _2, ...same } = get.headers
      t.match(head.headers, same, `${path} ${coding}`)
    }
  const { headers } = await server.send('/agents')
  const revalidated = await server.send('/agents', { 'if-none-match': String(headers.etag) }, 'HEAD')
  t.equal(revalidated.status, 304)
})
