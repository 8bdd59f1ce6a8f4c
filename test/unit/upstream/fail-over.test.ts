/** What a client gets when a node fails, and who else is asked. */
import type { RequestListener } from 'node:http'
import t from 'tap'
import type { Fault } from '../../faults/proxy.ts'
import { edge, restart } from './edge.ts'
import { ask } from './edge-request.ts'
import { until } from './fake-node.ts'

t.test('each fault has its code, and names the node', async (t) => {
  const long: RequestListener = (_, response) => {
    response.setHeader('content-type', 'application/json').end(`{"error":0,"data":"${'x'.repeat(1_000)}"}`)
  }
  const { master, worker, handle } = await edge(t, long, { ejection: { failures: 100, refusals: 100 } })
  await worker.set({ kind: 'refuse' })
  const cases: [Fault, number, number][] = [
    [{ kind: 'refuse' }, 924, 924],
    [{ kind: 'reset' }, 924, 928],
    [{ kind: 'stall' }, 922, 923],
    [{ kind: 'cut', after: 400 }, 925, 928],
  ]
  for (const [fault, read, write] of cases) {
    await master.set(fault)
    await t.rejects(
      async () => handle(ask('GET', '/agents')),
      { code: read, message: /\(boss: / },
      `${fault.kind}, read`,
    )
    await t.rejects(async () => handle(restart()), { code: write, message: /\(boss: / }, `${fault.kind}, write`)
  }
  t.equal(worker.seen.length, 0)
})

t.test('ejected and overloaded say when to come again', async (t) => {
  const { master, worker, handle, cluster } = await edge(t, () => undefined, { limits: { inFlight: 1, queue: 1 } })
  await worker.set({ kind: 'refuse' })
  const held = [1, 2].map(() => Promise.resolve(handle(restart())).catch((error: unknown) => error))
  await until(() => master.seen.length === 1)
  const retry = { headers: { 'retry-after': /^[0-9]+$/ } }
  await t.rejects(async () => handle(restart()), { code: 921, status: 503, message: /\(boss: queue full\)/, ...retry })
  await Promise.all(held)
  await master.set({ kind: 'refuse' })
  while (cluster.view.isAvailable('boss')) await Promise.resolve(handle(restart())).catch(() => undefined)
  const spent: number[] = []
  for (let i = 0; i < 3; i += 1) {
    const began = performance.now()
    await t.rejects(async () => handle(restart()), { code: 920, status: 503, message: /\(boss: /, ...retry })
    spent.push(performance.now() - began)
  }
  t.ok(Math.min(...spent) < 50)
})

t.test('a password that is refused: the edge has a wrong one, or the caller has', async (t) => {
  const refuse: RequestListener = (_, response) => response.writeHead(401).end()
  const service = await edge(t, refuse)
  await t.rejects(async () => service.handle(ask('GET', '/agents')), { code: 927, status: 502, message: /boss/ })
  const through = await edge(t, refuse, { credentials: { mode: 'passthrough' } })
  const caller = { name: 'ann', permissions: [], credentials: { username: 'ann', password: 'x' } }
  await t.rejects(async () => through.handle(ask('GET', '/agents', { caller })), { code: 901, status: 401 })
})

t.test('the master away: requests go in through a worker', async (t) => {
  const { master, worker, handle, urls, cluster } = await edge(t)
  await master.set({ kind: 'refuse' })
  t.match(await handle(ask('GET', '/agents')), { status: 200 })
  t.match(await handle(restart()), { status: 200 }, 'nothing of the write was sent')
  t.notOk(cluster.view.isAvailable('boss'))
  t.match(await handle(ask('GET', '/manager/info')), { status: 200 })
  t.match(await handle(ask('GET', '/rules')), { status: 200 })
  t.match(await handle(ask('GET', '/experimental/syscollector/os')), { status: 200 })
  await t.rejects(async () => handle(ask('GET', '/cluster/config')), { code: 920 }, 'a worker would speak of itself')
  await t.rejects(async () => handle(ask('GET', '/cluster/:node_id/info', { params: { node_id: 'boss' } })), {
    code: 920,
  })
  t.same(urls(worker), [
    'GET /agents',
    'PUT /agents/001/restart',
    'GET /cluster/boss/info',
    'GET /rules',
    'GET /experimental/syscollector/os',
  ])
})

t.test('a write that may have been seen goes nowhere else; a read may', async (t) => {
  const { master, worker, handle, urls } = await edge(t)
  await master.set({ kind: 'reset' })
  await t.rejects(async () => handle(restart()), { code: 928 })
  t.equal(worker.seen.length, 0)
  t.match(await handle(ask('GET', '/agents')), { status: 200 })
  await master.set({ kind: 'stall' })
  await t.rejects(async () => handle(restart()), { code: 923 })
  await t.rejects(async () => handle(ask('GET', '/agents')), { code: 922 }, 'its time is up')
  t.same(urls(worker), ['GET /agents'])
})

t.test('an unknown node opens no connection', async (t) => {
  const { master, worker, handle } = await edge(t)
  for (const node_id of ['169.254.169.254', 'localhost:6379', '__proto__', 'constructor', 'w9']) {
    await t.rejects(async () => handle(ask('GET', '/cluster/:node_id/status', { params: { node_id } })), { code: 3022 })
  }
  t.equal(master.connections() + worker.connections(), 0)
})
