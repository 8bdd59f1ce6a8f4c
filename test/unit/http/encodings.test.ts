import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import t from 'tap'
import type { EdgeResponse } from '../../../src/core/response.ts'
import { pretty } from '../../../src/representation/pretty.ts'
import { cachedResponse, startServer, uncachedResponse } from './test-server.ts'

const rows = (count: number) =>
  Buffer.from(
    JSON.stringify({ error: 0, data: { items: Array.from({ length: count }, (_, id) => ({ id, name: 'é' })) } }),
  )
const large = rows(400)
const small = rows(3)
const decode = { gzip: gunzipSync, br: brotliDecompressSync, identity: (bytes: Buffer) => bytes } as const

t.test('Accept-Encoding selects the coding of a large cached response', async (t) => {
  const server = await startServer(t, async () => cachedResponse(large))
  const table: readonly [accept: string | undefined, coding: keyof typeof decode][] = [
    [undefined, 'identity'],
    ['', 'identity'],
    ['gzip', 'gzip'],
    ['x-gzip', 'gzip'],
    ['GZIP;Q=1.0', 'gzip'],
    ['gzip, deflate, br', 'br'],
    ['br;q=0.5, gzip;q=0.8', 'gzip'],
    ['gzip;q=0, br;q=0', 'identity'],
    ['*', 'br'],
    ['*;q=0.1, br;q=0', 'gzip'],
    ['identity;q=0, gzip;q=0.001', 'gzip'],
    ['identity, gzip;q=0.5', 'identity'],
    ['deflate, zstd', 'identity'],
    ['gzip;q=2', 'identity'],
    ['gzip;x=1', 'identity'],
    [`gzip, ${'x, '.repeat(100)}`, 'identity'],
  ]
  const tags = new Map<string, string>()
  for (const [accept, coding] of table) {
    const response = await server.send('/agents', accept === undefined ? {} : { 'accept-encoding': accept })
    t.equal(response.headers['content-encoding'] ?? 'identity', coding, String(accept).slice(0, 60))
    t.ok(decode[coding](response.body).equals(large), 'the same bytes')
    t.equal(response.headers['content-length'], String(response.body.length))
    t.match(response.headers.vary, /\bAccept-Encoding\b/)
    const tag = String(response.headers.etag)
    t.equal(tags.get(coding) ?? tag, tag)
    tags.set(coding, tag)
  }
  const plain = String(tags.get('identity')).slice(0, -1)
  t.same(Object.fromEntries(tags), { identity: `${plain}"`, gzip: `${plain}-gzip"`, br: `${plain}-br"` })
  for (const [coding, tag] of tags)
    for (const other of tags.keys()) {
      const response = await server.send('/agents', { 'accept-encoding': other, 'if-none-match': tag })
      t.equal(response.status, coding === other ? 304 : 200, `${tag} with ${other}`)
      if (coding === other) t.equal(response.headers.etag, tag)
    }
})

t.test('small and uncached responses are not compressed', async (t) => {
  const responses: Record<string, EdgeResponse> = {
    '/agents': cachedResponse(small),
    '/rules': uncachedResponse(large),
  }
  const server = await startServer(t, async (request) => responses[request.endpoint.path] as EdgeResponse)
  const all = { 'accept-encoding': 'gzip, br' }
  t.equal((await server.send('/agents', all)).headers['content-encoding'], undefined)
  const forced = await server.send('/agents', { 'accept-encoding': 'identity;q=0, gzip' })
  t.equal(forced.headers['content-encoding'], 'gzip', 'unless the client refuses that')
  t.ok(gunzipSync(forced.body).equals(small))
  const uncached = await server.send('/rules', all)
  t.equal(uncached.headers['content-encoding'], undefined)
  t.ok(uncached.body.equals(large))
})

t.test('an indented response is compressed like any other, and has its own entity tags', async (t) => {
  const server = await startServer(t, () => cachedResponse(large))
  const tags = [String((await server.send('/agents')).headers.etag)]
  for (const [coding, decoded] of Object.entries(decode)) {
    const { headers, body } = await server.send('/agents?pretty', { 'accept-encoding': coding })
    t.equal(headers['content-encoding'], coding === 'identity' ? undefined : coding)
    t.ok(decoded(body).equals(pretty(large)))
    const tag = String(headers.etag)
    t.match(tag, coding === 'identity' ? /-pretty"$/ : new RegExp(`-pretty-${coding}"$`))
    tags.push(tag)
    const revalidated = await server.send('/agents?pretty', { 'accept-encoding': coding, 'if-none-match': tag })
    t.equal(revalidated.status, 304)
  }
  t.equal(new Set(tags).size, tags.length)
})

t.test(
  'concurrent first responses are compressed once, and a body that does not shrink is sent as stored',
  async (t) => {
    const noise = Buffer.from(
      JSON.stringify({
        error: 0,
        data: Array.from({ length: 3000 }, (_, at) => ((at * 2654435761) >>> 0).toString(36)).join(''),
      }),
    )
    const byPath: Record<string, EdgeResponse> = {
      '/agents': cachedResponse(large),
      '/rules': cachedResponse(noise),
    }
    const server = await startServer(t, async (request) => byPath[request.endpoint.path] as EdgeResponse)
    const responses = await Promise.all(
      Array.from({ length: 100 }, () => server.send('/agents', { 'accept-encoding': 'gzip' })),
    )
    for (const response of responses) {
      t.equal(response.headers['content-encoding'], 'gzip')
      t.ok(response.body.equals(responses[0]?.body ?? Buffer.alloc(0)))
    }
    t.ok(gunzipSync((await server.send('/rules', { 'accept-encoding': 'gzip' })).body).length === noise.length)
  },
)

t.test('Cache-Status and Age describe how the cache answered', async (t) => {
  let response: EdgeResponse = cachedResponse(small)
  const server = await startServer(t, async () => response)
  const table = [
    [cachedResponse(small, { hit: true, ttl: 4999 }, 1999), 'manager-edge; hit; ttl=4', '1'],
    [
      cachedResponse(small, { hit: true, ttl: -1, detail: 'stale-while-revalidate' }, 7000),
      'manager-edge; hit; ttl=-1; detail=stale-while-revalidate',
      '7',
    ],
    [cachedResponse(small, { fwd: 'uri-miss', stored: true }, 0), 'manager-edge; fwd=uri-miss; stored', '0'],
    [
      cachedResponse(small, { fwd: 'stale', collapsed: true, ttl: 0 }, 0),
      'manager-edge; fwd=stale; collapsed; ttl=0',
      '0',
    ],
    [
      cachedResponse(small, { hit: true, ttl: -1000, detail: { error: 922 } }, 0),
      'manager-edge; hit; ttl=-1; detail=stale-if-error/922',
      '0',
    ],
    [
      cachedResponse(small, { fwd: 'bypass', detail: { trial: 'hit-same' } }, 0),
      'manager-edge; fwd=bypass; detail=trial-hit-same',
      '0',
    ],
    [cachedResponse(small, { fwd: 'request' }, 0), 'manager-edge; fwd=request', '0'],
  ] as const
  for (const [given, status, age] of table) {
    response = given
    const { headers } = await server.send('/agents')
    t.equal(headers['cache-status'], status)
    t.equal(headers.age, age)
  }
})
