/** Malicious responses: a node is foreign input. */
import { randomBytes } from 'node:crypto'
import zlib from 'node:zlib'
import t from 'tap'
import type { FailureReason } from '../../../src/core/node-faults.ts'
import { BodyCollector } from '../../../src/upstream/body-collector.ts'
import { clusterOf, fakeNode, get, put, rawNode } from './fake-node.ts'

const JSON_TYPE = 'Content-Type: application/json\r\n'
const BODY = '{"error":0,"data":{}}'
const LENGTH = `Content-Length: ${BODY.length}\r\n`
const bomb = zlib.gzipSync(Buffer.alloc(10 * 1024 * 1024))

const bad: Record<
  string,
  { bytes: string | Buffer; end?: boolean; reason: FailureReason | RegExp; about?: string | number }
> = {
  'gzip bomb': {
    bytes: Buffer.concat([
      Buffer.from(`HTTP/1.1 200 OK\r\n${JSON_TYPE}Content-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`),
      bomb,
    ]),
    reason: 'encoded',
  },
  '5,000 times Content-Encoding': {
    bytes: `HTTP/1.1 200 OK\r\n${JSON_TYPE}${'Content-Encoding: gzip\r\n'.repeat(5000)}${LENGTH}\r\n${BODY}`,
    reason: 'headerTooLarge',
  },
  'header of 100 kB': {
    bytes: `HTTP/1.1 200 OK\r\n${JSON_TYPE}${LENGTH}X-A: ${'a'.repeat(100_000)}\r\n\r\n${BODY}`,
    reason: 'headerTooLarge',
  },
  'Content-Length and chunked': {
    bytes: `HTTP/1.1 200 OK\r\n${JSON_TYPE}${LENGTH}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    reason: /cutShort|notHttp|lengthUnclear/,
  },
  'two lengths': {
    bytes: `HTTP/1.1 200 OK\r\n${JSON_TYPE}${LENGTH}Content-Length: 2\r\n\r\n${BODY}`,
    reason: /cutShort|notHttp|lengthUnclear/,
  },
  'no length, and no JSON': {
    bytes: `HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\n\r\n${BODY}`,
    end: true,
    reason: 'lengthUnclear',
  },
  'cut body': {
    bytes: `HTTP/1.1 200 OK\r\n${JSON_TYPE}Content-Length: 900\r\n\r\n${BODY}`,
    end: true,
    reason: 'cutShort',
  },
  'cut chunk': {
    bytes: `HTTP/1.1 200 OK\r\n${JSON_TYPE}Transfer-Encoding: chunked\r\n\r\nff\r\n${BODY}`,
    end: true,
    reason: 'cutShort',
  },
  'flood of 1xx': { bytes: 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(10_000), reason: 'status', about: 103 },
  'flood of 100': { bytes: 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(10_000), reason: 'notHttp' },
  'switch of protocols': {
    bytes: 'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n',
    reason: 'notHttp',
  },
  'status 999': { bytes: `HTTP/1.1 999 Odd\r\n${JSON_TYPE}${LENGTH}\r\n${BODY}`, reason: 'status', about: 999 },
  redirect: {
    bytes: `HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\n${JSON_TYPE}${LENGTH}\r\n${BODY}`,
    reason: 'status',
    about: 302,
  },
  'CR in a header': { bytes: `HTTP/1.1 200 OK\r\nX-A: a\rb\r\n${JSON_TYPE}${LENGTH}\r\n${BODY}`, reason: 'notHttp' },
  'page of HTML': {
    bytes: 'HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\nContent-Length: 4\r\n\r\n<h1>',
    reason: 'contentType',
    about: 'text/html',
  },
  'malformed type': {
    bytes: `HTTP/1.1 200 OK\r\nContent-Type: <script>\r\n${LENGTH}\r\n${BODY}`,
    reason: 'contentType',
    about: 'none',
  },
  'not HTTP at all': { bytes: 'SSH-2.0-OpenSSH_9.2\r\n', reason: 'notHttp' },
}

for (const [name, { bytes, end, ...failure }] of Object.entries(bad)) {
  t.test(`${name} is unreadable for reads and writes`, async (t) => {
    const node = await rawNode(t, bytes, end)
    const cluster = clusterOf(t, node.url)
    const expected = { ok: false, node: 'master', fault: 'unreadable', sent: true, ...failure }
    t.match(await cluster.call(get()), expected)
    t.match(await cluster.call(put()), expected)
    t.equal(node.requests(), 2, 'each call is sent once')
  })
}

t.test('a response beyond the limit is aborted, with and without Content-Length', async (t) => {
  let sent = 0
  const node = await fakeNode(t, (request, response) => {
    response.setHeader('content-type', 'application/json')
    if (request.url === '/declared') return response.setHeader('content-length', 1_000_001).write(' ')
    const write = () => {
      do sent += 65_536
      while (!response.destroyed && sent < 500e6 && response.write(Buffer.alloc(65_536, 32)))
    }
    response.on('drain', write)
    write()
  })
  const limits = { response: 1_000_000 }
  const cluster = clusterOf(t, node.url, { limits })
  const expected = { ok: false, fault: 'tooLarge', sent: true, reason: 'bodyTooLarge', about: 1_000_000 }
  t.match(await cluster.call(get('/declared')), expected)
  t.match(await cluster.call(get('/streamed')), expected)
  t.ok(sent < 50e6, 'the node cannot send the rest')
  t.notOk(cluster.status()[0]?.ejectedFor)
})

t.test('a response in ten thousand chunks is complete', async (t) => {
  const text = JSON.stringify({ error: 0, data: 'x'.repeat(10_000) })
  const chunks = [...text].map((letter) => `1\r\n${letter}\r\n`).join('')
  const node = await rawNode(t, `HTTP/1.1 200 OK\r\n${JSON_TYPE}Transfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`)
  const result = await clusterOf(t, node.url).call(get())
  t.equal(result.ok && result.response.body.toString(), text)
})

t.test('a body is collected in a buffer of its size', async (t) => {
  const bytes = randomBytes(3 * 1024 * 1024 + 1)
  for (const size of [0, 1, 16 * 1024, 16 * 1024 + 1, 1024 * 1024, 1024 * 1024 + 1, bytes.length]) {
    for (const [chunkBytes, contentLength] of [
      [1000, undefined],
      [64 * 1024, size],
      [2 * 1024 * 1024, 1],
      [7777, 0],
    ]) {
      const collector = new BodyCollector(contentLength)
      for (let at = 0; at < size; at += chunkBytes ?? 1)
        collector.append(bytes.subarray(at, Math.min(size, at + (chunkBytes ?? 1))))
      const body = await collector.bytes()
      const isExact = body.equals(bytes.subarray(0, size)) && body.buffer.byteLength === size
      t.ok(isExact, `${size} bytes in chunks of ${chunkBytes}, Content-Length ${contentLength}`)
    }
  }
})

t.test('status 401 is not retried', async (t) => {
  const node = await fakeNode(t, (_, response) => {
    response.writeHead(401, { 'content-type': 'text/plain' }).end('401 Unauthorized')
  })
  const result = await clusterOf(t, node.url).call(get())
  t.match(result, { ok: false, fault: 'refusedCredentials', sent: true })
  t.equal(node.seen.length, 1)
})
