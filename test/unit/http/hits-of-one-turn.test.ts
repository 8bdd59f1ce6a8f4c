import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t from 'tap'
import type { RequestEvent } from '../../../src/core/events.ts'
import { basic, cachedResponse, repeating, startServer } from './test-server.ts'

const CLIENTS = 24
const small = Buffer.from('{"error":0,"data":"y"}')

/** Opens connections, and then writes the request of each of them in the same turn of the event loop. */
async function openAll(port: number): Promise<readonly Socket[]> {
  const sockets = Array.from({ length: CLIENTS }, () => connect({ host: '127.0.0.1', port }))
  await Promise.all(sockets.map((socket) => once(socket, 'connect')))
  return sockets
}

const requestFor = (at: number): string =>
  `GET /agents?limit=${(at % 3) + 1} HTTP/1.1\r\nHost: edge\r\nAuthorization: ${basic(at % 2 ? 'alice' : 'bob')}\r\nConnection: close\r\n\r\n`

async function readAll(socket: Socket): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of socket) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('latin1')
}

async function startWarm(t: Parameters<typeof startServer>[0], isFresh: () => boolean) {
  const events: RequestEvent[] = []
  const handle = repeating(() => cachedResponse(small), isFresh)
  const server = await startServer(t, handle, { observe: (event) => void events.push(event) })
  for (const at of Array(6).keys())
    await server.send(`/agents?limit=${(at % 3) + 1}`, { authorization: basic(at % 2 ? 'alice' : 'bob') })
  const known = server.requests.length
  return { server, events: () => events.slice(6), asked: () => server.requests.length - known }
}

t.test('each of the hits that arrive together is answered and reported once', async (t) => {
  const { server, events, asked } = await startWarm(t, () => true)
  const sockets = await openAll(server.port)
  for (const [at, socket] of sockets.entries()) socket.write(requestFor(at))
  for (const text of await Promise.all(sockets.map(readAll))) {
    t.match(text, /^HTTP\/1\.1 200 /)
    t.ok(text.endsWith(`\r\n\r\n${small}`))
  }
  t.equal(asked(), 0, 'all of them were repeated')
  t.equal(new Set(events().map(({ requestId }) => requestId)).size, CLIENTS)
  t.ok(events().every(({ status, bytes, cache }) => status === 200 && bytes === small.length && cache === 'hit'))
})

t.test('a fault of one of them does not touch the others', async (t) => {
  let calls = 0
  const isFresh = () => {
    calls += 1
    if (calls % 5 === 0) throw new Error('unexpected')
    return true
  }
  const { server, events } = await startWarm(t, isFresh)
  calls = 0
  const sockets = await openAll(server.port)
  for (const [at, socket] of sockets.entries()) socket.write(requestFor(at))
  const texts = await Promise.all(sockets.map(readAll))
  const faults = Math.floor(CLIENTS / 5)
  t.equal(texts.filter((text) => text.startsWith('HTTP/1.1 200 ')).length, CLIENTS - faults)
  t.equal(texts.filter((text) => text.startsWith('HTTP/1.1 500 ')).length, faults)
  t.equal(events().filter(({ status }) => status === 500).length, faults)
})

t.test('a client that disconnects is reported once, and the others get their responses', async (t) => {
  const { server, events } = await startWarm(t, () => true)
  const sockets = await openAll(server.port)
  const isGone = (at: number) => at % 4 === 0
  for (const [at, socket] of sockets.entries()) {
    socket.write(requestFor(at))
    if (isGone(at)) socket.resetAndDestroy()
  }
  const texts = await Promise.all(sockets.filter((_, at) => !isGone(at)).map(readAll))
  t.ok(texts.every((text) => text.startsWith('HTTP/1.1 200 ')))
  // A reset may arrive before the request was read: then there was no request.
  t.ok(events().length >= texts.length && events().length <= CLIENTS)
  t.equal(new Set(events().map(({ requestId }) => requestId)).size, events().length)
})
