import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { drain } from '../../../src/listener/drain.ts'
import { serve } from './raw.ts'

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
  const agent = agentFor(t, 50)
  /** What the balancer believes; it asks for readiness every 100 ms. */
  let targets: readonly number[] = replicas.map(({ port }) => port)
  const answers: (Seen & { readonly port: number })[] = []
  const failures: unknown[] = []
  let running = true
  const clients = Array.from({ length: 50 }, async (_, i) => {
    for (let n = i; running; n++) {
      const port = targets[n % targets.length] ?? 0
      await get(port, agent).then(
        (seen) => answers.push({ ...seen, port }),
        (cause) => failures.push({ port, cause }),
      )
      await wait(1)
    }
  })
  await wait(200)
  const began = answers.length
  const clean = drain(leaving.listener, { delay: 500, limit: 10_000 })
  await wait(100)
  targets = [staying.port]
  t.equal(await clean, true, 'ended by itself')
  const ended = answers.length
  await wait(100)
  running = false
  await Promise.all(clients)

  t.strictSame(failures, [], 'no reset')
  t.ok(
    answers.every(({ status }) => status === 200),
    `${answers.length} answers, all 200`,
  )
  const late = answers.slice(began + 100, ended).filter(({ port }) => port === leaving.port)
  t.ok(late.length > 0, `${late.length} requests served while the balancer did not know yet`)
  t.ok(
    late.every(({ closing }) => closing),
    'and each of these answers closed its connection',
  )
})

t.test('a request in progress is answered', async (t) => {
  const { port, listener } = await serve(t, {}, (app) => {
    app.get('/late', async () => {
      await wait(600)
      return { error: 0, data: 'late' }
    })
  })
  const answer = get(port, agentFor(t, 1), '/late')
  await wait(100)
  t.equal(await drain(listener, { delay: 50, limit: 5000 }), true)
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
  t.equal(await drain(listener, { delay: 0, limit: 5000 }), true)
})

t.test('a request that never ends is closed at the limit', async (t) => {
  const { port, listener } = await serve(t, {}, (app) => {
    app.get('/never', () => new Promise(() => undefined))
  })
  const answer = get(port, agentFor(t, 1), '/never').catch((cause: NodeJS.ErrnoException) => cause.code)
  await wait(100)
  t.equal(await drain(listener, { delay: 0, limit: 300 }), false)
  t.equal(await answer, 'ECONNRESET')
})

t.test("Fastify's own close still works afterwards", async (t) => {
  const { listener, app } = await serve(t)
  t.equal(await drain(listener, { delay: 0, limit: 1000 }), true)
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
  await wait(200)
  t.equal(await drain(listener, { delay: 200, limit: 10_000 }), true)
  await Promise.all(clients)
  t.strictSame(failures, [])
  t.ok(answered > 60, `${answered} answers`)
})
