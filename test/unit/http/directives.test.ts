import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t from 'tap'
import type { Reuse } from '../../../src/core/request.ts'
import { eventually } from '../../support/eventually.ts'
import { basic, cachedResponse, startServer } from './test-server.ts'

const body = Buffer.from('{"error":0,"data":"x"}')

t.test('cache directives of a request count for callers with cache:purge only', async (t) => {
  const server = await startServer(t, async () => cachedResponse(body))
  const table: readonly [headers: Record<string, string>, expected: Reuse][] = [
    [{}, 'allowed'],
    [{ 'cache-control': 'no-cache' }, 'noCache'],
    [{ 'cache-control': 'No-Store' }, 'noStore'],
    [{ 'cache-control': 'max-age=0' }, 'noCache'],
    [{ 'cache-control': 'no-transform , no-store,no-cache' }, 'noStore'],
    [{ 'cache-control': 'max-age=10' }, 'allowed'],
    [{ 'cache-control': 'x-no-cache' }, 'allowed'],
    [{ pragma: 'no-cache' }, 'noCache'],
    [{ pragma: 'no-cache', 'cache-control': 'max-age=60' }, 'allowed'],
  ]
  for (const [headers, expected] of table) {
    t.equal((await server.send('/agents', headers)).status, 200)
    t.match(server.requests.at(-1), { kind: 'read', reuse: expected }, JSON.stringify(headers))
    t.equal((await server.send('/agents', { ...headers, authorization: basic('bob') })).status, 200)
    t.match(server.requests.at(-1), { kind: 'read', reuse: 'allowed' }, 'and ignored for other callers')
  }
})

t.test('the signal of a request aborts when its client disconnects, whenever it is first read', async (t) => {
  let entered = () => {}
  const seen: boolean[] = []
  const server = await startServer(t, async (request) => {
    const early = request.endpoint.path === '/agents' ? request.client.signal : undefined
    const left = once(sockets.at(-1) as Socket, 'close')
    entered()
    await left
    await eventually(() => (early ?? request.client.signal).aborted)
    seen.push(request.client.signal.aborted)
    return cachedResponse(body)
  })
  const sockets: Socket[] = []
  for (const path of ['/agents', '/rules']) {
    const arrived = new Promise<void>((resolve) => {
      entered = resolve
    })
    const socket = connect(server.port, '127.0.0.1')
    sockets.push(socket)
    socket.write(`GET ${path} HTTP/1.1\r\nHost: edge\r\nAuthorization: ${basic('alice')}\r\n\r\n`)
    await arrived
    socket.resetAndDestroy()
    await eventually(() => seen.length === sockets.length)
  }
  t.same(seen, [true, true])
})
