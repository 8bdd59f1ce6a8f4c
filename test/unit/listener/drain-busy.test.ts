import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import t from 'tap'
import { drain } from '../../../src/listener/drain.ts'
import { serve } from './raw.ts'

const CONNECTIONS = 20

/** Opens connections from another thread, signals when all are open, and reports what each of them received. */
const client = `
  const { connect } = require('node:net')
  const { parentPort, workerData: { port, connections, opened } } = require('node:worker_threads')
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
`

t.test(
  'connections that arrive while the process is too busy to accept them are served before the port closes',
  async (t) => {
    const { port, listener } = await serve(t)
    const opened = new Int32Array(new SharedArrayBuffer(4))
    const delay = 300
    const begin = performance.now()
    const ended = drain(listener, { delay, limit: 60_000 })
    const worker = new Worker(client, { eval: true, workerData: { port, connections: CONNECTIONS, opened } })
    const received = once(worker, 'message')
    await once(worker, 'online')
    // This thread is busy: the kernel accepts the connections, and the delay ends meanwhile.
    Atomics.wait(opened, 0, 0)
    while (performance.now() - begin < 2 * delay);
    t.equal(await ended, true)
    t.same(
      (await received)[0],
      Array.from({ length: CONNECTIONS }, () => 'HTTP/1.1 200 OK'),
    )
  },
)
