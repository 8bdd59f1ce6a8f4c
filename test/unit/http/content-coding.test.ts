import { randomBytes } from 'node:crypto'
import { request as send } from 'node:http'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { v4Contract as v4Records } from '../../../src/contracts/v4/index.ts'
import { v4Contract } from '../../../src/http/v4/contract.ts'
import { basic, startServer, uncachedResponse } from './test-server.ts'

/** Of the test server, for any body of the v4 contract. */
const LIMIT = 1_000_000
const agent = (name: string) => Buffer.from(JSON.stringify({ name }))
const LOG_IN = '/security/user/authenticate/run_as'

/** Returns a function that posts a body to an operation that takes any JSON with name and password. */
async function start(t: Test, v4: boolean) {
  const contract = v4Contract({ catalogue: v4Records, releases: () => ({ lowest: '4.5.4' }) })
  const server = await startServer(
    t,
    ({ endpoint }) => uncachedResponse(Buffer.from(endpoint.path)),
    v4 ? { contract } : {},
  )
  const post = (coding: string, body: Buffer) =>
    new Promise<{ status: number; text: string; accepted: unknown }>((resolve, reject) => {
      const headers = {
        authorization: basic('alice'),
        'content-type': 'application/json',
        'content-encoding': coding,
        'content-length': body.length,
      }
      const path = v4 ? LOG_IN : '/agents'
      send({ port: server.port, host: '127.0.0.1', method: 'POST', path, headers }, (response) => {
        let text = ''
        response.on('data', (chunk) => {
          text += chunk
        })
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, text, accepted: response.headers['accept-encoding'] }),
        )
      })
        .on('error', reject)
        .end(body)
    })
  return { server, post }
}

t.test('v4 contract: one layer of gzip is accepted, within the limit of the body and 100 times its size', async (t) => {
  const { server, post } = await start(t, true)
  const large = agent(randomBytes(40_000).toString('hex'))
  const good: readonly (readonly [string, Buffer])[] = [
    ['gzip', gzipSync(agent('a'))],
    ['GZIP', gzipSync(agent('b'))],
    ['x-gzip', gzipSync(agent('c'))],
    ['identity', agent('d')],
    ['gzip', gzipSync(large)],
  ]
  for (const [coding, body] of good) t.equal((await post(coding, body)).status, 200, coding)
  const names = server.requests.map(
    (request) => 'body' in request && 'fields' in request.body && request.body.fields.name,
  )
  t.strictSame(names.slice(0, 4), ['a', 'b', 'c', 'd'])
  t.equal(JSON.stringify({ name: names[4] }), large.toString())

  const packed = gzipSync(agent('x'))
  const damaged = Buffer.from(packed)
  damaged[packed.length - 6] = (damaged[packed.length - 6] ?? 0) ^ 1
  const bad: readonly (readonly [string, number, string, Buffer])[] = [
    ['brotli', 415, 'br', brotliCompressSync(agent('x'))],
    ['deflate', 415, 'deflate', deflateSync(agent('x'))],
    ['unknown', 415, 'foo', agent('x')],
    ['two layers', 415, 'gzip, gzip', gzipSync(packed)],
    ['no gzip', 415, 'gzip', agent('x')],
    ['cut', 415, 'gzip', packed.subarray(0, -4)],
    ['a damaged sum', 415, 'gzip', damaged],
    ['bytes behind', 415, 'gzip', Buffer.concat([packed, Buffer.from('GET / HTTP/1.1\r\n\r\n')])],
    ['more than the limit', 413, 'gzip', gzipSync(agent(randomBytes(LIMIT).toString('hex')))],
    ['more than 100 times its size', 413, 'gzip', gzipSync(agent('x'.repeat(LIMIT - 100)))],
    ['a bomb', 413, 'gzip', gzipSync(Buffer.alloc(50_000_000))],
  ]
  const before = server.requests.length
  for (const [what, status, coding, body] of bad) {
    const { status: found, text, accepted } = await post(coding, body)
    t.equal(found, status, what)
    if (status === 415) t.match(JSON.parse(text), { title: 'Unsupported Media Type', detail: /Content-Encoding/ }, what)
    if (coding !== 'gzip') t.equal(accepted, 'gzip')
  }
  t.equal(server.requests.length, before, 'none of them reached the pipeline')
})

t.test('v3 contract: no coding is accepted, and the error names the header', async (t) => {
  const { server, post } = await start(t, false)
  for (const coding of ['gzip', 'br', 'deflate', 'foo', 'gzip, gzip']) {
    const { status, text, accepted } = await post(coding, gzipSync(agent('x')))
    t.equal(status, 415)
    t.strictSame(JSON.parse(text), { error: 914, message: `Content-Encoding not supported: ${coding}` })
    t.equal(accepted, 'identity')
  }
  t.equal(server.requests.length, 0)
  t.equal((await post('identity', agent('x'))).status, 200)
})

t.test('v4 contract: the refusal of a long body does not name an XML file', async (t) => {
  const { post } = await start(t, true)
  const { status, text } = await post('identity', agent('x'.repeat(LIMIT)))
  t.equal(status, 413)
  t.match(JSON.parse(text), { title: 'Request Entity Too Large', detail: 'Maximum request body size exceeded' })
})
