import t from 'tap'
import type { EdgeResponse } from '../../../src/core/response.ts'
import { kept, startFront } from './front.ts'

const body = Buffer.from(JSON.stringify({ error: 0, data: { items: [{ id: '001' }], totalItems: 1 } }))
const answers: Record<string, EdgeResponse> = { '/agents': kept(body), '/rules': { kind: 'json', status: 200, body } }

t.test('a client that still holds the answer is told so, after authentication', async (t) => {
  const front = await startFront(t, async (ask) => answers[ask.endpoint.path] as EdgeResponse)
  const { headers } = await front.ask('/agents')
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
    const reply = await front.ask('/agents', { 'if-none-match': sent })
    t.equal(reply.status, status, sent.slice(0, 60))
    t.equal(reply.body.length, status === 304 ? 0 : body.length)
    t.match(
      reply.headers,
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
    t.equal(reply.headers['content-type'], status === 304 ? undefined : 'application/json; charset=utf-8')
    t.equal(reply.headers['content-length'], status === 304 ? undefined : String(body.length))
  }
})

t.test('nobody unknown or without the right learns whether an answer is kept', async (t) => {
  const front = await startFront(t, async () => kept(body))
  const known = await front.ask('/agents')
  const of = (headers: object) => Object.keys(headers).filter((name) => /etag|age|vary|cache-status|expires/.test(name))
  for (const sent of ['*', String(known.headers.etag)]) {
    const reply = await front.ask('/agents', { authorization: '', 'if-none-match': sent })
    t.equal(reply.status, 401)
    t.same(of(reply.headers), [])
    t.equal(reply.headers['cache-control'], 'no-store')
    const wrong = await front.ask('/agents', { authorization: 'Basic eDp5', 'if-none-match': sent })
    t.equal(wrong.status, 401)
    t.same(of(wrong.headers), [])
    const denied = await front.ask('/agents/001/key', {
      authorization: `Basic ${btoa('bob:bob-pw')}`,
      'if-none-match': sent,
    })
    t.equal(denied.status, 403)
    t.same(of(denied.headers), [])
    const unknown = await front.ask('/nothing/here', { authorization: '', 'if-none-match': sent })
    t.equal(unknown.status, 401)
  }
  t.equal(front.asks.length, 1)
})

t.test('what is not kept is never revalidated, and may be stored by nobody', async (t) => {
  const front = await startFront(t, async (ask) => answers[ask.endpoint.path] ?? { kind: 'json', status: 200, body })
  for (const [path, method] of [
    ['/rules', 'GET'],
    ['/agents/001/key', 'GET'],
    ['/agents/restart', 'PUT'],
    ['/cache', 'DELETE'],
  ] as const) {
    const reply = await front.ask(path, { 'if-none-match': '*' }, method)
    t.equal(reply.status, 200, path)
    t.equal(reply.headers['cache-control'], 'no-store')
    t.equal(reply.headers.etag, undefined)
    t.equal(reply.headers.age, undefined)
  }
  for (const path of ['/agents?nonsense=1', '/nothing/here', '/agents/%zz']) {
    const reply = await front.ask(path, { 'if-none-match': '*' })
    t.ok(reply.status >= 400, path)
    t.equal(reply.headers['cache-control'], 'no-store')
  }
})

t.test('HEAD has the headers of the GET and no body', async (t) => {
  const large = Buffer.from(JSON.stringify({ error: 0, data: 'x'.repeat(5000) }))
  const front = await startFront(t, async (ask) =>
    ask.endpoint.path === '/agents' ? kept(large) : { kind: 'json', status: 200, body },
  )
  for (const path of ['/agents', '/agents?pretty', '/rules'])
    for (const coding of ['identity', 'gzip', 'br']) {
      const get = await front.ask(path, { 'accept-encoding': coding })
      const head = await front.ask(path, { 'accept-encoding': coding }, 'HEAD')
      t.equal(head.body.length, 0)
      t.equal(get.headers['content-length'], String(get.body.length))
      const { date: _1, 'x-request-id': _2, ...same } = get.headers
      t.match(head.headers, same, `${path} ${coding}`)
    }
  const { headers } = await front.ask('/agents')
  const still = await front.ask('/agents', { 'if-none-match': String(headers.etag) }, 'HEAD')
  t.equal(still.status, 304)
})
