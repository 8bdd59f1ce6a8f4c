import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import type { RejectedRequest } from '../../../src/listener/reject.ts'
import { exchange, serve, statuses } from './raw.ts'

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: edge\r\n\r\n`
const order = (text: string) => [...text.matchAll(/"data":"\/(?:slow\/)?(\w+)"/g)].map((match) => match[1])

t.test('pipelined requests are handled one at a time and answered in order', async (t) => {
  let active = 0
  let most = 0
  const { port } = await serve(t, {}, (app) => {
    app.get('/slow/:n', async (request) => {
      active++
      most = Math.max(most, active)
      await wait(Math.random() * 10)
      active--
      return { error: 0, data: request.url }
    })
  })
  const names = Array.from({ length: 50 }, (_, i) => `n${i}`)
  const { text } = await exchange(port, names.map((name) => get(`/slow/${name}`)).join(''), names.length)
  t.strictSame(order(text), names, 'all of them, in order')
  t.equal(most, 1, 'one in flight')
  t.notMatch(text, /connection: close/i, 'the connection stays open')
})

t.test('a client that pipelines 1,000 requests is disconnected, and other clients are served meanwhile', async (t) => {
  const dropped: (number | undefined)[] = []
  const onReject = ({ nth, error }: RejectedRequest) => void dropped.push(error === undefined ? nth : Number.NaN)
  const { port, seen } = await serve(t, { onReject }, (app) => {
    app.get('/slow/:n', async (request) => {
      await wait(20)
      return { error: 0, data: request.url }
    })
  })
  const flood = exchange(port, get('/slow/x').repeat(1000))
  const good = await exchange(port, get('/good'), 1)
  t.strictSame(statuses(good.text), [200], 'another connection is served')
  const { ended, reset } = await flood
  t.ok(ended || reset, 'the flood has lost its connection')
  t.ok(seen.filter((line) => line === 'GET /slow/x').length <= 2, 'and nearly all of its requests never ran')
  t.ok(dropped.length > 100, `${dropped.length} of them were read, and are reported`)
  t.strictSame(
    dropped,
    dropped.map((_, at) => at + 1),
    'each once, and that there was no answer',
  )
})

t.test('an error after valid requests is answered after their responses', async (t) => {
  const { port } = await serve(t, {}, (app) => {
    app.get('/slow/:n', async (request) => {
      await wait(50)
      return { error: 0, data: request.url }
    })
  })
  const faults = {
    'a parse error': 'GARBAGE\r\n\r\n',
    'an ambiguous request': 'GET /b HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n',
    'a broken body':
      'POST /b HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
    'a body that a HEAD does not take': 'HEAD /b HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc',
  }
  for (const [name, fault] of Object.entries(faults)) {
    const { text, ended } = await exchange(port, get('/slow/a') + get('/slow/b') + fault + get('/c'))
    t.strictSame(order(text), ['a', 'b'], `${name}: the good ones first`)
    t.strictSame(statuses(text), [200, 200, 400], `${name}: then the refusal, and nothing after it`)
    t.ok(ended, `${name}: closed`)
  }
})

t.test('after a response that closes the connection, no pipelined request is handled', async (t) => {
  const { port, seen } = await serve(t)
  const close = 'GET /a HTTP/1.1\r\nHost: edge\r\nConnection: close\r\n\r\n'
  const { text, ended, reset } = await exchange(port, close + get('/b'))
  t.strictSame(statuses(text), [200])
  t.ok(ended && !reset, 'closed without a reset')
  t.strictSame(seen, ['GET /a'])
})

t.test('a client reads the response to a rejected large upload', async (t) => {
  const { port } = await serve(t)
  const body = 'x'.repeat(8 * 1024 * 1024)
  const head = `POST /a HTTP/1.1\r\nHost: edge\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
  const { text, reset } = await exchange(port, head + body, 1)
  t.strictSame(statuses(text), [413])
  t.notOk(reset)
})

t.test('consecutive requests share a connection', async (t) => {
  const { port, seen } = await serve(t)
  const { text } = await exchange(port, get('/a'), 1)
  t.match(text, /connection: keep-alive/i)
  const { text: two } = await exchange(port, get('/a') + get('/b'), 2)
  t.strictSame(statuses(two), [200, 200])
  t.strictSame(seen, ['GET /a', 'GET /a', 'GET /b'])
})
