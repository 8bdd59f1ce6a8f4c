/** A graceful shutdown waits until a slow client has received its response. */
import t from 'tap'
import { drain } from '../../../src/listener/drain.ts'
import { eventually } from '../../support/eventually.ts'
import { get, openConnection } from '../http/raw-connection.ts'
import { cachedResponse, startServer } from '../http/test-server.ts'

const small = Buffer.from('{"error":0,"data":"small"}')
const large = Buffer.from(JSON.stringify({ error: 0, data: 'x'.repeat(32 * 1024 * 1024) }))

const paths = [
  { name: 'on the regular path', fastPath: false, earlier: 1, parsed: 1 },
  { name: 'on the fast path', fastPath: true, earlier: 1, parsed: 1 },
  { name: 'of a repeated request', fastPath: true, earlier: 4, parsed: 0 },
]
for (const { name, fastPath, earlier, parsed } of paths) {
  t.test(`a response ${name} is complete`, async (t) => {
    let body = small
    const server = await startServer(t, () => cachedResponse(body), { fastPath })
    const connection = await openConnection(t, server.port)
    for (let count = 0; count < earlier; count++) await connection.ask(get())
    body = large
    const [before, received, logged] = [server.parsed(), connection.text().length, server.requests.length]
    connection.socket.pause()
    connection.socket.write(get())
    await eventually(() => server.requests.length > logged)
    t.equal(server.parsed() - before, parsed)
    const drained = drain(server.listener, { delay: 0, limit: 60_000 })
    const [listening] = server.listener.servers
    await eventually(() => listening?.listening === false)
    connection.socket.resume()
    await eventually(connection.isClosed)
    t.ok(connection.text().length - received > large.length, 'nothing is cut off')
    t.equal(await drained, true)
  })
}
