/** What `src/listener/connections.ts` expects of the code of Node's HTTP server. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { headOf, replaceClose, sendWithHead, type WrittenHead } from '../../../src/listener/node-internals.ts'

/** Sends the bytes to the server. Resolves when the server has emitted the event, to its arguments. */
async function send(t: Test, server: Server, bytes: string, event: string): Promise<unknown[]> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect({ port: (server.address() as AddressInfo).port, allowHalfOpen: true })
  t.teardown(() => {
    client.destroy()
    server.close()
  })
  const emitted = once(server, event)
  client.resume().write(bytes)
  return emitted
}

t.test('a response that closes the connection ends it by destroySoon alone', async (t) => {
  const server = createServer((_request, response) => response.end('x'))
  const closed = new Promise<Socket>((resolve) => {
    server.on('connection', (socket: Socket) => replaceClose(socket, resolve))
  })
  await send(t, server, 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n', 'request')
  const socket = await closed
  await new Promise<void>((resolve) => socket.end(resolve))
  t.notOk(socket.destroyed)
})

t.test('no listener of Node continues a response after CONNECT', async (t) => {
  const bytes = 'GET / HTTP/1.1\r\nHost: a\r\n\r\nCONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n'
  const [, socket] = await send(t, createServer(), bytes, 'connect')
  t.teardown(() => (socket as Socket).destroy())
  t.equal((socket as Socket).listenerCount('drain'), 0)
})

t.test('Node sends a repeated head, and a short body with it in one piece', async (t) => {
  const body = Buffer.from('{"data":"\u00fc"}')
  const pieces: string[] = []
  let head: WrittenHead | undefined
  const server = createServer(({ url = '' }, response) => {
    if (head !== undefined) return sendWithHead(response, head, url, body)
    response.writeHead(200, ['x-request-id', url, 'content-length', String(body.length)])
    head = headOf(response, url)
    response.end(body)
    pieces.length = 0
  })
  server.on('connection', (socket: Socket) => {
    const write = socket.write.bind(socket)
    socket.write = ((...sent: Parameters<typeof write>) => {
      pieces.push(String(sent[0]))
      return write(...sent)
    }) as typeof write
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  for (const id of ['/first', '/second']) {
    const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${id}`)
    t.equal(response.headers.get('x-request-id'), id)
    t.equal(await response.text(), body.toString())
  }
  t.equal(pieces.length, 1)
})
