/** Requests of many connections that arrive in one turn of the event loop. */
import { connect } from 'node:net'
import t from 'tap'
import { measureCpu, measureRuns } from '../../support/event-loop.ts'
import { eventually } from '../../support/eventually.ts'
import { type Served, serve, statuses } from './raw.ts'

const CLIENTS = 400
/** CPU milliseconds: the bound of src/core/turns.ts. */
const MAX_TURN_MS = 20
const STEPS = 250_000

let sum = 0

/** Takes some tenths of a millisecond, as a request that is looked up, validated and sent to a node. */
function work(): void {
  for (let step = 0; step < STEPS; step += 1) sum = Math.imul(sum ^ step, 0x01000193)
}

const requestOf = (at: number) => `GET /work/${at} HTTP/1.1\r\nHost: edge\r\nConnection: close\r\n\r\n`

/** Opens connections and waits until the server has accepted them: it accepts one in each turn. */
async function openAll({ port, app }: Served) {
  let accepted = 0
  app.server.on('connection', () => {
    accepted += 1
  })
  const sockets = Array.from({ length: CLIENTS }, () => connect({ host: '127.0.0.1', port }))
  await eventually(() => accepted === CLIENTS)
  return sockets
}

async function readAll(socket: Awaited<ReturnType<typeof openAll>>[number]): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of socket) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('latin1')
}

t.test('they start in several turns, each of them once', async (t) => {
  const started: string[] = []
  const server = await serve(t, {}, (app) => {
    app.addHook('onRequest', async ({ url }) => {
      started.push(url)
      work()
    })
  })
  t.ok(measureCpu(() => Array.from({ length: CLIENTS }, work)) > 2 * MAX_TURN_MS, 'together they exceed one turn')
  const send = async () => {
    const sockets = await openAll(server)
    for (const [at, socket] of sockets.entries()) socket.write(requestOf(at))
    const texts = await Promise.all(sockets.map(readAll))
    t.strictSame(new Set(texts.map((text) => statuses(text).join())), new Set(['200']))
  }
  const runs = await measureRuns(send, MAX_TURN_MS)
  t.equal(started.length, runs.length * CLIENTS)
  t.equal(new Set(started).size, CLIENTS)
  const longest = Math.min(...runs)
  t.ok(longest < MAX_TURN_MS, `${longest.toFixed(1)} ms in the longest turn`)
})

t.test('a request whose client has disconnected before its start does not run, and is reported', async (t) => {
  let started = 0
  const dropped: unknown[] = []
  const server = await serve(t, { onReject: (rejected) => void dropped.push(rejected) }, (app) => {
    app.addHook('onRequest', async () => {
      started += 1
      work()
    })
  })
  const sockets = await openAll(server)
  const responses = sockets.map(readAll)
  for (const [at, socket] of sockets.entries()) socket.write(requestOf(at))
  for (const socket of sockets.slice(CLIENTS / 2)) socket.resetAndDestroy()
  const ended = await Promise.allSettled(responses)
  t.ok(ended.slice(0, CLIENTS / 2).every(({ status }) => status === 'fulfilled'))
  // A reset may arrive before the request was read: then there was no request.
  t.ok(started >= CLIENTS / 2 && started + dropped.length <= CLIENTS, `${started} started, ${dropped.length} reported`)
})
