/** Requests that arrive in time while this process is busy. */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { Worker } from 'node:worker_threads'
import t, { type Test } from 'tap'
import { serve } from './raw.ts'

const timeouts = { headers: 300, body: 600, write: 30_000, expect: 300, idle: 30_000 }
/** Longer than every timeout above and the interval of the checks. */
const BUSY_MS = 1000

/** Sends the first bytes at once, and the others when the main thread has become busy. Reports what it received. */
const client = `
  const { connect } = require('node:net')
  const { parentPort, workerData: { port, first, second, signals } } = require('node:worker_threads')
  let text = ''
  const socket = connect(port, '127.0.0.1', () => {
    socket.write(first)
    Atomics.wait(signals, 0, 0)
    socket.write(second, () => { Atomics.store(signals, 1, 1); Atomics.notify(signals, 1) })
  })
  socket.on('data', (chunk) => { text += chunk }).on('end', () => parentPort.postMessage(text))
  socket.on('error', ({ code }) => parentPort.postMessage(code))
`

const get = 'GET /x HTTP/1.1\r\nHost: edge\r\nConnection: close\r\n'
const post = `POST /x HTTP/1.1\r\nHost: edge\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: 9\r\n`
const rows: Readonly<Record<string, readonly [first: string, second: string]>> = {
  'a request': ['', `${get}\r\n`],
  'the rest of its headers': [get, '\r\n'],
  'its headers and its body': [post, '\r\n{"a":"b"}'],
  'the rest of its body': [`${post}\r\n{"a":`, '"b"}'],
  'the body after 100 Continue': [`${post}Expect: 100-continue\r\n\r\n`, '{"a":"b"}'],
}

/**
 * Blocks this thread when `bytes` bytes of the connection were read, until the client has sent the others and all timeouts
 * have passed. It does so in the phase of the event loop after which timers run before sockets are read.
 */
function blockAfter(socket: Socket, bytes: number, signals: Int32Array): void {
  if (socket.bytesRead < bytes) return void setTimeout(blockAfter, 1, socket, bytes, signals)
  setImmediate(() => {
    Atomics.store(signals, 0, 1)
    Atomics.notify(signals, 0)
    Atomics.wait(signals, 1, 0, 30_000)
    for (const begin = performance.now(); performance.now() - begin < BUSY_MS; );
  })
}

async function sendWhileBusy(t: Test, first: string, second: string): Promise<string> {
  const { port, listener } = await serve(t, { timeouts })
  const signals = new Int32Array(new SharedArrayBuffer(8))
  listener.servers[0]?.on('connection', (socket) => blockAfter(socket, first.length, signals))
  const worker = new Worker(client, { eval: true, workerData: { port, first, second, signals } })
  const [received] = await once(worker, 'message')
  t.equal(Atomics.load(signals, 1), 1, 'sent while the process was busy')
  return String(received)
}

for (const [name, [first, second]] of Object.entries(rows)) {
  t.test(`${name} that arrives while the process is busy is read, however long the process is busy`, async (t) => {
    t.match(await sendWhileBusy(t, first, second), /HTTP\/1\.1 200 OK/)
  })
}

t.test('a body that does not follow such headers is rejected', async (t) => {
  t.match(await sendWhileBusy(t, '', `${post}\r\n{`), /HTTP\/1\.1 408 .*"error":906/s)
})
