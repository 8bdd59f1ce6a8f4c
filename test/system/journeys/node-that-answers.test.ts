import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { simulated } from '../../support/simulated.ts'
import { ask } from './edge-mode.ts'

const TTL_MS = 20
/** Clients decide by these codes whether the manager is ready. */
const NOT_READY = [1013, 1014, 1017, 1018, 1019]
const groups = ['agents', 'summary', 'manager', 'cluster', 'rules', 'syscheck', 'syscollector']
const ttl = Object.fromEntries(groups.map((group) => [group, `${TTL_MS}ms`]))

const endpoints = { '/manager/info': `${TTL_MS}ms`, '/cluster/:node_id/info': `${TTL_MS}ms` }

const READS = [
  'GET /manager/info',
  'GET /manager/logs?limit=2',
  'GET /agents?limit=2',
  'GET /agents/001',
  'GET /summary/agents',
  'GET /rules?limit=2',
  'GET /cluster/master/info',
  'GET /cluster/healthcheck',
  'GET /cluster/nodes',
]
/** These answer also while the manager is not ready. */
const STATUS = ['GET /manager/status', 'GET /cluster/master/status', 'GET /cluster/status']

type Settings = Readonly<Record<string, unknown>>

async function edgeOfOneNode(t: Parameters<typeof simulated>[0], cache: Settings = {}, cluster: Settings = {}) {
  const settings = {
    cluster: { discover: false, limits: { timeout: '2s' }, ...cluster },
    cache: { ttl, endpoints, ...cache },
  }
  return simulated(t, { workers: 0, agents: 5 }, { settings })
}

t.test('an error of a node that answers passes through, and no older response replaces it', async (t) => {
  const { edge, simulator } = await edgeOfOneNode(t)
  for (const code of NOT_READY) {
    await simulator.faults.clear()
    for (const read of READS) t.match((await ask(edge, read)).body, { error: 0 }, read)
    await simulator.faults.set('master', { error: code })
    await sleep(2 * TTL_MS)
    for (const read of [...READS, ...READS]) t.match((await ask(edge, read)).body, { error: code }, `${code} ${read}`)
  }
})

t.test('a stale response that is served during a refresh gives way to the error of a node that answers', async (t) => {
  const { edge, simulator } = await edgeOfOneNode(t, { staleWhileRevalidate: { agents: '60s' } })
  t.match((await ask(edge, 'GET /agents/001')).body, { error: 0 })
  await simulator.faults.set('master', { error: 1017 })
  await sleep(2 * TTL_MS)
  const deadline = performance.now() + 20_000
  let { body } = await ask(edge, 'GET /agents/001')
  while (body.error === 0 && performance.now() < deadline) body = (await ask(edge, 'GET /agents/001')).body
  t.match(body, { error: 1017 })
  await sleep(1100)
  for (let attempt = 0; attempt < 3; attempt += 1) t.match((await ask(edge, 'GET /agents/001')).body, { error: 1017 })
  await simulator.faults.clear()
  t.match((await ask(edge, 'GET /agents/001')).body, { error: 0 })
})

t.test('a status is never older than its lifetime, also while its node fails', async (t) => {
  const { edge, simulator } = await edgeOfOneNode(t, { staleWhileRevalidate: { manager: '60s', cluster: '60s' } })
  const status = [...STATUS, 'GET /cluster/healthcheck', 'GET /cluster/nodes', 'GET /cluster/nodes/master']
  const others = ['GET /manager/info', 'GET /rules?limit=2']
  for (const read of [...status, ...others]) t.match((await ask(edge, read)).body, { error: 0 }, read)
  await simulator.faults.set('master', { nodeDown: true })
  await sleep(2 * TTL_MS)
  for (const read of status) t.match(await ask(edge, read), { status: /50\d/, body: { error: /92\d/ } }, read)
  for (const read of others) {
    const { body, headers } = await ask(edge, read)
    t.match(body, { error: 0 }, read)
    t.match(headers.get('cache-status'), /detail=stale-/, read)
  }
})

t.test('mode edge: reads and writes that need an owner get the error of a master that is not ready', async (t) => {
  const { edge, simulator } = await edgeOfOneNode(t, {}, { distribution: 'edge' })
  for (const code of NOT_READY) {
    await simulator.faults.set('master', { error: code })
    await sleep(2 * TTL_MS)
    // The first request finds no owner, the later ones find an owner that is not ready.
    for (const request of ['GET /syscheck/001', 'GET /sca/001', 'PUT /agents/001/restart'])
      t.match((await ask(edge, request)).body, { error: code }, `${code} ${request}`)
    const restart = await ask(edge, 'POST /agents/restart', { ids: ['001', '002'] })
    t.match(restart.body, { error: code }, `${code} POST /agents/restart`)
    t.match((await ask(edge, 'PUT /agents/groups/default/restart')).body, { error: code }, `${code} restart of a group`)
    await simulator.faults.clear()
    await eventually(async () => (await ask(edge, 'GET /syscheck/001?limit=1')).body.error === 0)
  }
})
