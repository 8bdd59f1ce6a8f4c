import t from 'tap'
import { sendRaw } from '../../support/raw.ts'
import { simulated } from '../../support/simulated.ts'

const hidden = 'GET /agents/001/key HTTP/1.1\r\nHost: edge\r\n\r\n'
const JSON_TYPE = 'Content-Type: application/json\r\n'
const FORM_TYPE = 'Content-Type: application/x-www-form-urlencoded\r\n'

t.test('a body that an endpoint does not take', async (t) => {
  const { simulator, edge } = await simulated(t, { workers: 0, agents: 9 })
  const head = (line: string, headers: string) =>
    `${line} HTTP/1.1\r\nHost: edge\r\nAuthorization: ${edge.authorization('admin')}\r\n${headers}\r\n`
  const withBody = (line: string, type: string, body: string) =>
    head(line, `${type}Content-Length: ${Buffer.byteLength(body)}\r\n`) + body
  const calls = () => simulator.seen.filter(({ headers }) => headers['x-request-id'] !== 'discovery')

  await t.test('is read and ignored if it is JSON or a form', async (t) => {
    const bodies = [
      [JSON_TYPE, '{}'],
      [JSON_TYPE, '[]'],
      [JSON_TYPE, '{"limit":1,"ids":["001"]}'],
      ['Content-Type: application/json; charset=utf-8\r\n', '{}'],
      ['', '{}'],
      [FORM_TYPE, 'a=b'],
      [FORM_TYPE, '{}'],
    ] as const
    for (const [type, body] of bodies) {
      for (const line of ['GET /agents?limit=2', 'GET /agents/001/key', 'DELETE /rootcheck/001', 'DELETE /cache']) {
        const response = await sendRaw(edge.url, withBody(line, type, body))
        t.match(response, { status: 200, body: /^\{"(?:error":0|all")/ }, `${line} ${type} ${body}`)
      }
    }
    t.ok(calls().length > 0)
    for (const { method, url, headers, body } of calls()) {
      t.equal(body, '', `${method} ${url} carries no body`)
      t.match(
        { length: headers['content-length'] ?? '0', chunks: headers['transfer-encoding'] },
        { length: '0', chunks: undefined },
      )
    }
  })

  await t.test('ends where its framing ends it, with a stored response too', async (t) => {
    const read = withBody('GET /agents?limit=3', JSON_TYPE, '{}')
    const chunked = `${head('GET /agents?limit=3', 'Transfer-Encoding: chunked\r\n')}2\r\n{}\r\n0\r\n\r\n`
    const empty = `${head('DELETE /cache', 'Transfer-Encoding: chunked\r\n')}0\r\n\r\n`
    const next = head('GET /version', '')
    for (const first of [read, chunked, empty]) {
      const { text } = await sendRaw(edge.url, first + first + next, { responses: 3 })
      const statuses = [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)
      t.strictSame(statuses, ['200', '200', '200'])
      t.match(text.split('\r\n\r\n').at(-1), /^\{"error":0,"data":"v3/, 'the last response is that of the last request')
    }
  })

  await t.test('is refused with 614 if it is broken, and the connection is closed', async (t) => {
    const before = calls().length
    const bodies = [
      [JSON_TYPE, '{"a":'],
      [JSON_TYPE, '{"a":1,"a":2}'],
      ['', 'broken'],
      ['', hidden],
      [JSON_TYPE, hidden],
      [FORM_TYPE, hidden],
      ['Content-Type: text/plain\r\n', hidden],
    ] as const
    for (const [type, body] of bodies) {
      for (const line of ['GET /agents?limit=2', 'GET /agents/001/key', 'DELETE /rootcheck/001']) {
        const { status, text, closed } = await sendRaw(edge.url, withBody(line, type, body) + hidden)
        t.equal(status, 400, `${line} ${body}`)
        t.match(text, /"error":614/)
        t.equal(text.match(/HTTP\/1\.1 /g)?.length, 1, 'nothing of it is a request')
        t.equal(closed, true, 'closed')
      }
    }
    t.equal(calls().length, before, 'nothing reached a node')
  })

  await t.test('is refused with 701 above the limit of a body', async (t) => {
    const large = `{"a":"${'a'.repeat(200_000)}"}`
    for (const line of ['GET /agents?limit=2', 'DELETE /rootcheck/001']) {
      const { status, text } = await sendRaw(edge.url, withBody(line, JSON_TYPE, large))
      t.equal(status, 400, line)
      t.match(text, /"error":701/)
    }
    const chunk = `ffff\r\n${'a'.repeat(0xffff)}\r\n`
    const chunked = head('GET /agents?limit=2', 'Transfer-Encoding: chunked\r\n') + chunk.repeat(4)
    t.match(await sendRaw(edge.url, chunked), { status: 400, closed: true, body: /"error":701/ })
  })

  await t.test('needs credentials before it is read', async (t) => {
    const response = await sendRaw(edge.url, `GET /agents HTTP/1.1\r\nHost: edge\r\nContent-Length: 2\r\n\r\n{}`)
    t.equal(response.status, 401)
  })
})
