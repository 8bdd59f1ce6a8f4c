import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import t from 'tap'
import type { EdgeResponse } from '../../../src/core/response.ts'
import { kept, startFront } from './front.ts'

const rows = (count: number) =>
  Buffer.from(
    JSON.stringify({ error: 0, data: { items: Array.from({ length: count }, (_, id) => ({ id, name: 'é' })) } }),
  )
const large = rows(400)
const small = rows(3)
const decode = { gzip: gunzipSync, br: brotliDecompressSync, identity: (bytes: Buffer) => bytes } as const

t.test('what a client accepts decides how a large kept answer goes', async (t) => {
  const front = await startFront(t, async () => kept(large))
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
    const reply = await front.ask('/agents', accept === undefined ? {} : { 'accept-encoding': accept })
    t.equal(reply.headers['content-encoding'] ?? 'identity', coding, String(accept).slice(0, 60))
    t.ok(decode[coding](reply.body).equals(large), 'the same bytes')
    t.equal(reply.headers['content-length'], String(reply.body.length))
    t.match(reply.headers.vary, /\bAccept-Encoding\b/)
    const tag = String(reply.headers.etag)
    t.equal(tags.get(coding) ?? tag, tag)
    tags.set(coding, tag)
  }
  const plain = String(tags.get('identity')).slice(0, -1)
  t.same(Object.fromEntries(tags), { identity: `${plain}"`, gzip: `${plain}-gzip"`, br: `${plain}-br"` })
  for (const [coding, tag] of tags)
    for (const other of tags.keys()) {
      const reply = await front.ask('/agents', { 'accept-encoding': other, 'if-none-match': tag })
      t.equal(reply.status, coding === other ? 304 : 200, `${tag} with ${other}`)
      if (coding === other) t.equal(reply.headers.etag, tag)
    }
})

t.test('small answers, indented ones and those that are not kept go as they are', async (t) => {
  const answers: Record<string, EdgeResponse> = {
    '/agents': kept(small),
    '/rules': { kind: 'json', status: 200, body: large },
    '/decoders': kept(large),
  }
  const front = await startFront(t, async (ask) => answers[ask.endpoint.path] as EdgeResponse)
  const all = { 'accept-encoding': 'gzip, br' }
  t.equal((await front.ask('/agents', all)).headers['content-encoding'], undefined)
  const forced = await front.ask('/agents', { 'accept-encoding': 'identity;q=0, gzip' })
  t.equal(forced.headers['content-encoding'], 'gzip', 'unless the client refuses that')
  t.ok(gunzipSync(forced.body).equals(small))
  const notKept = await front.ask('/rules', all)
  t.equal(notKept.headers['content-encoding'], undefined)
  t.ok(notKept.body.equals(large))
  const pretty = await front.ask('/decoders?pretty', all)
  t.equal(pretty.headers['content-encoding'], undefined)
  t.match(pretty.headers.etag, /-pretty"$/)
  t.match(pretty.body.toString(), /^\{\n {3}"error": 0,\n/)
  t.not(pretty.headers.etag, (await front.ask('/decoders')).headers.etag)
  const still = await front.ask('/decoders?pretty', { 'if-none-match': String(pretty.headers.etag) })
  t.equal(still.status, 304)
})

t.test('a hundred first answers are compressed once, and what gains nothing goes as it is', async (t) => {
  const noise = Buffer.from(
    JSON.stringify({
      error: 0,
      data: Array.from({ length: 3000 }, (_, at) => ((at * 2654435761) >>> 0).toString(36)).join(''),
    }),
  )
  const answers: Record<string, EdgeResponse> = { '/agents': kept(large), '/rules': kept(noise) }
  const front = await startFront(t, async (ask) => answers[ask.endpoint.path] as EdgeResponse)
  const replies = await Promise.all(
    Array.from({ length: 100 }, () => front.ask('/agents', { 'accept-encoding': 'gzip' })),
  )
  for (const reply of replies) {
    t.equal(reply.headers['content-encoding'], 'gzip')
    t.ok(reply.body.equals(replies[0]?.body ?? Buffer.alloc(0)))
  }
  t.ok(gunzipSync((await front.ask('/rules', { 'accept-encoding': 'gzip' })).body).length === noise.length)
})

t.test('each answer tells how the cache dealt with it', async (t) => {
  let answer: EdgeResponse = kept(small)
  const front = await startFront(t, async () => answer)
  const table = [
    [kept(small, { hit: true, ttl: 4999 }, 1999), 'manager-edge; hit; ttl=4', '1'],
    [
      kept(small, { hit: true, ttl: -1, detail: 'revalidating' }, 7000),
      'manager-edge; hit; ttl=-1; detail=revalidating',
      '7',
    ],
    [kept(small, { fwd: 'uri-miss', stored: true }, 0), 'manager-edge; fwd=uri-miss; stored', '0'],
    [kept(small, { fwd: 'stale', collapsed: true, ttl: 0 }, 0), 'manager-edge; fwd=stale; collapsed; ttl=0', '0'],
    [
      kept(small, { fwd: 'bypass', detail: 'store "a"\r\nx: y' }, 0),
      'manager-edge; fwd=bypass; detail="store \\"a\\"??x: y"',
      '0',
    ],
    [kept(small, { fwd: 'request' }, 0), 'manager-edge; fwd=request', '0'],
  ] as const
  for (const [given, status, age] of table) {
    answer = given
    const { headers } = await front.ask('/agents')
    t.equal(headers['cache-status'], status)
    t.equal(headers.age, age)
  }
})
