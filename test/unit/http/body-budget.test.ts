/** Uploads of many clients at once: together they have a budget of memory, of which a user has half, and each must keep arriving. */
import { once } from 'node:events'
import { IncomingMessage, ServerResponse } from 'node:http'
import { connect, Socket } from 'node:net'
import t from 'tap'
import { envelopeOf } from '../../../src/core/envelope.ts'
import { OF_EDGE } from '../../../src/core/response.ts'
import { BodyBudget } from '../../../src/http/body-budget.ts'
import { openConnection, statusOf } from './raw-connection.ts'
import { basic, startServer } from './test-server.ts'

const UPLOAD = 1_000_000
const COUNT = 20

/** The share of one user, in bodies of the greatest permitted size. */
const SHARE = 4

/** Anyone may upload. */
const authentication = async () => ({
  recall: () => undefined,
  countHit: () => true,
  charge: () => undefined,
  authenticate: async ({ headers }: { headers: { authorization?: string | undefined } }) => ({
    name: headers.authorization ?? '',
    permissions: ['*'],
  }),
})

const head = (length: number | 'chunked', user = 'alice') =>
  [
    'POST /manager/files?path=etc/lists/a HTTP/1.1',
    'Host: edge',
    `Authorization: ${basic(user)}`,
    'Content-Type: application/octet-stream',
    length === 'chunked' ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`,
    '\r\n',
  ].join('\r\n')
const body = Buffer.alloc(UPLOAD, 'a:1\n')

for (const framing of ['with a length', 'chunked'] as const)
  t.test(`${COUNT} uploads ${framing} without their last byte`, async (t) => {
    const handle = async () => envelopeOf({ error: 0, data: 'x' }, OF_EDGE)
    const server = await startServer(t, handle, { authentication })
    const isChunked = framing === 'chunked'
    const part = body.subarray(0, -1)
    const start = isChunked ? `${head('chunked')}${part.length.toString(16)}\r\n` : head(UPLOAD)
    const texts: string[] = Array.from({ length: COUNT }, () => '')
    const sockets: Socket[] = []
    await new Promise<void>((done) => {
      for (const at of texts.keys()) {
        const socket = connect(server.port, '127.0.0.1')
        sockets.push(socket)
        t.teardown(() => socket.destroy())
        socket.on('error', () => undefined)
        socket.on('data', (chunk) => {
          texts[at] = `${texts[at]}${chunk}`
          if (texts.filter((text) => text.includes('"error":946')).length === COUNT - SHARE) done()
        })
        socket.write(start)
        socket.write(part)
      }
    })
    for (const text of texts.filter((each) => each !== '')) {
      t.equal(statusOf(text), 503, text)
      const seconds = Number(/retry-after: (\d+)/i.exec(text)?.[1])
      t.ok(seconds > 0 && seconds <= 30, `Retry-After: ${seconds}`)
    }
    const waiting = sockets.filter((_, at) => texts[at] === '')
    t.ok(waiting.length > 0 && waiting.length <= SHARE, `${waiting.length} uploads are in memory`)
    const upload = async (user: string) => {
      const { ask } = await openConnection(t, server.port)
      return ask(`${head(body.length, user)}${body}`)
    }
    t.equal(statusOf(await upload('bob')), 200, 'another user uploads meanwhile')
    // A body whose client leaves is no longer counted.
    for (const socket of waiting) socket.resetAndDestroy()
    let last = ''
    do last = await upload('alice')
    while (statusOf(last) === 503)
    t.equal(statusOf(last), 200, last)
  })

t.test('users share a budget, of which each has half', async (t) => {
  const budget = new BodyBudget(() => ({ upload: UPLOAD, timeout: 30_000 }))
  const refused = { code: 946 }
  const responseOf = () => new ServerResponse(new IncomingMessage(new Socket()))
  const ofAlice = responseOf()
  const count = budget.open(ofAlice, 'alice')
  count(SHARE * UPLOAD)
  t.throws(() => count(1), refused)
  t.throws(() => budget.open(responseOf(), 'alice')(1), refused)
  budget.open(responseOf(), 'bob')(SHARE * UPLOAD)
  const ofCarol = budget.open(responseOf(), 'carol')
  t.throws(() => ofCarol(1), refused, 'the budget of all is used up')
  ofAlice.emit('close')
  ofCarol(SHARE * UPLOAD)
})

t.test('a body whose client has left before the budget is asked is not counted', async () => {
  const budget = new BodyBudget(() => ({ upload: UPLOAD, timeout: 30_000 }))
  const response = new ServerResponse(new IncomingMessage(new Socket()))
  response.assignSocket(new Socket())
  response.destroy()
  await once(response, 'close')
  budget.open(response, 'alice')(SHARE * UPLOAD)
  const next = new ServerResponse(new IncomingMessage(new Socket()))
  budget.open(next, 'alice')(SHARE * UPLOAD)
})

t.test('a body that stops arriving, or arrives slowly, is ended before its timeout; others are not', async (t) => {
  const body = 3000
  const timeouts = { headers: 5000, body, write: 30_000, expect: 10_000, idle: 72_000 }
  const handle = async () => envelopeOf({ error: 0, data: 'x' }, OF_EDGE)
  const server = await startServer(t, handle, {}, { timeouts, interval: 60_000 })
  const send = async (step: (socket: Socket) => void) => {
    const socket = connect(server.port, '127.0.0.1')
    const timer = setInterval(() => step(socket), 100)
    t.teardown(() => clearInterval(timer))
    socket.on('error', () => undefined)
    socket.write(`${head(UPLOAD)}a:1\n`)
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk
    })
    await once(socket, 'close')
    return text
  }
  const [stopped, slow] = await Promise.all([send(() => undefined), send((socket) => socket.write('#'))])
  t.equal(statusOf(stopped), 408)
  t.equal(statusOf(slow), 408)
  let sent = 4
  const steady = await send((socket) => {
    const bytes = Math.min(UPLOAD - sent, UPLOAD / 20 - ((UPLOAD / 20) % 4))
    sent += bytes
    if (bytes > 0) socket.write(Buffer.alloc(bytes, 'a:1\n'))
    else socket.end()
  })
  t.equal(statusOf(steady), 200, steady)
})
