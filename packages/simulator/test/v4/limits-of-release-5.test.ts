/** The limits of release 5.0, as recorded and measured, and as its documents of September 2026 state them. */
import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { basic, startV4, type V4Ask } from './ask.ts'

const VERSION = '5.0.0'
const LOGIN = 'POST /security/user/authenticate'
const wrong = { authorization: basic('edge', 'wrong') }
const right = { authorization: basic('edge', 'simulated') }
const blocked = { status: 403, json: { title: 'Permission Denied', error: 6000 } }

t.test(
  'the 300 requests of a minute: logins and unknown paths count, methods that a path does not have do not',
  async (t) => {
    let now = new Date('2026-11-22T10:00:00Z')
    const { sim, ask, logIn } = await startV4(t, { version: VERSION, now: () => now, v4: { requestsPerMinute: 4 } })
    const authorization = `Bearer ${await logIn()}`
    t.equal((await ask('GET /nope', { authorization })).status, 404)
    t.equal((await ask('PUT /cluster/status', { authorization })).status, 405)
    t.equal((await ask('GET /agents?limit=1', { authorization })).status, 200)
    t.equal((await ask('GET /agents?limit=1', { authorization })).status, 200)
    const over = { status: 429, json: { title: 'Too Many Requests', error: 6001 } }
    for (const path of ['/agents?limit=1', '/nope']) {
      const reply = await ask(`GET ${path}`, { authorization })
      t.match(reply, over, path)
      t.equal(reply.headers['retry-after'], undefined)
    }
    t.equal(await fromOtherAddress(sim.nodes[0]?.url ?? '', '/agents?limit=1', authorization), 200)
    now = new Date(now.getTime() + 61_000)
    t.equal((await ask('GET /agents?limit=1', { authorization })).status, 200, 'a new window')
    t.equal(sim.v4.refusedRequests('master-node'), 2)
  },
)

/** Sends a request from another loopback address. Returns the status of the response. */
async function fromOtherAddress(url: string, path: string, authorization: string): Promise<number> {
  const socket = connect({ port: Number(new URL(url).port), host: '127.0.0.1', localAddress: '127.0.0.2' })
  socket.end(`GET ${path} HTTP/1.1\r\nhost: node\r\nauthorization: ${authorization}\r\nconnection: close\r\n\r\n`)
  const [head] = (await once(socket, 'data')) as [Buffer]
  socket.destroy()
  return Number(/^HTTP\/1.1 (\d+)/.exec(head.toString('latin1'))?.[1])
}

t.test('ten requests a minute without valid credentials or to unknown paths, with a good token too', async (t) => {
  let now = new Date('2026-11-22T10:00:00Z')
  const v4 = { requestsPerMinute: 300, unauthenticatedPerMinute: 10 }
  const { sim, ask, logIn } = await startV4(t, { version: VERSION, now: () => now, v4 })
  const authorization = `Bearer ${await logIn()}`
  const refused: readonly (readonly [request: string, status: number, authorization: string])[] = [
    ['GET /nope', 404, authorization],
    ['PUT /cluster/status', 405, authorization],
    ['GET /agents', 401, 'Bearer wrong'],
    [LOGIN, 401, wrong.authorization],
  ]
  for (const [request, status, sent] of [...refused, ...refused, ...refused.slice(0, 2)])
    t.equal((await ask(request, { authorization: sent })).status, status, request)
  for (const [request, , sent] of refused)
    t.match(await ask(request, { authorization: sent }), { status: 429, json: { error: 6005 } }, request)
  t.equal((await ask('GET /agents?limit=1', { authorization })).status, 200, 'a good token is not refused')
  t.equal((await ask(LOGIN, right)).status, 200, 'nor is a right login')
  t.equal(sim.v4.unknownRequests('master-node'), 8)
  now = new Date(now.getTime() + 61_000)
  t.equal((await ask('GET /nope', { authorization })).status, 404, 'a new window')
})

t.test(
  'with a limit of five, the fifth failed login and later ones are refused, calls with a token are not',
  async (t) => {
    let now = new Date('2026-11-22T10:00:00Z')
    const { ask, logIn } = await startV4(t, { version: VERSION, now: () => now, v4: { maxFailedLogins: 5 } })
    const authorization = `Bearer ${await logIn()}`
    for (let n = 0; n < 4; n += 1) t.equal((await ask(LOGIN, wrong)).status, 401)
    t.match(await ask(LOGIN, wrong), blocked)
    t.match(await ask(LOGIN, right), blocked)
    const runAs = { ...right, type: 'application/json', body: '{}' }
    t.match(await ask('POST /security/user/authenticate/run_as', runAs), blocked)
    t.equal((await ask('GET /agents?limit=1', { authorization })).status, 200)
    now = new Date(now.getTime() + 300_000)
    t.equal((await ask(LOGIN, right)).status, 200)
  },
)

t.test('failures add up while right logins come', async (t) => {
  let now = new Date('2026-11-22T10:00:00Z')
  const { ask } = await startV4(t, { version: VERSION, now: () => now, v4: { maxFailedLogins: 5 } })
  for (let n = 0; n < 3; n += 1) t.equal((await ask(LOGIN, wrong)).status, 401)
  for (let n = 0; n < 10; n += 1) {
    now = new Date(now.getTime() + 200_000)
    t.equal((await ask(LOGIN, right)).status, 200)
  }
  t.equal((await ask(LOGIN, wrong)).status, 401)
  t.match(await ask(LOGIN, right), blocked)
})

/** Returns the statuses of right logins that are sent at once. */
async function atOnce(ask: V4Ask, count: number): Promise<number[]> {
  const replies = await Promise.all(Array.from({ length: count }, () => ask(LOGIN, right)))
  return replies.map(({ status }) => status).sort()
}

t.test('logins that are being checked count as failed', async (t) => {
  const { ask } = await startV4(t, { version: VERSION, capacity: { scale: 1 }, v4: { maxFailedLogins: 5 } })
  const statuses = await atOnce(ask, 12)
  t.ok(statuses.includes(403) && statuses.filter((status) => status === 200).length >= 4, statuses.join())
  t.strictSame(await atOnce(ask, 4), [200, 200, 200, 200], 'those that succeeded do not')
})

t.test('an idle connection is closed after five seconds', async (t) => {
  const { sim } = await startV4(t, { version: VERSION })
  const socket = connect(Number(new URL(sim.nodes[0]?.url ?? '').port), '127.0.0.1')
  socket.write('GET / HTTP/1.1\r\nhost: node\r\n\r\n')
  await once(socket, 'data')
  const answered = performance.now()
  await once(socket, 'close')
  const idle = performance.now() - answered
  t.ok(idle > 4_000 && idle < 15_000, `${idle} ms`)
})
