import t from 'tap'
import { edgeMode } from '../journeys/edge-mode.ts'

t.test('in mode edge a trial joins present data only, and compares the joined response', async (t) => {
  const cache = { trial: true, ttl: { agents: '10m', syscollector: '10m' } }
  const { simulator, ask, seen } = await edgeMode(t, { agents: 6, settings: { cache } })
  const call = 'GET /experimental/syscollector/hardware?limit=1000'
  const read = async () => {
    const { headers, body } = await ask(call)
    const agents = body.data.items.map(({ agent_id }: { agent_id: string }) => agent_id)
    const nodes = [...new Set(seen().flatMap((each) => (each.includes('/hardware') ? each.split(' ')[0] : [])))].sort()
    return { agents, status: headers.get('cache-status'), nodes }
  }
  const first = await read()
  t.ok(first.agents.includes('002'))
  const unchanged = await read()
  t.strictSame(unchanged.nodes, ['master', 'worker-1', 'worker-2'], 'no part comes from the cache')
  t.match(unchanged, { agents: first.agents, status: 'manager-edge; fwd=bypass; detail=trial-hit-same' })

  await fetch(`${simulator.nodes[0]?.url}/agents/002?purge=true`, {
    method: 'DELETE',
    headers: { authorization: `Basic ${Buffer.from('edge:only-for-tests').toString('base64')}` },
  })
  const changed = await read()
  t.notOk(changed.agents.includes('002'))
  t.equal(changed.status, 'manager-edge; fwd=bypass; detail=trial-hit-different')
})
