import t, { type Test } from 'tap'
import { sendRaw } from '../../support/raw.ts'
import { alive, type Stage, stage } from './rows.ts'

/** A request as bytes; `{auth}` is replaced by valid credentials. */
interface Raw {
  readonly id: string
  readonly what: string
  readonly bytes: string
  readonly status: number | readonly number[]
  /** The connection must end; framing that can be read in two ways poisons it. */
  readonly closed?: true
  readonly reaches?: true
}

const get = (headers: string, path = '/version') => `GET ${path} HTTP/1.1\r\nHost: edge\r\n{auth}${headers}\r\n`
const post = (headers: string, body: string) =>
  `POST /agents HTTP/1.1\r\nHost: edge\r\n{auth}Content-Type: application/json\r\n${headers}\r\n${body}`
const chunked = (body: string) => post('Transfer-Encoding: chunked\r\n', body)
const hidden = 'GET /agents/001/key HTTP/1.1\r\nHost: edge\r\n\r\n'

const rows: readonly Raw[] = [
  {
    id: 'H01',
    what: 'length and chunks',
    bytes: post('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'),
    status: 400,
    closed: true,
  },
  {
    id: 'H02',
    what: 'xchunked',
    bytes: post('Transfer-Encoding: xchunked\r\n', '0\r\n\r\n'),
    status: 400,
    closed: true,
  },
  {
    id: 'H02',
    what: 'chunked, identity',
    bytes: post('Transfer-Encoding: chunked, identity\r\n', '0\r\n\r\n'),
    status: 400,
    closed: true,
  },
  {
    id: 'H02',
    what: 'chunked twice',
    bytes: post('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'),
    status: 400,
    closed: true,
  },
  {
    id: 'H03',
    what: 'identity, chunked',
    bytes: post('Transfer-Encoding: identity, chunked\r\n', '0\r\n\r\n'),
    status: 400,
    closed: true,
  },
  {
    id: 'H05',
    what: 'two different lengths',
    bytes: post('Content-Length: 2\r\nContent-Length: 3\r\n', '{}'),
    status: 400,
    closed: true,
  },
  {
    id: 'H05',
    what: 'the same length twice',
    bytes: post('Content-Length: 2\r\nContent-Length: 2\r\n', '{}'),
    status: 400,
    closed: true,
  },
  ...['1, 1', '+1', '0x1', '-1', '99999999999999999999'].map(
    (length): Raw => ({
      id: 'H05',
      what: `length ${length}`,
      bytes: post(`Content-Length: ${length}\r\n`, '{}'),
      status: 400,
      closed: true,
    }),
  ),
  {
    id: 'H06',
    what: 'a chunk size of 17 digits',
    bytes: chunked('11111111111111111\r\n{}\r\n0\r\n\r\n'),
    status: 400,
    closed: true,
  },
  {
    id: 'H06',
    what: 'a chunk size with a bare line feed',
    bytes: chunked('2\n{}\r\n0\r\n\r\n'),
    status: 400,
    closed: true,
  },
  { id: 'H09', what: 'a NUL in a header', bytes: get('X-A: a\0b\r\n'), status: 400, closed: true },
  { id: 'H09', what: 'a bare carriage return in a header', bytes: get('X-A: a\rb\r\n'), status: 400, closed: true },
  { id: 'H10', what: 'no Host', bytes: 'GET /version HTTP/1.1\r\n{auth}\r\n', status: 400, closed: true },
  { id: 'H11', what: 'two Hosts', bytes: get('Host: other\r\n'), status: 400, closed: true },
  {
    id: 'H12',
    what: 'an empty Host',
    bytes: 'GET /version HTTP/1.1\r\nHost:\r\n{auth}\r\n',
    status: 400,
    closed: true,
  },
  {
    id: 'H12',
    what: 'a user in Host',
    bytes: 'GET /version HTTP/1.1\r\nHost: a@evil\r\n{auth}\r\n',
    status: 400,
    closed: true,
  },
  {
    id: 'H12',
    what: 'a blank in Host',
    bytes: 'GET /version HTTP/1.1\r\nHost: a b\r\n{auth}\r\n',
    status: 400,
    closed: true,
  },
  { id: 'H14', what: 'OPTIONS *', bytes: 'OPTIONS * HTTP/1.1\r\nHost: edge\r\n{auth}\r\n', status: 405 },
  { id: 'H14', what: 'TRACE', bytes: 'TRACE /version HTTP/1.1\r\nHost: edge\r\n{auth}\r\n', status: 405 },
  {
    id: 'H14',
    what: 'CONNECT',
    bytes: 'CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: edge\r\n{auth}\r\n',
    status: [0, 400, 405],
    closed: true,
  },
  {
    id: 'H16',
    what: 'h2c',
    bytes: get('Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n'),
    status: 200,
    closed: true,
    reaches: true,
  },
  {
    id: 'H16',
    what: 'websocket',
    bytes: get('Connection: Upgrade\r\nUpgrade: websocket\r\n'),
    status: 400,
    closed: true,
  },
  {
    id: 'H17',
    what: 'a request inside a GET',
    bytes: `${get(`Content-Length: ${hidden.length}\r\n`)}${hidden}`,
    status: 400,
    closed: true,
  },
  { id: 'H19', what: 'a header of 40 kB', bytes: get(`X-A: ${'a'.repeat(40_000)}\r\n`), status: 431, closed: true },
  { id: 'H19', what: '300 headers', bytes: get('X-A: b\r\n'.repeat(300)), status: 431, closed: true },
  {
    id: 'H19',
    what: 'a URL of 12 kB',
    bytes: get('', `/version?a=${'a'.repeat(12_000)}`),
    status: [414, 431],
    closed: true,
  },
  {
    id: 'H21',
    what: 'two types',
    bytes: post('Content-Type: text/plain\r\nContent-Length: 2\r\n', '{}'),
    status: 400,
    closed: true,
  },
  {
    id: 'H27',
    what: 'an unknown expectation',
    bytes: post('Expect: foo\r\nContent-Length: 2\r\n', '{}'),
    status: 417,
  },
  {
    id: 'H32',
    what: '__proto__ and constructor as headers',
    bytes: get('__proto__: 1\r\nconstructor: 1\r\nConnection: close\r\n'),
    status: 200,
    reaches: true,
  },
  {
    id: 'H35',
    what: 'HTTP/1.0 is served and closed',
    bytes: 'GET /version HTTP/1.0\r\n{auth}\r\n',
    status: 200,
    closed: true,
    reaches: true,
  },
  { id: 'H35', what: 'HTTP/0.9', bytes: 'GET /version\r\n\r\n', status: 400, closed: true },
  { id: 'H35', what: 'not HTTP at all', bytes: '\x16\x03\x01\x02\x00\x01\x00', status: 400, closed: true },
]

async function holds(t: Test, at: Stage, row: Raw): Promise<void> {
  const before = at.reached()
  const response = await sendRaw(
    at.edge.url,
    row.bytes.replace('{auth}', `Authorization: ${at.edge.authorization('admin')}\r\n`),
  )
  const statuses = typeof row.status === 'number' ? [row.status] : row.status
  t.ok(statuses.includes(response.status), `${row.id} ${row.what}: ${response.status} ${response.body.slice(0, 120)}`)
  if (row.closed) t.ok(response.closed, `${row.id} ${row.what}: the connection ends`)
  if (response.status >= 400)
    t.match(JSON.parse(response.body || '{}'), { error: Number, message: String }, `${row.id} ${row.what}`)
  if (!row.reaches) t.equal(at.reached(), before, `${row.id} ${row.what}: nothing reached a node`)
}

t.test('ambiguous requests are rejected, and their connections are closed', async (t) => {
  const at = await stage()
  t.teardown(() => at.close())
  for (const row of rows) await holds(t, at, row)

  await t.test('H28, H30: a client cannot add, keep or remove headers on the way to a node', async (t) => {
    const headers =
      'Connection: close, x-apicache-bypass, authorization, x-request-id\r\nx-apicache-force-fetch: 1\r\nX-Forwarded-For: 6.6.6.6\r\nCookie: a=b\r\n'
    const response = await sendRaw(
      at.edge.url,
      get(headers).replace('{auth}', `Authorization: ${at.edge.authorization('admin')}\r\n`),
    )
    t.equal(response.status, 200)
    const seen = at.simulator.seen.at(-1)?.headers ?? {}
    t.equal(seen['x-apicache-bypass'], '1', 'the edge’s own')
    t.match(seen.authorization, /^Basic /)
    t.not(seen.authorization, at.edge.authorization('admin'), 'the edge’s own account')
    for (const name of ['x-apicache-force-fetch', 'x-forwarded-for', 'cookie', 'host-x']) t.notOk(seen[name], name)
  })

  await t.test('H33: a thousand pipelined requests never run concurrently', async (t) => {
    const one = get('').replace('{auth}', `Authorization: ${at.edge.authorization('admin')}\r\n`)
    const few = await sendRaw(at.edge.url, one.repeat(80), { responses: 80, timeout: 10_000 })
    t.equal(few.text.split('HTTP/1.1 200').length - 1, 80, 'eighty are answered')
    // More than may wait (listen.limits.pipelined) end the connection.
    const many = await sendRaw(at.edge.url, one.repeat(1000), { responses: 1000, timeout: 10_000 })
    t.ok(many.closed)
    t.notMatch(many.text, /HTTP\/1\.1 5/, 'none of them failed')
  })
  t.ok(await alive(at))
})
