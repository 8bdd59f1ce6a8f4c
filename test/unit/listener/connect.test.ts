/** CONNECT: Node removes its own listeners from the socket before it passes the request on. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { exchange, serve, statuses } from './raw.ts'

const CONNECT = 'CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n'
const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: edge\r\n\r\n`
/** Only the limit of writing is short. */
const timeouts = { headers: 20_000, body: 20_000, write: 300, expect: 20_000, idle: 20_000 }
/** More than the buffers of the system can take: Linux allows 32 MB to receive and 4 MB to send. */
const PART = Buffer.alloc(1024 * 1024, 'x')
const PARTS = 64

t.test('a connection with CONNECT is guarded until it is closed', async (t) => {
  const { port, listener, app } = await serve(t, { timeouts }, (instance) => {
    instance.get('/never', () => new Promise(() => undefined))
    instance.get<{ Params: { count: number } }>('/parts/:count', ({ params }, reply) =>
      reply.send(Readable.from(Array.from({ length: Number(params.count) }, () => PART))),
    )
  })
  const sockets = new Set<Socket>()
  for (const server of listener.servers)
    server.on('connection', (socket: Socket) => {
      sockets.add(socket)
      socket.once('close', () => sockets.delete(socket))
    })
  const areClosed = () => eventually(() => sockets.size === 0)
  const open = async (bytes: string) => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    t.teardown(() => socket.destroy())
    socket.on('error', () => undefined)
    await once(socket, 'connect')
    socket.write(bytes)
    return socket
  }

  for (const [name, before] of Object.entries({ alone: '', 'behind a request in progress': get('/never') })) {
    await t.test(`reset, ${name}`, async () => {
      const socket = await open(before + CONNECT)
      await eventually(() => [...sockets].some((each) => each.bytesRead > before.length))
      socket.resetAndDestroy()
      await areClosed()
    })
  }
  await t.test('silence', async () => {
    await open(CONNECT)
    await areClosed()
  })
  await t.test('a client that does not read the response before it', async (t) => {
    const socket = await open(get(`/parts/${PARTS}`) + CONNECT)
    socket.pause()
    await areClosed()
    t.ok(socket.bytesRead < PARTS * PART.length)
  })
  await t.test('the response before it is sent in full', async (t) => {
    const { text, ended } = await exchange(port, get('/parts/3') + CONNECT)
    t.ok(text.length > 3 * PART.length)
    t.strictSame(statuses(text), [200, 405])
    t.ok(ended)
  })
  t.ok(app.server.listening)
})
