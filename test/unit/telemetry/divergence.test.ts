import t from 'tap'
import type { CacheEvent } from '../../../src/core/events.ts'
import { startEdge } from '../../support/edge.ts'
import { edgeRead, success } from '../../support/edge-requests.ts'
import { samplesOf, sumOf } from '../../support/scrape.ts'
import { storedResponse } from '../../support/stored-response.ts'
import { fakeNode } from '../upstream/fake-node.ts'

const DIVERGING = 0.2

/** Every fifth agent changes with each request; for the others only the order of the keys alternates. */
function bodyOf(url: string, round: number): string {
  const agent = Number(url.split('/').at(-1))
  const changing = agent % (1 / DIVERGING) === 0
  const data = changing ? { id: agent, round } : round % 2 === 0 ? { id: agent, name: 'x' } : { name: 'x', id: agent }
  return JSON.stringify({ error: 0, data })
}

t.test('a divergence of one in five is measured within the budget', async (t) => {
  let rounds = 0
  const node = await fakeNode(t, (request, response) => {
    rounds += 1
    const body = bodyOf(request.url ?? '', rounds)
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
    response.end(body)
  })
  const maxPerSecond = 200
  const edge = await startEdge({
    nodes: [{ name: 'master', type: 'master', url: node.url }],
    settings: {
      cluster: { discover: false, limits: { inFlight: 50 } },
      cache: { ttl: { agents: '10m' }, divergenceCheck: { sampleRatio: 0.5, maxPerSecond } },
      access: { limits: { requestsPerSecond: 1e6 } },
    },
  })
  t.teardown(() => edge.close())
  const ask = async (agent: number) => {
    const headers = { authorization: edge.authorization('admin') }
    await (await fetch(`${edge.url}/agents/${String(agent).padStart(3, '0')}`, { headers })).arrayBuffer()
  }
  const agents = Array.from({ length: 100 }, (_, at) => at + 1)
  for (const agent of agents) await ask(agent)
  const fills = node.seen.length
  t.equal(fills, agents.length)
  const began = performance.now()
  const compared = async () => {
    const reply = await fetch(`${edge.operationsUrl}/metrics`, {
      headers: { authorization: edge.authorization('admin') },
    })
    const samples = samplesOf(await reply.text())
    const sum = (outcome: string) => sumOf(samples, 'edge_cache_verified_total', { group: 'agents', outcome })
    return { same: sum('same'), different: sum('different'), none: sum('inconclusive') }
  }
  let found = await compared()
  while (found.same + found.different < 400) {
    for (const agent of agents) await ask(agent)
    found = await compared()
  }
  const seconds = (performance.now() - began) / 1000
  const share = found.different / (found.same + found.different)
  // Whole rounds over all agents are sampled evenly: the spread of 400 samples is 2 %.
  t.ok(Math.abs(share - DIVERGING) < 0.1, `${(share * 100).toFixed(1)} % measured, ${DIVERGING * 100} % injected`)
  t.equal(found.none, 0)
  const asked = node.seen.length - fills
  t.ok(asked <= maxPerSecond * seconds + maxPerSecond, `${asked} comparisons in ${seconds.toFixed(1)} s`)
  t.comment(`${share} of ${asked} in ${seconds} s`)
})

t.test('comparisons stay within the budget, need idle capacity, and are void after a write', async (t) => {
  const { createDivergenceCheck } = await import('../../../src/cache/compare-responses.ts')
  const { catalogue } = await import('../../../src/contracts/index.ts')
  const endpoint = catalogue.find(({ path, method }) => path === '/agents/:agent_id' && method === 'GET')
  if (endpoint === undefined || endpoint.method !== 'GET' || !('group' in endpoint.cache))
    throw new Error('no endpoint')
  let now = 0
  let room = true
  let epoch = '1'
  const events: CacheEvent[] = []
  let asked = 0
  const answer = storedResponse('{"error":0,"data":{"a":1}}', { ttl: 1e6 })
  const look = () =>
    ({
      kind: 'hit',
      epochs: { generation: 'g', epochs: [epoch], fenced: false },
      response: answer,
      age: 1,
      isLocal: true,
    }) as const
  const check = createDivergenceCheck(
    () => ({ divergenceCheck: { sampleRatio: 1, maxPerSecond: 5 } }),
    {
      store: { peek: async () => look() },
      hasIdleCapacity: () => room,
      clock: () => now,
      onEvent: (event) => void events.push(event),
    },
    async () => {
      asked += 1
      return success({ a: 2 })
    },
  )
  const { prepare } = await preparing()
  const ask = edgeRead(endpoint, { params: { agent_id: '001' } })
  const prepared = prepare(ask)
  if (typeof prepared === 'string') throw new Error(prepared)
  const settle = () => new Promise((resolve) => setImmediate(resolve))
  for (let hit = 0; hit < 10_000; hit += 1) {
    now += 1
    check({ request: ask, target: prepared, lookup: look() }, look())
    await settle()
  }
  t.ok(asked >= 49 && asked <= 51, `${asked} in ten seconds at five a second`)
  t.equal(events.length, asked)
  t.match(events[0], { kind: 'verified', group: 'agents', outcome: 'different' })
  room = false
  now += 10_000
  check({ request: ask, target: prepared, lookup: look() }, look())
  await settle()
  t.ok(asked <= 51, 'no idle capacity, no comparison')
  room = true
  const before = look()
  epoch = '2'
  events.length = 0
  check({ request: ask, target: prepared, lookup: before }, before)
  await settle()
  t.strictSame(
    events,
    [{ kind: 'verified', group: 'agents', outcome: 'inconclusive' }],
    'a write happened during the comparison',
  )

  async function preparing() {
    const { createTargetResolver: createPrepare } = await import('../../../src/cache/key.ts')
    const key = { secret: 's', policy: 'p' }
    const durations = { ttl: 1e6, staleWhileRevalidate: 0, staleIfError: 0 }
    return {
      prepare: createPrepare({
        key: () => key,
        nodes: () => [{ name: 'master', type: 'master' }],
        lifetimesOf: () => durations,
      }),
    }
  }
})
