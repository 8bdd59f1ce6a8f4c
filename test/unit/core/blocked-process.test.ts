import { once } from 'node:events'
import { connect } from 'node:net'
import { Worker } from 'node:worker_threads'
import t from 'tap'
import { startDeadline } from '../../../src/core/timing.ts'

/** A server that replies to everything at once, whatever this thread does. */
const ECHO = `
const { createServer } = require('node:net')
const { parentPort } = require('node:worker_threads')
const server = createServer((socket) => socket.pipe(socket)).listen(0, '127.0.0.1')
server.on('listening', () => parentPort.postMessage(server.address().port))
`

t.test('a response that arrived while this process was busy is not too late', async (t) => {
  const worker = new Worker(ECHO, { eval: true })
  t.teardown(() => worker.terminate())
  const [port] = await once(worker, 'message')
  const socket = connect(port, '127.0.0.1')
  t.teardown(() => socket.destroy())
  await once(socket, 'connect')
  const deadline = startDeadline(50, new AbortController().signal, () => performance.now())
  const outcomes: string[] = []
  deadline.signal.addEventListener('abort', () => outcomes.push(deadline.fault()))
  socket.once('data', () => {
    outcomes.push('response')
    deadline.end()
  })
  socket.write('request')
  const busyUntil = performance.now() + 500
  while (performance.now() < busyUntil);
  await once(socket, 'data')
  await new Promise((resolve) => setTimeout(resolve, 1))
  t.strictSame(outcomes, ['response'])
})
