/** Whatever the bytes and the chunks, repeated hits have the responses of a server that repeats none. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import t from 'tap'
import type { Handler } from '../../../src/core/request.ts'
import { eventually } from '../../support/eventually.ts'
import { get, masked, openConnection } from './raw-connection.ts'
import { basic, cachedResponse, repeating, startServer, type TestServer, uncachedResponse } from './test-server.ts'

const small = Buffer.from('{"error":0,"data":"small"}')
const medium = Buffer.from(JSON.stringify({ error: 0, data: 'm'.repeat(30_000) }))

/** A hit, at once or later, or a response that is not stored. */
const handle: Handler = ({ endpoint, query }) => {
  if (query.limit === '7') return Promise.resolve(cachedResponse(small))
  if (query.limit === '8') return uncachedResponse(small)
  return cachedResponse(endpoint.path === '/rules' ? medium : small)
}

const post = (body: string) =>
  `POST /security/user/authenticate HTTP/1.1\r\nHost: edge\r\nAuthorization: ${basic('alice')}x\r\n` +
  `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`

const requests = [
  get(),
  get(),
  get('/rules'),
  get('/agents?limit=7'),
  get('/agents?limit=8'),
  get('/agents', [], 'HEAD'),
  get('/agents', ['Connection: close']),
  `${get('/agents', ['Content-Length: 4'])}x\r\n\r`,
  `${get('/agents', ['Transfer-Encoding: chunked'])}1\r\nx\r\n0\r\n\r\n`,
  get().replace(basic('alice'), basic('bob')),
  get().replace(basic('alice'), 'Basic nonsense'),
  get().replace('HTTP/1.1', 'HTTP/1.0'),
  `\r\n${get()}`,
  `${get()}\r\n\r\n`,
  post('{}'),
  post('\r\n\r\n'),
  `${get()}GET /agents HT`,
]

/** One write: some requests, of which one byte may be another one, and the place where the write is split in two. */
const step = fc.record({
  texts: fc.oneof(
    { weight: 4, arbitrary: fc.constant([get()]) },
    { weight: 3, arbitrary: fc.array(fc.constantFrom(...requests), { minLength: 1, maxLength: 1 }) },
    { weight: 1, arbitrary: fc.array(fc.constantFrom(...requests), { minLength: 2, maxLength: 4 }) },
  ),
  changed: fc.option(fc.record({ at: fc.nat(200), byte: fc.constantFrom(' ', '\r', '\n', 'x', ':', '\0', '/') }), {
    freq: 8,
  }),
  split: fc.option(fc.nat(200), { freq: 3 }),
})

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

/** Writes the steps on one connection, closes its write side, and returns what was received until the end. */
async function run(server: TestServer, steps: readonly Step[]) {
  const closings: (() => unknown)[] = []
  const connection = await openConnection({ teardown: (end) => closings.push(end) }, server.port)
  const logged = server.logLines.length
  const write = async (text: string): Promise<void> => {
    if (text !== '' && connection.socket.writable) connection.socket.write(text, 'latin1')
    await eventually(() => server.isSettled(connection.socket))
  }
  for (const { texts, changed, split } of steps) {
    const whole = texts.join('')
    const at = (changed?.at ?? 0) % whole.length
    const text = changed === null ? whole : whole.slice(0, at) + changed.byte + whole.slice(at + 1)
    await write(text.slice(0, split ?? text.length))
    await write(text.slice(split ?? text.length))
  }
  connection.socket.end()
  await eventually(connection.isClosed)
  for (const close of closings) close()
  // The line of the last response is written in a later turn than the response.
  for (let turn = 0; turn < 5; turn += 1) await nextTurn()
  const log = server.logLines.slice(logged).map((line) => {
    const { time: _1, reqId: _2, milliseconds: _3, ...rest } = JSON.parse(line)
    return rest
  })
  return { text: sorted(masked(connection.text())), log }
}

/** Ignores the order of headers, which has no meaning (RFC 9110 section 5.3). */
function sorted(text: string): readonly string[] {
  return text.split(/(?=HTTP\/1\.1 )/).map((one) => {
    const [head = '', ...body] = one.split('\r\n\r\n')
    return [...head.split('\r\n').sort(), ...body].join('\n')
  })
}

t.test('repeated, changed, split and pipelined requests', { timeout: 300_000 }, async (t) => {
  const regular = await startServer(t, handle)
  const fast = await startServer(t, repeating(handle))
  for (const server of [regular, fast]) {
    for (const path of ['/agents', '/rules', '/agents?limit=7', '/agents?limit=8']) await server.send(path)
    await server.send('/agents', { authorization: basic('bob') })
  }
  const splitBody: Step[] = requests.map((text) => ({ texts: [text], changed: null, split: text.length - 3 }))
  const warm: Step[] = [{ texts: [get()], changed: null, split: null }]
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 10 }), async (steps) => {
      const [one, other] = [await run(fast, [...warm, ...steps]), await run(regular, [...warm, ...steps])]
      t.strictSame(one, other)
    }),
    { numRuns: 150, examples: splitBody.map((one) => [[one]]) },
  )
})
