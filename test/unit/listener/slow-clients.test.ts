import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { together } from '../../support/together.ts'
import { exchange, lastBody, serve, statuses } from './raw.ts'

const test = together(t, 2)

/** Short timeouts of different length, so that the order of events shows which timeout fired. */
const timeouts = { headers: 300, body: 900, write: 300, expect: 300, idle: 600 }
/** Where only the limit of writing is tried: the others must not strike first on a busy machine. */
const roomy = { ...timeouts, headers: 10_000, body: 10_000, idle: 10_000 }
/** Only a test that fails waits this long. */
const PATIENCE = 30_000

test('slow headers are rejected, and the connection is closed', async (t) => {
  const { port } = await serve(t, { timeouts })
  const slow = 'GET / HTTP/1.1\r\nHost: edge\r\n'
  const all = await Promise.all(Array.from({ length: 200 }, () => exchange(port, slow)))
  t.ok(
    all.every(({ ended }) => ended),
    '200 connections closed',
  )
  t.ok(
    all.every(({ text }) => statuses(text)[0] === 408),
    'each with 408',
  )
  t.equal(lastBody(all[0]?.text ?? '').error, 906)
})

test('headers that arrive byte by byte do not extend the timeout', async (t) => {
  const { port } = await serve(t, { timeouts })
  const socket = connect(port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  socket.on('error', () => undefined)
  const closed = new Promise((resolve) => socket.once('close', () => resolve(true)))
  socket.resume()
  socket.write('GET / HTTP/1.1\r\n')
  const drip = setInterval(() => socket.write('a: b\r\n'), 50)
  t.teardown(() => clearInterval(drip))
  t.ok(await Promise.race([closed, wait(PATIENCE, false, { ref: false })]), 'closed')
})

test('a connection without a request is closed', async (t) => {
  const { port } = await serve(t, { timeouts })
  t.ok((await exchange(port, '')).ended)
})

test('a slow body is rejected, and the connection is closed', async (t) => {
  const { port, seen } = await serve(t, { timeouts })
  const head = 'POST / HTTP/1.1\r\nHost: edge\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{'
  const { text, ended, milliseconds } = await exchange(port, head)
  t.strictSame(statuses(text), [408])
  t.equal(lastBody(text).error, 906)
  t.ok(ended)
  t.ok(milliseconds >= timeouts.headers, 'not before its own limit')
  t.strictSame(seen, [], 'the handler never saw it')
})

test('100-continue is answered, and the connection is closed if no body follows', async (t) => {
  const { port, seen } = await serve(t, { timeouts: { ...timeouts, body: 20_000 } })
  const head = 'POST /x HTTP/1.1\r\nHost: edge\r\nContent-Type: application/json\r\nContent-Length: 2\r\n'
  const { text, ended, milliseconds } = await exchange(port, `${head}Expect: 100-continue\r\n\r\n`)
  t.strictSame(statuses(text), [100, 408])
  t.ok(ended && milliseconds < 20_000, 'before the limit of a body')
  t.strictSame(seen, [])

  const good = await exchange(port, `${head}Expect: 100-continue\r\n\r\n{}`)
  t.strictSame(statuses(good.text), [100, 200], 'with a body it is served')
  const rejected = await exchange(port, `${head}Host: other\r\nExpect: 100-continue\r\n\r\n`)
  t.strictSame(statuses(rejected.text), [400], 'no 100 for a rejected request')
})

test('the connection of a client that does not read is closed; that of a slow handler stays open', async (t) => {
  // More than the buffers of the system can take: Linux allows 32 MB to receive and 4 MB to send.
  const big = 'x'.repeat(128 * 1024 * 1024)
  let started = false
  let open = () => {}
  const gate = new Promise<void>((resolve) => {
    open = resolve
  })
  const { port, listener } = await serve(t, { timeouts: roomy }, (app) => {
    app.get('/big', async () => big)
    app.get('/late', async () => {
      started = true
      await gate
      return { error: 0, data: 'late' }
    })
  })
  const late = exchange(port, 'GET /late HTTP/1.1\r\nHost: edge\r\nConnection: close\r\n\r\n')
  await eventually(() => started)
  let closedByEdge = false
  listener.servers[0]?.once('connection', (accepted) =>
    accepted.once('close', () => {
      closedByEdge = true
    }),
  )
  const socket = connect(port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  socket.on('error', () => undefined)
  socket.write('GET /big HTTP/1.1\r\nHost: edge\r\n\r\n')
  socket.pause()
  // The other request has been in progress for longer by then.
  await eventually(() => closedByEdge)
  open()
  let read = 0
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.on('data', (chunk) => {
    read += chunk.length
  })
  socket.resume()
  await closed
  t.ok(read < big.length, 'cut in the middle')
  t.strictSame(statuses((await late).text), [200], 'the late answer came')
})

test('a client that reads slowly but steadily gets the whole response', async (t) => {
  const big = 'x'.repeat(32 * 1024 * 1024)
  const write = 2000
  const { port } = await serve(t, { timeouts: { ...roomy, write } }, (app) => app.get('/big', async () => big))
  const begin = performance.now()
  const socket = connect(port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  let read = 0
  socket.on('data', (chunk) => {
    read += chunk.length
    socket.pause()
    setTimeout(() => socket.resume(), 10)
  })
  socket.write('GET /big HTTP/1.1\r\nHost: edge\r\nConnection: close\r\n\r\n')
  await new Promise((resolve) => socket.once('close', resolve))
  t.ok(read > big.length, `${read} bytes`)
  t.ok(performance.now() - begin > 2 * write, 'the timeout counts from the last progress, not from the beginning')
})

test('an idle connection is closed after its timeout', async (t) => {
  const { port } = await serve(t, { timeouts })
  const { text, ended } = await exchange(port, 'GET / HTTP/1.1\r\nHost: edge\r\n\r\n')
  t.strictSame(statuses(text), [200])
  t.ok(ended)
})
