/** A raw download is passed on as it comes, at the pace of the client. */
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import t from 'tap'
import type { NodeCall, NodeResult } from '../../../src/core/node-call.ts'
import { clusterOf, fakeNode, get, until } from './fake-node.ts'

const raw = (more: Partial<NodeCall> = {}) => get('/rules/files?download=x', { expect: 'stream', ...more })

function streamOf(t: Test, result: NodeResult): Readable {
  if (result.ok && result.response.body instanceof Readable) return result.response.body
  t.fail('no stream came')
  return Readable.from([])
}

t.test('a file comes whole, with type and length', async (t) => {
  const node = await fakeNode(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'text/xml', 'content-length': 9 }).end('<a>ä</a>')
  })
  const cluster = clusterOf(t, node.url)
  const result = await cluster.call(raw())
  t.match(result, { ok: true, response: { status: 200, type: 'text/xml', length: 9 } })
  t.equal(await text(streamOf(t, result)), '<a>ä</a>')
  t.equal(node.seen[0]?.headers.accept, 'text/xml, application/json')
  await until(() => cluster.status()[0]?.inFlight === 0)
})

t.test('what is no file is bytes', async (t) => {
  const body = '{"error":700,"message":"File does not exist"}'
  const node = await fakeNode(t, (_, response) => {
    response.writeHead(404, { 'content-type': 'application/json' }).end(body)
  })
  t.match(await clusterOf(t, node.url).call(raw()), { ok: true, response: { status: 404, body: Buffer.from(body) } })
})

t.test('XML that nobody asked for, or with another status, is unreadable', async (t) => {
  const node = await fakeNode(t, (request, response) => {
    response.writeHead(request.url === '/500' ? 500 : 200, { 'content-type': 'text/xml' }).end('<a/>')
  })
  const cluster = clusterOf(t, node.url)
  t.match(await cluster.call(get()), { fault: 'unreadable', detail: 'content type text/xml' })
  t.match(await cluster.call({ ...raw(), path: '/500' }), { fault: 'unreadable' })
})

/** A node that pours XML without end, and counts what it got rid of. */
async function pouring(t: Test) {
  let sent = 0
  let closed = 0
  const node = await fakeNode(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'text/xml' })
    const pour = () => {
      do sent += 65_536
      while (!response.destroyed && response.write(Buffer.alloc(65_536, 32)))
    }
    response.on('drain', pour).on('close', () => {
      closed += 1
    })
    pour()
  })
  return { node, sent: () => sent, closed: () => closed }
}

t.test('a slow client holds the node back', async (t) => {
  const { node, sent, closed } = await pouring(t)
  const cluster = clusterOf(t, node.url)
  const body = streamOf(t, await cluster.call(raw()))
  let before = -1
  await until(() => {
    const still = sent() === before
    before = sent()
    return still && before > 0
  })
  await new Promise((done) => setTimeout(done, 100))
  t.ok(sent() < 30e6, `${sent()} bytes`)
  t.equal(cluster.status()[0]?.inFlight, 1)
  body.destroy()
  await until(() => closed() === 1)
  t.equal(cluster.status()[0]?.inFlight, 0)
})

t.test('cap, deadline and a client that leaves end it, with an error for the reader', async (t) => {
  const { node, closed } = await pouring(t)
  const cluster = clusterOf(t, node.url, { limits: { response: 3_000_000 } })
  const client = new AbortController()
  const capped = streamOf(t, await cluster.call(raw()))
  const late = streamOf(t, await cluster.call(raw({ timeout: 300 })))
  const left = streamOf(t, await cluster.call(raw({ signal: client.signal })))
  capped.resume()
  client.abort()
  for (const [stream, message] of [
    [capped, /more than 3000000/],
    [left, /client left/],
    [late, /no answer in time/],
  ] as const) {
    await until(() => stream.closed)
    t.match(stream.errored?.message, message)
  }
  await until(() => closed() === 3)
  await until(() => cluster.status()[0]?.inFlight === 0)
})

t.test('a file that is cut short ends in an error', async (t) => {
  const node = await fakeNode(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'text/xml', 'content-length': 100 })
    response.write('<a>', () => response.destroy())
  })
  const cluster = clusterOf(t, node.url)
  const body = streamOf(t, await cluster.call(raw()))
  await t.rejects(text(body))
  t.match(cluster.status()[0]?.lastFailure, { fault: 'unreadable' })
})
