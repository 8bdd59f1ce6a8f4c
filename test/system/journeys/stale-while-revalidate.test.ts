import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { simulated } from '../../support/simulated.ts'
import { together } from '../../support/together.ts'
import { ask } from './edge-mode.ts'

const test = together(t, 2)

const TTL_MS = 100
const FETCH_MS = 500
const CLIENTS = 5

const READS = {
  agents: '/agents/001',
  summary: '/agents/summary',
  manager: '/manager/logs?limit=2',
  cluster: '/cluster/master/logs?limit=2',
  rules: '/rules?limit=2',
  decoders: '/decoders?limit=2',
  lists: '/lists?limit=2',
  syscheck: '/syscheck/001?limit=2',
  rootcheck: '/rootcheck/001?limit=2',
  sca: '/sca/001',
  syscollector: '/syscollector/001/os',
}
const STATUS = ['/manager/status', '/cluster/status', '/cluster/healthcheck', '/cluster/nodes']
const ttl = Object.fromEntries(Object.keys(READS).map((group) => [group, `${TTL_MS}ms`]))

/** An edge whose stale times are the default, in front of a slow node. */
async function edgeOfSlowNode(t: Parameters<typeof simulated>[0]) {
  const settings = { cluster: { discover: false }, cache: { ttl, endpoints: {}, staleWhileRevalidate: null } }
  const { edge, simulator } = await simulated(t, { workers: 0, agents: 5 }, { settings })
  await simulator.faults.set('master', { delay: FETCH_MS })
  const read = async (path: string) => {
    const { body, headers } = await ask(edge, `GET ${path}`)
    return { body, status: headers.get('cache-status') ?? '' }
  }
  return { edge, simulator, read }
}

test('by default, a response of each group is served at once after its TTL, and refreshed', async (t) => {
  const { read } = await edgeOfSlowNode(t)
  const paths = Object.values(READS)
  const check = async (path: string) => {
    await read(path)
    await sleep(2 * TTL_MS)
    t.match(await read(path), { body: { error: 0 }, status: /; hit; ttl=-\d+; detail=stale-while/ }, path)
    await eventually(() => isFreshMeanwhile(path))
  }
  const isFreshMeanwhile = async (path: string) => {
    // Often enough to meet the short lifetime of the response that a stale one has requested.
    for (const end = performance.now() + 2 * FETCH_MS; performance.now() < end; await sleep(TTL_MS / 10))
      if (/; hit; ttl=0$/.test((await read(path)).status)) return true
    return false
  }
  await Promise.all(paths.map(check))
})

test('by default, a response is not served stale after a write to its data', async (t) => {
  const { read, edge } = await edgeOfSlowNode(t)
  t.match((await read(READS.agents)).body, { error: 0 })
  t.match((await ask(edge, 'PUT /agents/001/group/default')).status, 200)
  t.match((await read(READS.agents)).status, /fwd=uri-miss/)
})

test('by default, a client that polls the status slower than its TTL always gets the present one', async (t) => {
  const { read } = await edgeOfSlowNode(t)
  for (let poll = 0; poll < 3; poll += 1) {
    for (const path of STATUS) t.match((await read(path)).status, /fwd=(?:stale|uri-miss); stored/, path)
    await sleep(TTL_MS)
  }
})

test('by default, a status that many clients watch is served without waiting, and within seconds of now', async (t) => {
  const { read, simulator } = await edgeOfSlowNode(t)
  await read('/manager/status')
  const seen = new Set<string>()
  const watch = async () => {
    // Without a pause: the first read may wait for a response, whose short lifetime the others must meet.
    for (let reads = 0; reads < 50; reads += 1) {
      const { status } = await read('/manager/status')
      seen.add(/detail=[\w-]+|fwd=[\w-]+/.exec(status)?.[0] ?? 'fresh')
    }
  }
  await eventually(async () => {
    await Promise.all(Array.from({ length: CLIENTS }, watch))
    return seen.has('detail=stale-while-revalidate')
  })
  await simulator.faults.set('master', { nodeDown: true })
  await eventually(async () => /"error":92\d/.test(JSON.stringify((await read('/manager/status')).body)))
})
