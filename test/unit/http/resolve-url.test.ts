import fc from 'fast-check'
import t from 'tap'
import { catalogue } from '../../../src/contracts/index.ts'
import { EdgeError } from '../../../src/core/errors.ts'
import type { Caller, EdgeRequest } from '../../../src/core/request.ts'
import { sendRaw } from '../../support/raw.ts'
import { basic, cachedResponse, startServer, type TestServer } from './test-server.ts'

const body = Buffer.from('{"error":0,"data":"x"}')

type Outcome =
  | { readonly request: Pick<EdgeRequest, 'endpoint' | 'params' | 'query' | 'waitForComplete'> }
  | { readonly status: number; readonly body: unknown }

function outcomeOf({ endpoint, params, query, waitForComplete }: EdgeRequest): Outcome {
  return { request: { endpoint, params: { ...params }, query: { ...query }, waitForComplete } }
}

/** What a real GET of the URL leads to. */
async function requested({ port, requests }: TestServer, url: string, name: string): Promise<Outcome> {
  const before = requests.length
  const head = `GET ${url} HTTP/1.1\r\nHost: edge\r\nAuthorization: ${basic(name)}\r\nConnection: close\r\n\r\n`
  const response = await sendRaw(`http://127.0.0.1:${port}`, head)
  const request = requests.at(before)
  return request === undefined
    ? { status: response.status, body: JSON.parse(response.body) as unknown }
    : outcomeOf(request)
}

function resolved({ resolveUrl }: TestServer, url: string, caller: Caller): Outcome {
  try {
    return outcomeOf(resolveUrl(url, caller))
  } catch (error) {
    if (!(error instanceof EdgeError)) throw error
    return { status: error.status, body: { error: error.code, message: error.message } }
  }
}

async function callers(server: TestServer): Promise<ReadonlyMap<string, Caller>> {
  const found = new Map<string, Caller>()
  for (const name of ['alice', 'bob']) {
    await server.send('/agents', { authorization: basic(name) })
    found.set(name, (server.requests.at(-1) as EdgeRequest).caller)
  }
  return found
}

const reads = catalogue.filter(({ method }) => method === 'GET')
const segments = ['001', '1', '0007', 'master', '*', 'a,b', 'b,a', '%2A', '%zz', '%', '..', '%2e%2e', 'com', 'x y', 'é']
const values = [
  ...segments,
  '',
  '10',
  '0',
  '1001',
  '-id',
  '+id',
  'id=001',
  'a;b',
  'true',
  '%00',
  'etc/rules/x.xml',
  '<',
]
const sendable = (text: string) => /^\/[\x21\x22\x24-\x7e]*$/.test(text)

const url = fc
  .record({
    endpoint: fc.constantFrom(...reads),
    segments: fc.array(fc.constantFrom(...segments), { minLength: 4, maxLength: 4 }),
    slashes: fc.constantFrom('', '', '', '/', '//'),
    prefix: fc.constantFrom('', '', '', '/', '//', '/x'),
    upper: fc.boolean(),
    names: fc.array(fc.tuple(fc.nat(20), fc.constantFrom(...values)), { maxLength: 3 }),
  })
  .map(({ endpoint, segments, slashes, prefix, upper, names }) => {
    let at = 0
    const filled = endpoint.path.replaceAll(/:[a-z_]+/g, () => segments[at++] ?? '')
    const known = [...Object.keys(endpoint.query), 'pretty', 'wait_for_complete', 'nonsense', '%zz', '__proto__']
    const query = names.map(([nth, value]) => `${known[nth % known.length]}=${value}`).join('&')
    const path = `${prefix}${upper ? filled.toUpperCase() : filled}${slashes}`
    return query === '' ? path : `${path}?${query}`
  })
  .map((text) => text.replaceAll(' ', '%20').replaceAll('é', '%C3%A9'))
  .filter(sendable)

t.test('resolveUrl gives what a real request leads to', { timeout: 120_000 }, async (t) => {
  const server = await startServer(t, async () => cachedResponse(body))
  const known = await callers(server)
  let valid = 0
  const check = async (text: string, name: string) => {
    const real = await requested(server, text, name)
    if ('request' in real) valid += 1
    t.strictSame(resolved(server, text, known.get(name) as Caller), real, `${name} ${text}`)
  }
  for (const { path } of reads) {
    await check(
      path
        .replaceAll(':node_ids', '*')
        .replaceAll(':agent_id', '001')
        .replaceAll(/:[a-z_]+/g, 'x'),
      'alice',
    )
  }
  await fc.assert(fc.asyncProperty(url, fc.constantFrom('alice', 'bob'), check), { numRuns: 200 })
  t.ok(valid > 40, `${valid} of them are valid`)
})

t.test('a URL that is no path is rejected with 604, as the parameter that it is', async (t) => {
  const server = await startServer(t, async () => cachedResponse(body))
  const caller: Caller = { name: 'alice', permissions: ['*'] }
  for (const text of ['', 'agents', 'http://edge/agents', '/agents x', '/agents\t', '/é', '*', '?x', '/agents#x']) {
    t.match(
      resolved(server, text, caller),
      { status: 400, body: { error: 604, message: /The url must be a path/ } },
      text,
    )
  }
  for (const text of ['//', '///?x'])
    t.match(resolved(server, text, caller), { status: 404, body: { error: 603 } }, text)
  t.match(resolved(server, '/agents/%zz', caller), { status: 400, body: { error: 614, message: /cannot be decoded/ } })
  t.equal(server.requests.length, 0, 'and nothing is requested')
})

t.test('the request of a resolved URL has no client that could disconnect', async (t) => {
  const { resolveUrl } = await startServer(t, async () => cachedResponse(body))
  const request = resolveUrl('/agents/1?wait_for_complete', { name: 'alice', permissions: ['*'] })
  t.notOk(request.client.signal.aborted)
  t.match(request, { params: { agent_id: '001' }, waitForComplete: true, requestId: /^[0-9a-f-]{36}$/ })
})
