import t, { type Test } from 'tap'
import type { Simulator } from '../../../packages/simulator/src/index.ts'
import { samplesOf, sumOf } from '../../support/scrape.ts'
import { allRows, expected, joinedCluster, statusOf } from '../joined/cluster.ts'

const PACKAGES = '/experimental/syscollector/packages'
/** Of these, 100 agents have connected and 5 never did. They have more rows than a manager returns at once. */
const AGENTS = 105
/** One call per connected agent, for the master itself, for its own page, and for the owners of the agents; and some. */
const MAX_CALLS = 107
/** This number of agents is read within the price of one read. They have more rows than a manager returns at once. */
const FEW_AGENTS = 12
/** The calls that one read may cost in front of three nodes. */
const PRICE = 16

/** Returns the calls without probes. */
function countCalls({ seen }: Simulator): number {
  return seen.filter(({ url }) => url !== '/' && url !== '/version').length
}

/** Starts a cluster that distributes requests itself, and an edge whose stored responses do not expire. */
function start(t: Test, agents: number) {
  return joinedCluster(t, {
    distribution: 'manager',
    agents,
    cluster: { limits: { timeout: '60s' } },
    cache: { snapshots: { groups: ['syscollector'] }, ttl: { syscollector: '10m', agents: '10m' } },
  })
}

t.test('once the packages of all agents are collected, no page, sort or filter costs a call', async (t) => {
  const { simulator, get, getComplete } = await start(t, AGENTS)
  const rows = allRows(simulator, 'packages', true)
  t.ok(rows.length > 1000, `${rows.length} rows`)
  t.ok([...simulator.world.agents.values()].some(({ lastKeepAlive }) => lastKeepAlive === undefined))
  // Through the master, agent 000 has the rows of the master only.
  const gaps = [
    { node: 'worker-1', error: { code: 935 } },
    { node: 'worker-2', error: { code: 935 } },
  ]
  const callsFor = async (path: string, query: Readonly<Record<string, string>>) => {
    const before = simulator.seen.length
    const { body, headers, ...rest } = await get(`${path}?${new URLSearchParams(query)}`)
    const { failed_nodes, ...page } = body.data
    const status = statusOf({ body, headers, ...rest })
    t.strictSame(page, expected(rows, query), JSON.stringify(query))
    t.match(failed_nodes, gaps, 'the response names the rows that are missing')
    t.match(status, { 'worker-1': /error=http_response_incomplete/, 'worker-2': /error=http_response_incomplete/ })
    return { calls: simulator.seen.length - before, cache: headers.get('cache-status') ?? '' }
  }
  await getComplete(`${PACKAGES}?limit=10`)
  t.ok(simulator.seen.length <= MAX_CALLS, `${simulator.seen.length} calls for all rows`)
  for (const query of [
    { limit: '10' },
    { limit: '10', offset: '10' },
    { limit: '10', offset: `${rows.length - 5}` },
    { limit: '1000', offset: '1000' },
    { limit: '10', sort: '-version' },
    { limit: '10', sort: 'name', offset: '300' },
    { search: 'lib', sort: 'name', limit: '20' },
    { select: 'name,version', limit: '20' },
  ]) {
    const { calls, cache } = await callsFor(PACKAGES, query)
    t.equal(calls, 0, `${JSON.stringify(query)}: ${cache}`)
    t.match(cache, /^manager-edge; hit/)
  }
  const few = await get(`${PACKAGES}?name=bash&limit=50`)
  t.match(few.headers.get('cache-status'), /fwd=uri-miss/, 'the master has all rows of a filter that finds few')
  t.equal(few.body.data.failed_nodes, undefined)
  t.equal(few.body.data.totalItems, allRows(simulator, 'packages').filter(({ name }) => name === 'bash').length)
  const before = simulator.seen.length
  t.match((await get(`${PACKAGES}?sort=nope`)).body, { error: 1403 })
  t.match((await get(`${PACKAGES}?select=nope`)).body, { error: 1724 })
  for (const filter of ['', '&name=bash']) {
    const { body } = await get(`${PACKAGES}?select=nope&sort=nope${filter}`)
    t.match(body, { error: 1724 }, `of several errors it is that of a node ${filter}`)
  }
  t.equal(simulator.seen.length, before, 'the edge itself refuses what no page can have')
})

t.test('all rows are stored although reading them takes longer than they are fresh', async (t) => {
  const { simulator, get, getComplete } = await joinedCluster(t, {
    distribution: 'manager',
    agents: 40,
    cluster: { limits: { timeout: '60s' } },
    cache: { snapshots: { groups: ['syscollector'] }, ttl: { syscollector: '1s', agents: '10m' } },
  })
  // Two calls at a time.
  await simulator.faults.set('master', { delay: 80 })
  const before = performance.now()
  await getComplete(`${PACKAGES}?limit=10`)
  t.ok(performance.now() - before > 1000)
  // It may be stale on a slow machine, and is served then while it is refreshed.
  const next = await get(`${PACKAGES}?limit=10&sort=name`)
  t.match(next.headers.get('cache-status'), /^manager-edge; hit; .*detail=snapshot/)
})

t.test('a node that fails costs its own rows, once: the other agents are not asked again', async (t) => {
  const { simulator, get } = await start(t, FEW_AGENTS)
  await simulator.faults.set('worker-2', { clusterDown: true })
  const partial = await get(`${PACKAGES}?limit=10&sort=name`)
  const rows = allRows(simulator, 'packages', true).filter(({ agent_id }) => {
    return simulator.world.agents.get(String(agent_id))?.node !== 'worker-2'
  })
  t.equal(partial.body.data.totalItems, rows.length)
  t.match(partial.body.data.failed_nodes, [
    { node: 'worker-1', error: { code: 935 } },
    { node: 'worker-2', error: { code: 3022 } },
  ])
  t.notMatch(partial.headers.get('cache-status'), /stored|hit/)
  const calls = simulator.seen.length
  t.ok(countCalls(simulator) <= PRICE, `${calls} calls`)
  await simulator.faults.clear()
  const whole = await get(`${PACKAGES}?limit=10&sort=-name`)
  t.equal(whole.body.data.totalItems, allRows(simulator, 'packages', true).length)
  const ofAgents = simulator.seen.slice(calls).filter(({ url }) => url.startsWith('/syscollector/'))
  const owners = new Set(ofAgents.map(({ url }) => simulator.world.agents.get(url.split('/')[2] ?? '')?.node))
  t.strictSame(owners, new Set(['worker-2']), 'only agents of the node that failed')
})

t.test('after a write to one agent, the rows of the others are not fetched again', async (t) => {
  const { simulator, getComplete, edge } = await start(t, 40)
  await getComplete(`${PACKAGES}?limit=10`)
  const headers = { authorization: edge.authorization('admin') }
  const removed = await fetch(`${edge.url}/agents/003?purge`, { method: 'DELETE', headers })
  t.match(await removed.json(), { error: 0, data: { affected_agents: ['003'] } })
  const calls = simulator.seen.length
  const { body } = await getComplete(`${PACKAGES}?limit=10&sort=name`)
  t.equal(body.data.totalItems, allRows(simulator, 'packages', true).length)
  t.notOk(body.data.items.some(({ agent_id }) => agent_id === '003'))
  const ofAgents = simulator.seen.slice(calls).filter(({ url }) => url.startsWith('/syscollector/'))
  t.strictSame(
    ofAgents.filter(({ url }) => !url.startsWith('/syscollector/003/')),
    [],
  )
})

t.test('the metric of calls for snapshots counts the calls for the rows of all agents', async (t) => {
  const { simulator, getComplete, edge } = await start(t, 40)
  await getComplete(`${PACKAGES}?limit=10`)
  const forRows = simulator.seen.filter(({ url }) => url.includes('syscollector/'))
  const headers = { authorization: edge.authorization('admin') }
  const samples = samplesOf(await (await fetch(`${edge.operationsUrl}/metrics`, { headers })).text())
  t.ok(forRows.length > 20)
  t.equal(sumOf(samples, 'edge_cache_snapshot_build_calls_total', { group: 'syscollector' }), forRows.length)
})

t.test('collections of more rows than a snapshot may have are read as without snapshots', async (t) => {
  const { simulator, get } = await joinedCluster(t, {
    distribution: 'manager',
    agents: FEW_AGENTS,
    cluster: { limits: { timeout: '60s' } },
    cache: {
      snapshots: { groups: ['syscollector'], maxRows: 1000 },
      ttl: { syscollector: '10m', agents: '10m' },
    },
  })
  const { body } = await get(`${PACKAGES}?limit=10`)
  t.strictSame(body.data.totalItems, allRows(simulator, 'packages', true).length)
  t.ok(countCalls(simulator) <= PRICE, `${countCalls(simulator)} calls: the first page shows that there are too many`)
})
