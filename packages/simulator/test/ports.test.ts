/**
 * Clients that use `fetch` reach every port that a server of the simulator may get, and no server of another process gets the
 * port of one that is down.
 */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import t from 'tap'
import { randomPort } from '../src/free-port.ts'
import { listen } from '../src/listener.ts'

/** Of the ports that `fetch` refuses (Fetch standard, "bad port"). */
const LAST_REFUSED = 10_080
const DRAWS = 200_000

t.test('no port is one that fetch refuses', async (t) => {
  await t.rejects(fetch(`http://127.0.0.1:${LAST_REFUSED}/`), { cause: { message: 'bad port' } })
  const ports = Array.from({ length: DRAWS }, randomPort)
  t.ok(new Set(ports).size > 20_000)
  t.strictSame(
    ports.filter((port) => port <= LAST_REFUSED),
    [],
  )
})

t.test('a server that is down keeps the mark of its port, which others ask for', async (t) => {
  const server = await listen((_, response) => response.end())
  await server.shut()
  const socket = createSocket('udp4').bind(Number(new URL(server.url).port), '127.0.0.1')
  t.teardown(() => socket.close())
  t.match(await once(socket, 'error'), [{ code: 'EADDRINUSE' }])
  await server.open()
  t.equal((await fetch(server.url)).status, 200)
  await server.shut()
})
