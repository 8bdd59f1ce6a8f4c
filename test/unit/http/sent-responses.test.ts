/** Repeated hits have the bytes of other hits, also on a connection that is used again. */
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import type { Handler } from '../../../src/core/request.ts'
import { basic, cachedResponse, repeating, startServer } from './test-server.ts'

const small = Buffer.from('{"error":0,"data":"small"}')
const large = Buffer.from(JSON.stringify({ error: 0, data: 'x'.repeat(600_000) }))
/** Between the sizes of the other two. */
const medium = Buffer.from(JSON.stringify({ error: 0, data: 'm'.repeat(18_000) }))
const other = Buffer.from(JSON.stringify({ error: 0, data: 'o'.repeat(18_000) }))
const agents = cachedResponse(small)
/** Hits of one stored response at one age: they share a head. */
const responseByPath = new Map([
  ['/agents', agents],
  ['/rules', cachedResponse(large)],
  ['/decoders', cachedResponse(medium)],
  ['/rules/groups', cachedResponse(other)],
])
/** Synchronous, as a hit in the local tier. */
const handle: Handler = ({ endpoint }) => responseByPath.get(endpoint.path) ?? agents

interface Asked {
  readonly path?: string
  readonly method?: string
  readonly version?: string
  readonly headers?: readonly string[]
}

function get({ path = '/agents', method = 'GET', version = '1.1', headers = [] }: Asked = {}): string {
  const lines = ['Host: edge', 'Accept-Encoding: identity', `Authorization: ${basic('alice')}`, ...headers]
  return `${method} ${path} HTTP/${version}\r\n${lines.join('\r\n')}\r\n\r\n`
}

interface Exchanged {
  readonly text: string
  /** The server closed the connection. */
  readonly ended: boolean
}

/** Returns the received text when all responses are complete; a response that closes the connection is awaited until then. */
async function exchange(port: number, texts: readonly string[]): Promise<Exchanged> {
  const socket = connect(port, '127.0.0.1')
  let text = ''
  let ended = false
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1')
  })
  socket.on('end', () => {
    ended = true
  })
  await once(socket, 'connect')
  socket.write(texts.join(''))
  const bodies = texts.map((request) => !request.startsWith('HEAD'))
  while (!ended && (completeResponses(text, bodies) < texts.length || /^connection: close/im.test(text))) await wait(10)
  socket.destroy()
  return { text, ended }
}

/** Returns how many responses are complete; `bodies`: which of them have a body. */
function completeResponses(text: string, bodies: readonly boolean[]): number {
  let at = 0
  for (const [count, hasBody] of bodies.entries()) {
    const end = text.indexOf('\r\n\r\n', at)
    if (end < 0) return count
    const [, length = '0'] = /^content-length: (\d+)/im.exec(text.slice(at, end)) ?? []
    at = end + 4 + (hasBody ? Number(length) : 0)
    if (text.length < at) return count
  }
  return bodies.length
}

/** Replaces what differs between responses. */
function masked(text: string): string {
  return text.replace(/^Date: .*/gm, 'Date').replace(/^x-request-id: .*/gm, 'x-request-id')
}

t.test('head and body equal those of a hit that is not repeated', async (t) => {
  const regular = await startServer(t, handle)
  const fast = await startServer(t, repeating(handle))
  for (const { port } of [regular, fast])
    for (const path of ['/agents', '/rules']) await exchange(port, [get({ path })])
  const etag = String((await regular.send('/agents')).headers.etag)
  const asked: Record<string, Asked> = {
    'a small one': {},
    'a large one': { path: '/rules' },
    'none to HEAD': { method: 'HEAD' },
    '304': { headers: [`If-None-Match: ${etag}`] },
    'on a connection that closes': { headers: ['Connection: close'] },
    'to Expect': { headers: ['Expect: 100-continue'] },
    'to HTTP/1.0': { version: '1.0' },
    'to HTTP/1.0 that stays': { version: '1.0', headers: ['Connection: keep-alive'] },
  }
  for (const [says, request] of Object.entries(asked)) {
    const one = await exchange(regular.port, [get(request)])
    // The second one has the head of the first one.
    for (const time of ['once', 'again']) {
      const other = await exchange(fast.port, [get(request)])
      t.equal(lines(other.text), lines(one.text), `${says}, ${time}`)
      t.equal(other.ended, one.ended, 'and the connection stays open or closes as with Node')
    }
  }
})

t.test('a client whose connection closes because it sent Expect closes no other connection', async (t) => {
  const { port } = await startServer(t, repeating(handle))
  for (const headers of [[], ['Expect: 100-continue']]) await exchange(port, [get({ headers })])
  const { text } = await exchange(port, [get(), get({ headers: ['Connection: close'] })])
  t.match(text, /^Connection: keep-alive/m)
})

/** Ignores the order of headers, which has no meaning (RFC 9110 section 5.3). */
function lines(text: string): string {
  const [head = '', ...body] = masked(text).split('\r\n\r\n')
  return [...head.split('\r\n').sort(), ...body].join('\n')
}

t.test('pipelined requests are answered in order', async (t) => {
  const { port } = await startServer(t, repeating(handle))
  const paths = ['/agents', '/rules', '/agents', '/agents', '/rules', '/agents']
  for (const path of paths) await exchange(port, [get({ path })])
  const { text, ended } = await exchange(
    port,
    paths.map((path) => get({ path })),
  )
  const lengths = [...text.matchAll(/^content-length: (\d+)/gm)].map(([, length]) => Number(length))
  t.strictSame(
    lengths,
    paths.map((path) => (path === '/agents' ? small.length : large.length)),
  )
  t.notOk(ended)
})

t.test('a repeated head is authenticated again, and another head is another caller', async (t) => {
  const callers: unknown[] = []
  const { port } = await startServer(t, repeating(handle), { observe: ({ caller }) => void callers.push(caller) })
  const as = (authorization: string) => `GET /agents HTTP/1.1\r\nHost: edge\r\nAuthorization: ${authorization}\r\n\r\n`
  const wrong = `Basic ${btoa('alice:bob-pw')}`
  const sent = [basic('alice'), basic('alice'), basic('bob'), basic('alice'), wrong, basic('bob')]
  const { text } = await exchange(port, sent.map(as))
  const statuses = [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)
  t.strictSame(statuses, ['200', '200', '200', '200', '401', '200'])
  t.strictSame(callers, ['alice', 'alice', 'bob', 'alice', undefined, 'bob'])
})

t.test('a client that does not read blocks its next requests', async (t) => {
  const { port, requests } = await startServer(t, handle)
  await exchange(port, [get({ path: '/rules' })])
  const before = requests.length
  const socket = connect(port, '127.0.0.1').pause()
  await once(socket, 'connect')
  socket.write(get({ path: '/rules' }).repeat(60))
  while (requests.length === before) await wait(10)
  // Later requests of another client are answered; the ones that wait would have been started by then.
  for (let turn = 0; turn < 20; turn += 1) await exchange(port, [get()])
  const taken = requests.length - before - 20
  t.ok(taken > 0 && taken < 50, `${taken} of 60 were started`)
  let bytes = 0
  socket.on('data', (chunk) => {
    bytes += chunk.length
  })
  socket.resume()
  while (bytes < 60 * large.length) await wait(10)
  t.equal(requests.length - before - 20, 60, 'and all are answered when the client reads on')
  socket.destroy()
})

t.test('a response that waits for its client is not overwritten by others', async (t) => {
  const { port, requests } = await startServer(t, handle)
  for (const path of ['/decoders', '/rules/groups']) await exchange(port, [get({ path })])
  const socket = connect(port, '127.0.0.1').pause()
  await once(socket, 'connect')
  const started = () => requests.filter(({ endpoint }) => endpoint.path === '/decoders').length - 1
  let sent = 0
  // Until the kernel takes no more: the other client is answered, and this one is not.
  for (let blocked = false; !blocked; ) {
    sent += 50
    socket.write(get({ path: '/decoders' }).repeat(50))
    for (let turns = 0; started() < sent && !blocked; turns += 1) {
      const before = started()
      for (let turn = 0; turn < 20; turn += 1) await exchange(port, [get({ path: '/rules/groups' })])
      blocked = turns > 2 && started() === before
    }
  }
  const chunks: Buffer[] = []
  let missing = sent * (medium.length + '\r\n\r\n'.length)
  socket.on('data', (chunk) => {
    chunks.push(chunk)
    missing -= chunk.length
  })
  socket.resume()
  const received = () => Buffer.concat(chunks).toString('latin1')
  const count = (text: string, part: string) => text.split(part).length - 1
  while (missing > 0 || count(received(), '\r\n\r\n') < sent || !received().endsWith('}')) await wait(50)
  const text = received()
  t.equal(count(text, 'HTTP/1.1 200 OK\r\n'), sent, `${sent} responses with their heads`)
  t.equal(count(text, medium.toString()), sent, 'and their own bodies')
  socket.destroy()
})
