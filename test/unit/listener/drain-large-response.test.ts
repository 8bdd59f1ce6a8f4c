/** A graceful shutdown waits until a slow client has received its response. */
import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { get, openConnection } from '../http/raw-connection.ts'
import { cachedResponse, repeating, startServer } from '../http/test-server.ts'

const small = Buffer.from('{"error":0,"data":"small"}')
const large = Buffer.from(JSON.stringify({ error: 0, data: 'x'.repeat(32 * 1024 * 1024) }))

for (const isRepeated of [false, true]) {
  t.test(`a ${isRepeated ? 'repeated hit' : 'response'} is complete`, async (t) => {
    let body = small
    let calls = 0
    const handle = () => {
      calls += 1
      return cachedResponse(body)
    }
    const server = await startServer(t, isRepeated ? repeating(handle) : handle)
    const connection = await openConnection(t, server.port)
    await connection.ask(get())
    body = large
    const [received, called] = [connection.text().length, calls]
    connection.socket.pause()
    connection.socket.write(get())
    await eventually(() => calls > called)
    const drained = server.listener.drain({ delay: 0, limit: 60_000 })
    const [listening] = server.listener.servers
    await eventually(() => listening?.listening === false)
    connection.socket.resume()
    await eventually(connection.isClosed)
    t.ok(connection.text().length - received > large.length, 'nothing is cut off')
    t.equal(await drained, true)
  })
}
