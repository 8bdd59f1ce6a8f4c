/** A client that stops in the middle of a request does not delay the end of a replica to its limit. */
import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { serve } from './raw.ts'

const HEAD = 'POST /x HTTP/1.1\r\nHost: edge\r\nContent-Type: text/plain\r\nContent-Length: 10\r\n\r\n'

for (const [name, sent] of Object.entries({
  'a body without its end': `${HEAD}half-`,
  'no byte of a body': HEAD,
  'a head without its end': 'GET /x HTTP/1.1\r\nHost:',
  'a second request without its end': `GET /x HTTP/1.1\r\nHost: edge\r\n\r\n${HEAD}half-`,
})) {
  t.test(name, async (t) => {
    const { port, listener } = await serve(t)
    const socket = connect(port, '127.0.0.1')
    t.teardown(() => socket.destroy())
    await once(socket, 'connect')
    let received = ''
    socket.setEncoding('latin1').on('data', (text) => {
      received += text
    })
    const closed = once(socket, 'close')
    socket.write(sent)
    if (sent.startsWith('GET /x HTTP/1.1\r\nHost: edge')) await eventually(() => received.includes('200 OK'))
    const startedAt = performance.now()
    t.equal(await listener.drain({ delay: 0, limit: 60_000 }), true, 'no connection was cut at the limit')
    const ms = performance.now() - startedAt
    t.ok(ms < 20_000, `${Math.round(ms)} ms`)
    await closed
    t.match(received, /408 Request Timeout/)
  })
}
