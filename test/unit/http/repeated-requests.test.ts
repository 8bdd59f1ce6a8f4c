/** Requests that are repeated on a connection that stays open are answered in front of Node's parser. */
import t, { type Test } from 'tap'
import { putUser } from '../../../src/access/users-file.ts'
import type { EdgeRequest, Handler } from '../../../src/core/request.ts'
import { drain } from '../../../src/listener/drain.ts'
import { eventually } from '../../support/eventually.ts'
import { get, masked, openConnection, type RawConnection, statusOf } from './raw-connection.ts'
import { cachedResponse, startServer, type TestServer } from './test-server.ts'

const small = Buffer.from('{"error":0,"data":"small"}')
const hit: Handler = () => cachedResponse(small)
/** Requests until a repetition is not parsed: to know the URL, to read the connection, to find a border, to remember. */
const WARM_UP = 4

/** Returns a connection on which the next request with these bytes is a repetition. */
async function warm(t: Test, server: TestServer, text = get()): Promise<RawConnection> {
  const connection = await openConnection(t, server.port)
  for (let count = 0; count < WARM_UP; count++) await connection.ask(text)
  return connection
}

/** Sends a repetition, and returns its response and how many requests Node has parsed for it. */
async function repeat(server: TestServer, connection: RawConnection, text = get()) {
  const before = server.parsed()
  const response = await connection.ask(text)
  return { response, parsed: server.parsed() - before }
}

t.test('a repetition has the same response, log line and event, and is not parsed', async (t) => {
  const events: object[] = []
  const server = await startServer(t, hit, { observe: (event) => void events.push(event) })
  const connection = await warm(t, server)
  const parsedOne = connection.text().slice(connection.text().lastIndexOf('HTTP/1.1'))
  const { response, parsed } = await repeat(server, connection)
  t.equal(parsed, 0)
  t.equal(masked(response), masked(parsedOne))
  t.not(/x-request-id: (.*)/.exec(response)?.[1], /x-request-id: (.*)/.exec(parsedOne)?.[1], 'an id of its own')
  const fields = (line = '{}') => ({ ...JSON.parse(line), time: 0, reqId: '', milliseconds: 0 })
  t.strictSame(fields(server.logLines.at(-1)), fields(server.logLines.at(-2)))
  const withoutTimes = (event = {}) => ({ ...event, requestId: '', at: 0, endedAt: 0, ms: 0 })
  t.strictSame(withoutTimes(events.at(-1)), withoutTimes(events.at(-2)))
  t.equal(events.length, WARM_UP + 1)
})

t.test('another connection, HEAD and 304 are answered in the same way', async (t) => {
  const server = await startServer(t, hit)
  const etag = String((await server.send('/agents')).headers.etag)
  for (const text of [get(), get('/agents', [], 'HEAD'), get('/agents', [`If-None-Match: ${etag}`])]) {
    const connection = await warm(t, server, text)
    const before = masked(connection.text().slice(connection.text().lastIndexOf('HTTP/1.1')))
    const { response, parsed } = await repeat(server, connection, text)
    t.equal(masked(response), before)
    t.equal(parsed, 0)
  }
})

t.test('credentials are checked each time', async (t) => {
  const server = await startServer(t, hit)
  const connection = await warm(t, server)
  await putUser(server.users, 'alice', 'another password', 4)
  await eventually(async () => statusOf(await connection.ask(get())) === 401)
})

t.test('a repetition is counted once against the limit, also if it is parsed after all', async (t) => {
  const rates = { hitsPerCaller: { max: WARM_UP + 3, windowMs: 3_600_000 } }
  let isHit = true
  const slow: Handler = async () => cachedResponse(small, { fwd: 'uri-miss' })
  const server = await startServer(t, (request) => (isHit ? hit(request) : slow(request)), {}, { rates })
  const connection = await warm(t, server)
  const statuses: number[] = []
  for (const next of [true, false, true, true]) {
    isHit = next
    statuses.push(statusOf(await connection.ask(get())))
  }
  t.strictSame(statuses, [200, 200, 200, 429])
})

t.test('a repetition that is no hit is parsed, and the pipeline is called once for it', async (t) => {
  let answer: Handler = hit
  const server = await startServer(t, (request) => answer(request))
  const connection = await warm(t, server)
  const others: Record<string, Handler> = {
    'a response that is fetched': async () => cachedResponse(Buffer.from('{"error":0,"data":"new"}')),
    'a response that is not stored': () => ({ kind: 'json', status: 200, body: Buffer.from('{"error":0,"data":"x"}') }),
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
    const { response, parsed } = await repeat(server, connection)
    t.equal(parsed, 1, name)
    t.equal(server.requests.length - before, 1, 'one call')
    t.equal(statusOf(response), name.startsWith('an error') ? 500 : 200)
    answer = hit
    t.equal((await repeat(server, connection)).parsed, 0, 'the next repetition is answered at once again')
  }
})

t.test('a refresh that begins after the response can use the request of the client', async (t) => {
  let last: EdgeRequest | undefined
  const server = await startServer(t, (request) => {
    last = request
    return hit(request)
  })
  const { parsed } = await repeat(server, await warm(t, server))
  t.equal(parsed, 0)
  t.equal(last && { ...last }.client.signal.aborted, false)
})

t.test('after a reload, every request is parsed again once', async (t) => {
  const server = await startServer(t, hit)
  const connection = await warm(t, server)
  server.forgetUrls()
  t.equal((await repeat(server, connection)).parsed, 1)
})

t.test('host names and addresses of clients follow a reload', async (t) => {
  let client = '192.0.2.1'
  const server = await startServer(t, hit, { clientAddress: () => client })
  const connection = await warm(t, server)
  const reload = async (hosts: readonly string[]) => (await server.listener.prepareReload({ hosts }))()
  client = '192.0.2.2'
  await reload([])
  await connection.ask(get())
  t.equal(JSON.parse(server.logLines.at(-1) ?? '').client, '192.0.2.2')
  await reload(['other'])
  t.equal(statusOf(await connection.ask(get())), 421)
})

t.test('a connection with another listener for data is left to Node', async (t) => {
  const server = await startServer(t, hit)
  server.listener.servers[0]?.on('connection', (socket) => socket.on('data', () => undefined))
  const connection = await warm(t, server)
  const { response, parsed } = await repeat(server, connection)
  t.equal(statusOf(response), 200)
  t.equal(parsed, 1)
})

t.test('a connection is closed when it is idle for too long', async (t) => {
  const timeouts = { headers: 10_000, body: 10_000, write: 10_000, expect: 10_000, idle: 500 }
  const server = await startServer(t, hit, {}, { timeouts })
  const connection = await warm(t, server)
  t.equal((await repeat(server, connection)).parsed, 0)
  await eventually(connection.isClosed)
})

t.test('a reload of the idle timeout holds for all connections', async (t) => {
  const timeouts = { headers: 10_000, body: 10_000, write: 10_000, expect: 10_000, idle: 60_000 }
  const server = await startServer(t, hit, {}, { timeouts })
  const connections = [await warm(t, server), await warm(t, server)]
  timeouts.idle = 1000
  ;(await server.listener.prepareReload({ hosts: [] }))()
  for (const connection of connections) t.match(await connection.ask(get()), /^Keep-Alive: timeout=1\r$/m)
  await eventually(() => connections.every(({ isClosed }) => isClosed()))
})

t.test('a graceful shutdown closes connections after their next response, and idle ones', async (t) => {
  const server = await startServer(t, hit)
  const [active, idle] = [await warm(t, server), await warm(t, server)]
  const drained = drain(server.listener, { delay: 2000, limit: 60_000 })
  t.match(await active.ask(get()), /^connection: close\r$/im)
  t.equal(await drained, true)
  await eventually(() => active.isClosed() && idle.isClosed())
})

t.test('the connection of a client that does not read its responses is closed', async (t) => {
  // More than the buffers of the system can take: Linux allows 32 MB to receive and 4 MB to send.
  const large = Buffer.from(JSON.stringify({ error: 0, data: 'x'.repeat(128 * 1024 * 1024) }))
  const timeouts = { headers: 60_000, body: 60_000, write: 300, expect: 60_000, idle: 60_000 }
  let answer = cachedResponse(small)
  const server = await startServer(t, () => answer, {}, { timeouts, interval: 50 })
  const connection = await warm(t, server)
  answer = cachedResponse(large)
  const before = server.parsed()
  connection.socket.pause()
  connection.socket.write(get())
  const open = () => new Promise<number>((resolve) => server.listener.servers[0]?.getConnections((_, n) => resolve(n)))
  await eventually(async () => (await open()) === 0)
  t.equal(server.parsed(), before, 'the request was a repetition')
})

t.test('requests behind a response that is being sent are answered in order', async (t) => {
  const large = Buffer.from(JSON.stringify({ error: 0, data: 'x'.repeat(8 * 1024 * 1024) }))
  const server = await startServer(t, ({ endpoint }) => cachedResponse(endpoint.path === '/rules' ? large : small))
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
