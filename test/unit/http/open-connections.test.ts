/** Hits on a connection that stays open: each request is decided again, and the limits of the connection hold. */
import t, { type Test } from 'tap'
import { putUser } from '../../../src/access/users-file.ts'
import type { EdgeRequest, Handler } from '../../../src/core/request.ts'
import { eventually } from '../../support/eventually.ts'
import { get, openConnection, type RawConnection, statusOf } from './raw-connection.ts'
import { cachedResponse, repeating, startServer, type TestServer, uncachedResponse } from './test-server.ts'

const small = Buffer.from('{"error":0,"data":"small"}')
const hit: Handler = repeating(() => cachedResponse(small))

/** Returns a connection on which a first hit was answered, so that the next one is a repeated hit. */
async function warm(t: Test, server: TestServer, text = get()): Promise<RawConnection> {
  const connection = await openConnection(t, server.port)
  for (let count = 0; count < 2; count++) await connection.ask(text)
  return connection
}

t.test('credentials are checked each time', async (t) => {
  const server = await startServer(t, hit)
  const connection = await warm(t, server)
  await putUser(server.users, 'alice', 'another password', 4)
  await eventually(async () => statusOf(await connection.ask(get())) === 401)
})

t.test('a request is counted once against the limit, also if it is no repeated hit', async (t) => {
  const rates = { hitsPerCaller: { max: () => 5, windowMs: 3_600_000 } }
  let isHit = true
  const slow: Handler = async () => cachedResponse(small, { fwd: 'uri-miss' })
  const server = await startServer(
    t,
    repeating(
      (request) => (isHit ? hit(request) : slow(request)),
      () => isHit,
    ),
    {},
    { rates },
  )
  const connection = await warm(t, server)
  const statuses: number[] = []
  for (const next of [true, false, true, true]) {
    isHit = next
    statuses.push(statusOf(await connection.ask(get())))
  }
  t.strictSame(statuses, [200, 200, 200, 429])
})

t.test('the pipeline is called once for a request that is no hit', async (t) => {
  let answer: Handler = hit
  const server = await startServer(
    t,
    repeating(
      (request) => answer(request),
      () => answer === hit,
    ),
  )
  const connection = await warm(t, server)
  const others: Record<string, Handler> = {
    'a response that is fetched': async () => cachedResponse(Buffer.from('{"error":0,"data":"new"}')),
    'a response that is not stored': () => uncachedResponse(Buffer.from('{"error":0,"data":"x"}')),
    'an error': async () => {
      throw new Error('unexpected')
    },
    'an error at once': () => {
      throw new Error('unexpected')
    },
    'a response that needs to know of a disconnect': async ({ client: { signal } }) => {
      t.notOk(signal.aborted)
      return cachedResponse(small)
    },
  }
  for (const [name, handler] of Object.entries(others)) {
    answer = handler
    const before = server.requests.length
    const response = await connection.ask(get())
    t.equal(server.requests.length - before, 1, `${name}: one call`)
    t.equal(statusOf(response), name.startsWith('an error') ? 500 : 200)
    answer = hit
    t.equal(statusOf(await connection.ask(get())), 200, 'the next hit')
  }
})

t.test('a refresh that begins after the response can use the request of the client', async (t) => {
  let last: EdgeRequest | undefined
  const server = await startServer(t, (request) => {
    last = request
    return hit(request)
  })
  await warm(t, server)
  t.equal(last && { ...last }.client.signal.aborted, false)
})

t.test('host names and addresses of clients follow a reload', async (t) => {
  let client = '192.0.2.1'
  const server = await startServer(t, hit, { clientAddress: () => ({ address: client }) })
  const connection = await warm(t, server)
  client = '192.0.2.2'
  await server.reload({ hosts: [] })
  await connection.ask(get())
  t.equal(JSON.parse(server.logLines.at(-1) ?? '').client, '192.0.2.2')
  await server.reload({ hosts: ['other'] })
  t.equal(statusOf(await connection.ask(get())), 421)
})

t.test('a connection is closed when it is idle for too long', async (t) => {
  const timeouts = { headers: 10_000, body: 10_000, write: 10_000, expect: 10_000, idle: 500 }
  const server = await startServer(t, hit, {}, { timeouts })
  const connection = await warm(t, server)
  await eventually(connection.isClosed)
})

t.test('a reload of the idle timeout holds for all connections', async (t) => {
  const timeouts = { headers: 10_000, body: 10_000, write: 10_000, expect: 10_000, idle: 60_000 }
  const server = await startServer(t, hit, {}, { timeouts })
  const connections = [await warm(t, server), await warm(t, server)]
  await server.reload({ timeouts: { ...timeouts, idle: 1000 } })
  for (const connection of connections) t.match(await connection.ask(get()), /^Keep-Alive: timeout=1\r$/m)
  await eventually(() => connections.every(({ isClosed }) => isClosed()))
})

t.test('a graceful shutdown closes connections after their next response, and idle ones', async (t) => {
  const server = await startServer(t, hit)
  const [active, idle] = [await warm(t, server), await warm(t, server)]
  const drained = server.listener.drain({ delay: 2000, limit: 60_000 })
  t.match(await active.ask(get()), /^connection: close\r$/im)
  t.equal(await drained, true)
  await eventually(() => active.isClosed() && idle.isClosed())
})

t.test('the connection of a client that does not read its responses is closed', async (t) => {
  // More than the buffers of the system can take: Linux allows 32 MB to receive and 4 MB to send.
  const large = Buffer.from(JSON.stringify({ error: 0, data: 'x'.repeat(128 * 1024 * 1024) }))
  const timeouts = { headers: 60_000, body: 60_000, write: 300, expect: 60_000, idle: 60_000 }
  let answer = cachedResponse(small)
  const server = await startServer(
    t,
    repeating(() => answer),
    {},
    { timeouts, interval: 50 },
  )
  const connection = await warm(t, server)
  answer = cachedResponse(large)
  connection.socket.pause()
  connection.socket.write(get())
  const open = () => new Promise<number>((resolve) => server.listener.servers[0]?.getConnections((_, n) => resolve(n)))
  await eventually(async () => (await open()) === 0)
})

t.test('requests behind a response that is being sent are answered in order', async (t) => {
  const large = Buffer.from(JSON.stringify({ error: 0, data: 'x'.repeat(8 * 1024 * 1024) }))
  const server = await startServer(
    t,
    repeating(({ endpoint }) => cachedResponse(endpoint.path === '/rules' ? large : small)),
  )
  await warm(t, server, get('/agents'))
  const connection = await warm(t, server, get('/rules'))
  const before = connection.text().length
  connection.socket.write(get('/rules'))
  connection.socket.write(get('/agents'))
  const lengths = () =>
    [
      ...connection
        .text()
        .slice(before)
        .matchAll(/^content-length: (\d+)/gm),
    ].map(([, n]) => Number(n))
  await eventually(() => lengths().length === 2)
  t.strictSame(lengths(), [large.length, small.length])
})
