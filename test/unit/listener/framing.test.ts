import t from 'tap'
import { bad, filler, get, many, post } from './framing-rows.ts'
import { exchange, lastBody, serve, statuses } from './raw.ts'

const JSON_TYPE = 'Content-Type: application/json\r\n'

t.test('an ambiguous request is rejected, and its connection is closed', async (t) => {
  const { port, seen } = await serve(t)
  for (const row of bad) {
    const { text, ended, reset } = await exchange(port, Buffer.from(row.bytes, 'latin1'))
    t.strictSame(statuses(text), [row.status], `${row.name}: one response, ${row.status}`)
    t.equal(lastBody(text).error, row.code, `${row.name}: code ${row.code}`)
    t.match(text, /connection: close/i, `${row.name}: announces the close`)
    t.ok(ended && !reset, `${row.name}: closed without a reset`)
  }
  t.strictSame(seen, [], 'no handler received any of them')
})

t.test('a HEAD with a body is rejected, and its connection is closed', async (t) => {
  const { port, seen } = await serve(t)
  for (const body of ['Content-Length: 2\r\n\r\n{}', 'Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n']) {
    const { text, ended } = await exchange(port, `HEAD /agents HTTP/1.1\r\nHost: edge\r\n${body}`)
    t.strictSame(statuses(text), [400])
    t.ok(ended)
  }
  t.strictSame(seen, [])
})

t.test('a legal request is passed on, and its body is no request', async (t) => {
  const { port, seen } = await serve(t)
  const second = get('Host: edge\r\n', 'GET /second HTTP/1.1')
  const good: readonly (readonly [string, string])[] = [
    ['one request', get('Host: edge\r\n')],
    ['100 headers', get(`Host: edge\r\n${many.split('\r\n').slice(0, 99).join('\r\n')}\r\n`)],
    ['header of 15 kB', get(`Host: edge\r\n${filler('A', 15_000)}`)],
    ['URL of 8 kB', get('Host: edge\r\n', `GET /${'a'.repeat(8000)} HTTP/1.1`)],
    [
      'H07 chunk extension',
      post('Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n', '2;a=b\r\n{}\r\n0\r\n\r\n'),
    ],
    ['H28 Connection names a header', get('Host: edge\r\nConnection: keep-alive, X-Real-Thing\r\nX-Real-Thing: 1\r\n')],
    ['H32 __proto__ and constructor', get('Host: edge\r\n__proto__: 1\r\nconstructor: 1\r\n')],
    ['an IPv6 host', get('Host: [::1]:55000\r\n')],
    ['HEAD', get('Host: edge\r\n', 'HEAD /agents HTTP/1.1')],
    ['GET with length 0', get('Host: edge\r\nContent-Length: 0\r\n')],
    ['H17 GET with a request as body', get(`Host: edge\r\nContent-Length: ${second.length}\r\n`) + second],
    ['H17 GET in chunks', `${get('Host: edge\r\nTransfer-Encoding: chunked\r\n')}2\r\n{}\r\n0\r\n\r\n`],
    [
      'H17 DELETE with a body',
      `${get(`Host: edge\r\n${JSON_TYPE}Content-Length: 2\r\n`, 'DELETE /agents HTTP/1.1')}{}`,
    ],
    ['DELETE', get('Host: edge\r\n', 'DELETE /agents HTTP/1.1')],
  ]
  for (const [name, bytes] of good) {
    const { text } = await exchange(port, Buffer.from(bytes + get('Host: edge\r\n'), 'latin1'), 2)
    t.strictSame(statuses(text), [200, 200], `${name}: the connection stays open for the next request`)
  }
  t.notOk(
    seen.some((line) => line.includes('/second')),
    'no handler received the request in a body',
  )
})

t.test('the path of an absolute target is served, and its authority counts', async (t) => {
  const { port, seen } = await serve(t, { hosts: ['edge'] })
  const targets = {
    'http://edge/agents?limit=1': '/agents?limit=1',
    'HTTP://EDGE:55000/agents': '/agents',
    'https://edge./agents': '/agents',
    'http://edge': '/',
    'http://edge?limit=1': '/?limit=1',
    'http://edge//agents/..%2f': '//agents/..%2f',
    'http://edge/http://evil/': '/http://evil/',
  }
  for (const [target, path] of Object.entries(targets)) {
    const one = get('Host: other\r\n', `GET ${target} HTTP/1.1`)
    const { text } = await exchange(port, one + get('Host: edge\r\n', 'GET /next HTTP/1.1'), 2)
    t.strictSame(statuses(text), [200, 200], target)
    t.strictSame(seen.splice(0), [`GET ${path}`, 'GET /next'])
  }
  const { text, ended } = await exchange(port, get('Host: edge\r\n', 'GET http://evil/agents HTTP/1.1'))
  t.strictSame(statuses(text), [421])
  t.ok(ended)
  t.strictSame(seen, [])
})

/** What Java clients send with each request on plain HTTP. */
const H2C = 'Host: edge\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n'

t.test('an offer of HTTP/2 is ignored, and nothing that follows on the connection is a request', async (t) => {
  const { port, seen } = await serve(t)
  const next = get('Host: edge\r\n', 'GET /next HTTP/1.1')
  const body = `${JSON_TYPE}Content-Length: 2\r\n`
  const requests = {
    get: get(H2C),
    'in another case': get(H2C.replace('h2c', 'H2C')),
    'without Connection': get('Host: edge\r\nUpgrade: h2c\r\n'),
    'with a body': `${get(H2C + body, 'POST /agents HTTP/1.1')}{}`,
  }
  for (const [name, bytes] of Object.entries(requests)) {
    for (const behind of ['', next, next.slice(0, 30)]) {
      const { text, ended, reset } = await exchange(port, bytes + behind)
      t.strictSame(statuses(text), [200], name)
      t.match(text, /connection: close/i)
      t.ok(ended && !reset)
    }
  }
  t.notOk(seen.some((line) => line.includes('/next')))
})

t.test('Allow lists the methods of the target', async (t) => {
  const methodsAt = (path: string) => (path.startsWith('/agents') ? ['GET', 'HEAD', 'POST'] : [])
  for (const [cors, more] of [
    [false, ''],
    [true, ', OPTIONS'],
  ] as const) {
    const { port } = await serve(t, { methodsAt, cors })
    const allowed = async (line: string) =>
      /^allow: (.*)\r$/im.exec((await exchange(port, get('Host: edge\r\n', line))).text)?.[1]
    t.equal(await allowed('PURGE /agents?x=1 HTTP/1.1'), `GET, HEAD, POST${more}`)
    t.equal(await allowed('TRACE http://edge/agents HTTP/1.1'), `GET, HEAD, POST${more}`)
    t.equal(await allowed('OPTIONS * HTTP/1.1'), `GET, HEAD, POST, PUT, DELETE${more}`)
  }
})

t.test('HTTP/1.0 is served, and the connection is closed', async (t) => {
  const { port } = await serve(t, { hosts: ['edge'] })
  for (const bytes of ['GET /livez HTTP/1.0\r\n\r\n', 'GET /x HTTP/1.0\r\nHost: edge\r\n\r\n']) {
    const { text, ended } = await exchange(port, bytes)
    t.strictSame(statuses(text), [200])
    t.ok(ended)
  }
})

t.test('only the configured hosts are served', async (t) => {
  const { port } = await serve(t, { hosts: ['Edge.example', '::1'] })
  for (const host of ['edge.example', 'EDGE.EXAMPLE:55000', 'edge.example.', '[::1]:55000']) {
    t.strictSame(statuses((await exchange(port, get(`Host: ${host}\r\n`), 1)).text), [200], host)
  }
  const { text, ended } = await exchange(port, get('Host: evil.example\r\n'))
  t.strictSame(statuses(text), [421])
  t.equal(lastBody(text).error, 910)
  t.ok(ended)
})

t.test('OPTIONS is passed on if CORS is configured', async (t) => {
  const { port } = await serve(t, { cors: true }, (app) => {
    app.options('/*', async () => ({ error: 0, data: 'preflight' }))
  })
  t.match((await exchange(port, get('Host: edge\r\n', 'OPTIONS /agents HTTP/1.1'), 1)).text, /preflight/)
  t.strictSame(statuses((await exchange(port, get('Host: edge\r\n', 'OPTIONS * HTTP/1.1'))).text), [405])
})
