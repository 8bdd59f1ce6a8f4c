import fc from 'fast-check'
import t from 'tap'
import { EdgeError } from '../../../src/core/errors.ts'
import { type EdgeRequest, NO_COST } from '../../../src/core/request.ts'
import type { EdgeResponse } from '../../../src/core/response.ts'
import { addressOfRequests, clientAddress as clientAddressBehind } from '../../../src/http/client-address.ts'
import { sendRaw } from '../../support/raw.ts'
import { basic, cachedResponse, repeating, startServer, type TestServer, uncachedResponse } from './test-server.ts'

const large = Buffer.from(JSON.stringify({ error: 0, data: 'x'.repeat(5000) }))
const small = Buffer.from('{"error":0,"data":"y"}')

function handle({ endpoint, query }: EdgeRequest): EdgeResponse {
  if (query.search === 'down') throw new EdgeError(920, '', { headers: { 'retry-after': '3' } })
  if (query.search === 'broken') throw new Error('unexpected')
  if (query.search === 'uncached') return uncachedResponse(small)
  return cachedResponse(endpoint.path === '/agents' ? large : small)
}

const paths = [
  '/agents',
  '/agents',
  '/agents?pretty',
  '/AGENTS/?limit=5&pretty',
  '/rules?limit=5',
  '/agents?search=down',
  '/agents?search=broken',
  '/agents?search=uncached',
  '/agents?search=uncached&pretty',
  '/agents?limit=0',
  '/agents?nonsense=1',
  '/agents/001/key',
  '/manager/configuration',
  '/manager/files?path=etc/lists/x',
  '/nothing/here',
]

/** Values of each header that a check, the cache or the representation reads. The tag of `/agents` replaces TAG. */
const headers: Readonly<Record<string, readonly string[]>> = {
  Authorization: [
    basic('alice'),
    basic('bob'),
    basic('alice').replace('Basic', 'BASIC'),
    'Bearer x.y.z',
    'Basic !!!',
    'x',
  ],
  'wazuh-app-version': ['3.11.0', 'v3.11.5', '9.0.0', 'x', ''],
  'Content-Encoding': ['gzip', 'identity', ' IDENTITY ', 'identity, gzip', ''],
  'Content-Type': ['text/nonsense', 'application/json', 'application/json; charset=utf-16', ''],
  'Content-Length': ['0', '5', 'x'],
  'Transfer-Encoding': ['chunked', 'gzip'],
  Accept: ['application/json', '*/*', 'text/html'],
  'Accept-Encoding': ['gzip', 'br;q=0.5, gzip;q=0.1', 'identity;q=0', '@@', ''],
  'If-None-Match': ['TAG', 'W/TAG', '*', '"other"', 'junk'],
  'Cache-Control': ['no-cache', 'no-store', 'max-age=0', 'max-age="0"', 'max-age=9'],
  Pragma: ['no-cache'],
  Cookie: ['session=1'],
  'X-Forwarded-For': ['192.0.2.1', '192.0.2.7, 10.0.0.1', 'junk', '::ffff:192.0.2.9'],
  Host: ['edge', 'EDGE:8080', 'b@d'],
  Expect: ['100-continue', '200-ok'],
  Upgrade: ['h2c'],
}

const lines = Object.entries(headers).flatMap(([name, values]) => values.map((value) => `${name}: ${value}`))

const request = fc.record({
  method: fc.constantFrom('GET', 'GET', 'GET', 'HEAD'),
  path: fc.constantFrom(...paths),
  signedIn: fc.boolean(),
  lines: fc.array(fc.constantFrom(...lines), { maxLength: 4 }),
})

/** All that a client and the log show of one request, without what differs from request to request. */
async function shown(server: TestServer, head: string) {
  const [logged, asked] = [server.logLines.length, server.requests.length]
  const { status, headers, body } = await sendRaw(`http://127.0.0.1:${server.port}`, head)
  const { date: _1, 'x-request-id': id, ...others } = headers
  const log = server.logLines.slice(logged).map((text) => {
    const { time: _2, reqId: _3, milliseconds: _4, err, ...line } = JSON.parse(text)
    return { ...line, err: err?.message }
  })
  const requests = server.requests.slice(asked).map(({ requestId: _5, client: _6, ...request }) => ({
    ...request,
    ...('cost' in request && { cost: request.cost !== NO_COST }),
  }))
  // Behind a 100 Continue, the body contains the head of the response.
  const text = body.replaceAll(/^(date|x-request-id): .*$/gim, '$1')
  return { status, headers: others, hasId: id !== undefined, body: text, log, requests }
}

t.test('a repeated hit and the pipeline give the same response to every header', { timeout: 120_000 }, async (t) => {
  const find = clientAddressBehind(['127.0.0.1', '10.0.0.0/8'])
  const clientAddress = addressOfRequests(() => find)
  // For requests that announce a body and send none.
  const timeouts = { headers: 5000, body: 300, write: 30_000, expect: 300, idle: 72_000 }
  const regular = await startServer(t, handle, { clientAddress }, { timeouts })
  const fast = await startServer(t, repeating(handle), { clientAddress }, { timeouts })
  const tag = String((await regular.send('/agents')).headers.etag)
  // From now on these URLs are repeated hits for these credentials.
  for (const server of [regular, fast]) {
    for (const path of paths)
      for (const name of ['alice', 'bob']) await server.send(path, { authorization: basic(name) })
  }
  let repeated = 0
  const check = async (method: string, path: string, lines: readonly string[]) => {
    const hosts = lines.some((line) => line.startsWith('Host')) ? [] : ['Host: edge']
    const head = [`${method} ${path} HTTP/1.1`, ...hosts, ...lines, 'Connection: close', '', ''].join('\r\n')
    const text = head.replaceAll('TAG', tag)
    const [one, other] = [await shown(fast, text), await shown(regular, text)]
    // A repeated hit makes no request of the pipeline.
    const requests = one.requests.length === 0 ? [] : other.requests
    t.strictSame(one, { ...other, requests }, text)
    if (one.requests.length < other.requests.length) repeated += 1
  }
  const alice = `Authorization: ${basic('alice')}`
  for (const line of lines) await check('GET', '/agents', line.startsWith('Authorization') ? [line] : [alice, line])
  await fc.assert(
    fc.asyncProperty(request, ({ method, path, signedIn, lines }) =>
      check(method, path, signedIn && !lines.some((line) => line.startsWith('Auth')) ? [alice, ...lines] : lines),
    ),
    { numRuns: 200 },
  )
  t.ok(repeated > 20, `${repeated} of them are repeated hits`)
})
