import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import t from 'tap'
import { serve } from './raw.ts'

const CONNECTIONS = 10

/** On a message, opens connections from another thread. Signals when all are open, and reports what each received. */
const client = `
  const { connect } = require('node:net')
  const { parentPort, workerData: { port, connections, opened } } = require('node:worker_threads')
  parentPort.once('message', () => {
    let open = 0
    const sockets = Array.from({ length: connections }, () => new Promise((resolve) => {
      let text = ''
      const socket = connect(port, '127.0.0.1', () => {
        socket.write('GET /x HTTP/1.1\\r\\nHost: edge\\r\\n\\r\\n')
        if (++open === connections) { Atomics.store(opened, 0, 1); Atomics.notify(opened, 0) }
      })
      socket.on('data', (chunk) => { text += chunk }).on('end', () => resolve(text.slice(0, 15)))
      socket.on('error', ({ code }) => resolve(code))
    }))
    Promise.all(sockets).then((received) => parentPort.postMessage(received))
  })
  parentPort.postMessage('ready')
`

/** Blocks the event loop of this thread. */
function block(milliseconds: number): void {
  const begin = performance.now()
  while (performance.now() - begin < milliseconds);
}

const rows = {
  'before the first turn of the event loop': 0,
  // Longer than the time without a connection after which the port is closed.
  'also after each connection': 130,
}
for (const [when, pause] of Object.entries(rows)) {
  t.test(`a process that is busy ${when} serves waiting connections before it closes the port`, async (t) => {
    const { port, listener } = await serve(t)
    const opened = new Int32Array(new SharedArrayBuffer(4))
    const worker = new Worker(client, { eval: true, workerData: { port, connections: CONNECTIONS, opened } })
    await once(worker, 'message')
    const received = once(worker, 'message')
    const delay = 300
    const ended = listener.drain({ delay, limit: 60_000 })
    for (const server of listener.servers) server.on('connection', () => block(pause))
    worker.postMessage('connect')
    // The kernel accepts the connections, and the delay ends meanwhile.
    t.not(Atomics.wait(opened, 0, 0, 30_000), 'timed-out')
    block(2 * delay)
    t.equal(await ended, true)
    t.same(
      (await received)[0],
      Array.from({ length: CONNECTIONS }, () => 'HTTP/1.1 200 OK'),
    )
  })
}
