/** Node may parse what arrives with the end of a TLS handshake before the listener learns of the connection. */
import type { Socket } from 'node:net'
import t from 'tap'
import { exchange, serve, statuses } from './raw.ts'

t.test('an error of such a request is answered once, and the next one does not cut the response', async (t) => {
  const { port, listener } = await serve(t)
  let wasCut: boolean | undefined
  for (const server of listener.servers) {
    const fail = (socket: Socket) => void server.emit('clientError', new Error('a parse error'), socket)
    server.prependListener('connection', fail)
    server.on('connection', (socket: Socket) => {
      fail(socket)
      wasCut = socket.destroyed
    })
  }
  const { text, reset } = await exchange(port, '')
  t.strictSame(statuses(text), [400])
  t.equal(wasCut, false)
  t.notOk(reset)
})
