/** Bad requests: the bytes that are sent, and the status and code of the response. No handler receives them. */
export interface Row {
  readonly name: string
  readonly bytes: string
  readonly status: number
  readonly code: number
}

export const get = (headers: string, line = 'GET /agents HTTP/1.1') => `${line}\r\n${headers}\r\n`
export const post = (headers: string, body = '') => `POST /agents HTTP/1.1\r\nHost: edge\r\n${headers}\r\n${body}`
const chunked = (body: string) => post('Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n', body)
export const filler = (name: string, bytes: number) => `${name}: ${'x'.repeat(bytes)}\r\n`
export const many = Array.from({ length: 3000 }, (_, i) => `a${i}: b\r\n`).join('')

export const bad: readonly Row[] = [
  {
    name: 'H01 length and chunked',
    bytes: post('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'),
    status: 400,
    code: 900,
  },
  {
    name: 'H01 chunked and length',
    bytes: post('Transfer-Encoding: chunked\r\nContent-Length: 5\r\n', '0\r\n\r\n'),
    status: 400,
    code: 900,
  },
  { name: 'H02 xchunked', bytes: post('Transfer-Encoding: xchunked\r\n', '0\r\n\r\n'), status: 400, code: 900 },
  {
    name: 'H02 chunked, identity',
    bytes: post('Transfer-Encoding: chunked, identity\r\n', '0\r\n\r\n'),
    status: 400,
    code: 900,
  },
  {
    name: 'H02 chunked twice',
    bytes: post('Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n', '0\r\n\r\n'),
    status: 400,
    code: 900,
  },
  {
    name: 'H02 chunked, chunked',
    bytes: post('Transfer-Encoding: chunked, chunked\r\n', '0\r\n\r\n'),
    status: 400,
    code: 900,
  },
  {
    name: 'H03 identity, chunked',
    bytes: post('Transfer-Encoding: identity, chunked\r\n', '0\r\n\r\n'),
    status: 400,
    code: 900,
  },
  {
    name: 'H03 gzip, chunked',
    bytes: post('Transfer-Encoding: gzip, chunked\r\n', '0\r\n\r\n'),
    status: 400,
    code: 900,
  },
  {
    name: 'chunked on HTTP/1.0',
    bytes: 'POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    status: 400,
    code: 900,
  },
  {
    name: 'H05 two equal lengths',
    bytes: post('Content-Length: 1\r\nContent-Length: 1\r\n', 'a'),
    status: 400,
    code: 900,
  },
  { name: 'H05 two lengths', bytes: post('Content-Length: 1\r\nContent-Length: 2\r\n', 'ab'), status: 400, code: 900 },
  ...['1, 1', '+1', '0x1', '-1', '12345678901234567890', '1 1', '1.0', ''].map((length) => ({
    name: `H05 length ${length}`,
    bytes: post(`Content-Length: ${length}\r\n`, 'a'),
    status: 400,
    code: 900,
  })),
  { name: 'H06 chunk size, bare LF', bytes: chunked('1\na\r\n0\r\n\r\n'), status: 400, code: 900 },
  { name: 'H06 chunk size, space', bytes: chunked('1 \r\na\r\n0\r\n\r\n'), status: 400, code: 900 },
  { name: 'H06 chunk size, 17 digits', bytes: chunked('10000000000000001\r\na\r\n0\r\n\r\n'), status: 400, code: 900 },
  { name: 'H09 bare LF', bytes: 'GET / HTTP/1.1\nHost: edge\n\n', status: 400, code: 900 },
  { name: 'H09 bare CR', bytes: get('Host: edge\r\nA: b\rc\r\n'), status: 400, code: 900 },
  { name: 'H09 NUL', bytes: get('Host: edge\r\nA: b\0c\r\n'), status: 400, code: 900 },
  { name: 'H09 CR CR LF', bytes: get('Host: edge\r\nA: b\r\r\n'), status: 400, code: 900 },
  { name: 'folded header', bytes: get('Host: edge\r\nA: b\r\n c\r\n'), status: 400, code: 900 },
  { name: 'space before colon', bytes: get('Host : edge\r\n'), status: 400, code: 900 },
  { name: 'H10 no Host', bytes: get(''), status: 400, code: 900 },
  { name: 'H11 two Hosts', bytes: get('Host: edge\r\nHost: other\r\n'), status: 400, code: 900 },
  ...['', 'a@evil', 'a b', 'a/b', 'edge:', 'edge:x', '[::1', 'a,b', 'é'].map((host) => ({
    name: `H12 Host ${host}`,
    bytes: get(`Host: ${host}\r\n`),
    status: 400,
    code: 900,
  })),
  { name: 'H14 CONNECT', bytes: get('Host: edge\r\n', 'CONNECT edge:443 HTTP/1.1'), status: 405, code: 905 },
  { name: 'H14 OPTIONS *', bytes: get('Host: edge\r\n', 'OPTIONS * HTTP/1.1'), status: 405, code: 905 },
  { name: 'H14 OPTIONS', bytes: get('Host: edge\r\n', 'OPTIONS /agents HTTP/1.1'), status: 405, code: 905 },
  { name: 'H14 TRACE', bytes: get('Host: edge\r\n', 'TRACE / HTTP/1.1'), status: 405, code: 905 },
  { name: 'PROPFIND', bytes: get('Host: edge\r\n', 'PROPFIND / HTTP/1.1'), status: 405, code: 905 },
  ...['websocket', 'h2c, websocket', 'h2c, h2c', 'h2', 'TLS/1.2', ''].map((protocol) => ({
    name: `H16 ${protocol}`,
    bytes: get(`Host: edge\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\n`),
    status: 400,
    code: 900,
  })),
  { name: 'HTTP/2 preface', bytes: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', status: 400, code: 900 },
  { name: 'HTTP/2.0 line', bytes: get('Host: edge\r\n', 'GET / HTTP/2.0'), status: 400, code: 900 },
  { name: 'HTTP/0.9', bytes: 'GET /agents\r\n\r\n', status: 400, code: 900 },
  { name: 'HTTP/0.9 line', bytes: get('Host: edge\r\n', 'GET / HTTP/0.9'), status: 400, code: 900 },
  { name: 'H19 header of 20 kB', bytes: get(`Host: edge\r\n${filler('A', 20_000)}`), status: 431, code: 907 },
  {
    name: 'H19 header of 40 kB with spaces',
    bytes: get(`Host: edge\r\nCookie: ${'a=b; '.repeat(8000)}\r\n`),
    status: 431,
    code: 907,
  },
  { name: 'H19 header of 40 kB', bytes: get(`Host: edge\r\n${filler('A', 40_000)}`), status: 431, code: 907 },
  {
    name: 'H19 URL of 9 kB',
    bytes: get('Host: edge\r\n', `GET /${'a'.repeat(9000)} HTTP/1.1`),
    status: 414,
    code: 908,
  },
  {
    name: 'H19 URL of 20 kB',
    bytes: get('Host: edge\r\n', `GET /${'a'.repeat(20_000)} HTTP/1.1`),
    status: 414,
    code: 908,
  },
  {
    name: 'H19 URL of 40 kB',
    bytes: get('Host: edge\r\n', `GET /${'a'.repeat(40_000)} HTTP/1.1`),
    status: 414,
    code: 908,
  },
  { name: 'H19 3,000 headers', bytes: get(`Host: edge\r\n${many}`), status: 431, code: 907 },
  {
    name: 'H19 101 headers',
    bytes: get(`Host: edge\r\n${many.split('\r\n').slice(0, 100).join('\r\n')}\r\n`),
    status: 431,
    code: 907,
  },
  {
    name: 'H21 two Content-Types',
    bytes: post('Content-Type: application/json\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n', '{}'),
    status: 400,
    code: 607,
  },
  {
    name: 'two Authorizations',
    bytes: get('Host: edge\r\nAuthorization: Basic YTpi\r\nauthorization: Basic YTpj\r\n'),
    status: 400,
    code: 900,
  },
  { name: 'H27 unknown Expect', bytes: post('Expect: foo\r\nContent-Length: 2\r\n', '{}'), status: 417, code: 909 },
  ...[
    'ftp://edge/agents',
    'http:/agents',
    'http:///agents',
    'http://edge@evil/agents',
    'http://edge:x/agents',
    'http://edge/agents#x',
    'edge/agents',
  ].map((target) => ({
    name: `target ${target}`,
    bytes: get('Host: edge\r\n', `GET ${target} HTTP/1.1`),
    status: 400,
    code: 900,
  })),
  { name: 'absolute target without Host', bytes: get('', 'GET http://edge/agents HTTP/1.1'), status: 400, code: 900 },
  { name: 'fragment in the target', bytes: get('Host: edge\r\n', 'GET /agents#x HTTP/1.1'), status: 400, code: 900 },
  {
    name: 'bytes beyond ASCII in the target',
    bytes: get('Host: edge\r\n', 'GET /\xe9 HTTP/1.1'),
    status: 400,
    code: 900,
  },
  { name: 'no HTTP', bytes: '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', status: 400, code: 900 },
]
