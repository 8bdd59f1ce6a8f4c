import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { serve } from './raw.ts'

const CLIENTS = 20

interface Seen {
  readonly status: number | undefined
  readonly closing: boolean
}

function get(port: number, agent: Agent, path = '/x'): Promise<Seen> {
  return new Promise((resolve, reject) => {
    const call = request({ port, host: '127.0.0.1', path, agent }, (response) => {
      response.resume()
      response.on('end', () =>
        resolve({ status: response.statusCode, closing: response.headers.connection === 'close' }),
      )
    })
    call.on('error', reject)
    call.end()
  })
}

function agentFor(t: { teardown(fn: () => unknown): unknown }, maxSockets: number): Agent {
  const agent = new Agent({ keepAlive: true, maxSockets })
  t.teardown(() => agent.destroy())
  return agent
}

t.test('two replicas under load, one of them drains: no reset, no 503', async (t) => {
  const replicas = [await serve(t), await serve(t)] as const
  const [leaving, staying] = replicas
  const agent = agentFor(t, CLIENTS)
  /** The replicas that the balancer believes to be ready. */
  let targets: readonly number[] = replicas.map(({ port }) => port)
  let draining = false
  const answers: (Seen & { readonly port: number; readonly late: boolean })[] = []
  const failures: unknown[] = []
  let running = true
  // Clients and both replicas share one event loop, which accepts one connection in each turn. The pause before the port
  // closes lasts 3 s at most, so a busy machine must accept all of them in this time.
  const clients = Array.from({ length: CLIENTS }, async (_, i) => {
    for (let n = i; running; n++) {
      const port = targets[n % targets.length] ?? 0
      const late = draining && port === leaving.port
      await get(port, agent).then(
        (seen) => answers.push({ ...seen, port, late }),
        (cause) => failures.push({ port, cause }),
      )
      await wait(1)
    }
  })
  await eventually(() => answers.length > 200)
  const late = () => answers.filter((answer) => answer.late)
  // The delay is long enough for the balancer to react, also on a busy machine.
  const clean = leaving.listener.drain({ delay: 3000, limit: 60_000 })
  draining = true
  await eventually(() => late().length > 20)
  targets = [staying.port]
  t.equal(await clean, true, 'drained before the limit')
  const ended = answers.length
  await eventually(() => answers.length > ended + 100)
  running = false
  await Promise.all(clients)

  t.strictSame(failures, [], 'no reset')
  t.ok(
    answers.every(({ status }) => status === 200),
    `${answers.length} answers, all 200`,
  )
  t.ok(
    late().every(({ closing }) => closing),
    `each of the ${late().length} responses of the draining replica closed its connection`,
  )
})

t.test('a request in progress is answered', async (t) => {
  let started = false
  let open = () => {}
  const gate = new Promise<void>((resolve) => {
    open = resolve
  })
  const { port, listener } = await serve(t, {}, (app) => {
    app.get('/late', async () => {
      started = true
      await gate
      return { error: 0, data: 'late' }
    })
  })
  const answer = get(port, agentFor(t, 1), '/late')
  await eventually(() => started)
  const clean = listener.drain({ delay: 50, limit: 60_000 })
  await eventually(() => listener.servers.every((server) => !server.listening))
  open()
  t.equal(await clean, true)
  t.strictSame(await answer, { status: 200, closing: true })
})

t.test('idle connections are closed at once', async (t) => {
  const timeouts = { headers: 300, body: 30_000, write: 30_000, expect: 10_000, idle: 72_000 }
  const { port, listener } = await serve(t, { timeouts })
  const agent = agentFor(t, 1)
  await get(port, agent)
  const silent = connect(port, '127.0.0.1')
  t.teardown(() => silent.destroy())
  silent.on('error', () => undefined)
  await new Promise((resolve) => silent.once('connect', resolve))
  // The limit is shorter than the timeout of idle connections, and longer than that of headers.
  t.equal(await listener.drain({ delay: 0, limit: 30_000 }), true)
})

t.test('a request that never ends is closed at the limit', async (t) => {
  let started = false
  const { port, listener } = await serve(t, {}, (app) => {
    app.get('/never', () => {
      started = true
      return new Promise(() => undefined)
    })
  })
  const answer = get(port, agentFor(t, 1), '/never').catch((cause: NodeJS.ErrnoException) => cause.code)
  await eventually(() => started)
  t.equal(await listener.drain({ delay: 0, limit: 300 }), false)
  t.equal(await answer, 'ECONNRESET')
})

t.test("Fastify's own close still works afterwards", async (t) => {
  const { listener, app } = await serve(t)
  t.equal(await listener.drain({ delay: 0, limit: 30_000 }), true)
  await t.resolves(app.close())
})

t.test('clients that reconnect until the port is closed get every response', async (t) => {
  const { port, listener } = await serve(t)
  const failures: unknown[] = []
  let answered = 0
  const clients = Array.from({ length: 60 }, async () => {
    const agent = agentFor(t, 1)
    for (;;) {
      const fault = await get(port, agent).then(
        () => undefined,
        (cause: NodeJS.ErrnoException) => cause,
      )
      if (fault?.code === 'ECONNREFUSED') return
      if (fault) failures.push(fault)
      else answered++
    }
  })
  await eventually(() => answered > 200)
  t.equal(await listener.drain({ delay: 200, limit: 60_000 }), true)
  await Promise.all(clients)
  t.strictSame(failures, [])
})
