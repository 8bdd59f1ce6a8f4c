/** A raw file is streamed to the client at the speed of the client. */
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import t from 'tap'
import type { NodeCall, NodeResult } from '../../../src/core/node-call.ts'
import { eventually } from '../../support/eventually.ts'
import { clusterOf, fakeNode, get } from './fake-node.ts'

const raw = (overrides: Partial<NodeCall> = {}) => get('/rules/files?download=x', { expect: 'stream', ...overrides })

function streamOf(t: Test, result: NodeResult): Readable {
  if (result.ok && result.response.body instanceof Readable) return result.response.body
  t.fail('the response is no stream')
  return Readable.from([])
}

t.test('a file is complete, with type and length', async (t) => {
  const node = await fakeNode(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'text/xml', 'content-length': 9 }).end('<a>ä</a>')
  })
  const cluster = clusterOf(t, node.url)
  const result = await cluster.call(raw())
  t.match(result, { ok: true, response: { status: 200, type: 'text/xml', length: 9 } })
  t.equal(await text(streamOf(t, result)), '<a>ä</a>')
  t.equal(node.seen[0]?.headers.accept, 'text/xml, application/json')
  await eventually(() => cluster.status()[0]?.inFlight === 0)
})

t.test('a response that is no file is read whole', async (t) => {
  const body = '{"error":700,"message":"File does not exist"}'
  const node = await fakeNode(t, (_, response) => {
    response.writeHead(404, { 'content-type': 'application/json' }).end(body)
  })
  t.match(await clusterOf(t, node.url).call(raw()), { ok: true, response: { status: 404, body: Buffer.from(body) } })
})

t.test('XML is unreadable if no file was requested or the status is not 200', async (t) => {
  const node = await fakeNode(t, (request, response) => {
    response.writeHead(request.url === '/500' ? 500 : 200, { 'content-type': 'text/xml' }).end('<a/>')
  })
  const cluster = clusterOf(t, node.url)
  t.match(await cluster.call(get()), { fault: 'unreadable', reason: 'contentType', about: 'text/xml' })
  t.match(await cluster.call({ ...raw(), path: '/500' }), { fault: 'unreadable' })
})

/** A node that sends endless XML and counts the sent bytes. */
async function endlessNode(t: Test) {
  let sent = 0
  let closed = 0
  const node = await fakeNode(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'text/xml' })
    const write = () => {
      do sent += 65_536
      while (!response.destroyed && response.write(Buffer.alloc(65_536, 32)))
    }
    response.on('drain', write).on('close', () => {
      closed += 1
    })
    write()
  })
  return { node, sent: () => sent, closed: () => closed }
}

t.test('a slow client slows down the node', async (t) => {
  const { node, sent, closed } = await endlessNode(t)
  const cluster = clusterOf(t, node.url)
  const body = streamOf(t, await cluster.call(raw()))
  let before = -1
  await eventually(() => {
    const still = sent() === before
    before = sent()
    return still && before > 0
  })
  await new Promise((done) => setTimeout(done, 50))
  t.ok(sent() < 30e6, `${sent()} bytes`)
  t.equal(cluster.status()[0]?.inFlight, 1)
  body.destroy()
  await eventually(() => closed() === 1)
  t.equal(cluster.status()[0]?.inFlight, 0)
})

t.test('limit, deadline and disconnect end the stream with an error', async (t) => {
  const { node, closed } = await endlessNode(t)
  const cluster = clusterOf(t, node.url, { limits: { response: 3_000_000 } })
  const client = new AbortController()
  const tooLarge = streamOf(t, await cluster.call(raw()))
  const late = streamOf(t, await cluster.call(raw({ timeout: 300 })))
  const aborted = streamOf(t, await cluster.call(raw({ signal: client.signal })))
  tooLarge.resume()
  client.abort()
  for (const [stream, message] of [
    [tooLarge, /more than 3000000/],
    [aborted, /client disconnected/],
    [late, /timed out/],
  ] as const) {
    await eventually(() => stream.closed)
    t.match(stream.errored?.message, message)
  }
  await eventually(() => closed() === 3)
  await eventually(() => cluster.status()[0]?.inFlight === 0)
})

t.test('a file that is cut short ends with an error', async (t) => {
  const node = await fakeNode(t, (_, response) => {
    response.writeHead(200, { 'content-type': 'text/xml', 'content-length': 100 })
    response.write('<a>', () => response.destroy())
  })
  const cluster = clusterOf(t, node.url)
  const body = streamOf(t, await cluster.call(raw()))
  await t.rejects(text(body))
  t.match(cluster.status()[0]?.lastFailure, { fault: 'unreadable' })
})
