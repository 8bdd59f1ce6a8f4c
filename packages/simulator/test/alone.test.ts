import { readFileSync } from 'node:fs'
import t from 'tap'
import { start } from './ask.ts'

interface Recorded {
  readonly distribution: 'edge' | 'manager'
  readonly node: string
  readonly request: { readonly path: string }
  readonly response: { readonly body: string }
}

/** Three nodes with an agent each, as recorded: 001 at the master, 002 and 003 at the workers. */
const recorded = readFileSync(new URL('../../../test/contract/exchanges/three-nodes.jsonl', import.meta.url), 'utf8')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => JSON.parse(line) as Recorded)
  .filter(({ distribution }) => distribution === 'edge')
const owners: Readonly<Record<string, string>> = { '001': 'master', '002': 'worker-1', '003': 'worker-2' }

/** Classifies a response, so that responses with different rows compare as equal. */
function worth(text: string | undefined): string {
  const { error, data } = JSON.parse(text ?? '{}') as { error: number; data?: Record<string, unknown> }
  if (error !== 0) return `error ${error}`
  if (data?.start === 'ND') return 'not known'
  return data?.totalItems === 0 || JSON.stringify(data) === '{}' ? 'empty' : 'something'
}

t.test('a node that an agent does not report to returns empty data, as recorded', async (t) => {
  const { sim, ask } = await start(t, { distributed: false, agents: 3 })
  let compared = 0
  for (const { node, request, response } of recorded) {
    const id = /^\/(?:syscollector|syscheck|rootcheck|sca|ciscat)\/(00[123])/.exec(request.path)?.[1]
    if (id === undefined || owners[id] === node) continue
    t.equal(worth((await ask(`GET ${request.path}`, { node })).text), worth(response.body), `${node} ${request.path}`)
    compared += 1
  }
  t.ok(compared > 80, `${compared} answers`)
  t.same(sim.thrown, [])
})

t.test('each node answers about itself under /manager and about no node under /cluster', async (t) => {
  const { ask } = await start(t, { distributed: false, agents: 3 })
  for (const { node, request, response } of recorded.filter(({ request }) =>
    /^\/cluster\/(?:worker|master)/.test(request.path),
  )) {
    t.equal(worth((await ask(`GET ${request.path}`, { node })).text), worth(response.body), `${node} ${request.path}`)
  }
  for (const node of Object.values(owners)) {
    t.match((await ask('GET /manager/info', { node })).json, { data: { cluster: { node_name: node } } })
    t.match((await ask('GET /syscollector/000/os', { node })).json, { data: { hostname: node } })
  }
})

t.test('the master knows all connected agents, a worker only its own', async (t) => {
  const { ask } = await start(t, { distributed: false, agents: 3 })
  const summary = async (node: string) => (await ask('GET /agents/summary', { node })).json?.data
  t.match(await summary('master'), { Total: 4, Active: 4 })
  t.match(await summary('worker-1'), { Total: 4, Active: 2, 'Never connected': 2 })
  const config = async (node: string) => (await ask('GET /agents/002/config/agent/client', { node })).json?.error
  t.same([await config('master'), await config('worker-1'), await config('worker-2')], [1117, 0, 1740], 'as recorded')
})

t.test('every node reports a restart, but only the owners restart their agents', async (t) => {
  const { sim, ask } = await start(t, { distributed: false, agents: 3 })
  const body = JSON.stringify({ ids: ['001', '002', '003'] })
  const answer = await ask('POST /agents/restart', { node: 'worker-1', type: 'application/json', body })
  t.match(answer.json, { data: { msg: 'All selected agents were restarted', affected_agents: ['001', '002', '003'] } })
  t.same(
    [...sim.world.agents.values()].map(({ id, restarts }) => [id, restarts]),
    [
      ['000', 0],
      ['001', 0],
      ['002', 1],
      ['003', 0],
    ],
  )
})

t.test('only the owner knows the result of an upgrade', async (t) => {
  const { sim, ask } = await start(t, { distributed: false, agents: 3 })
  const agent = sim.world.agents.get('002')
  if (agent !== undefined) agent.upgrade = 'Wazuh v3.11.5'
  const result = async (node: string) => (await ask('GET /agents/002/upgrade_result', { node })).json?.error
  t.equal(await result('master'), 3021)
  t.equal(await result('worker-2'), 3021)
  t.equal(await result('worker-1'), 0)
})

t.test('a scan or clear request for all agents affects those of the node', async (t) => {
  const { ask } = await start(t, { distributed: false, agents: 3 })
  t.equal((await ask('DELETE /rootcheck', { node: 'worker-1' })).json?.error, 0)
  const total = async (id: string, node: string) => {
    const { json } = await ask(`GET /rootcheck/${id}`, { node })
    return (json?.data as { totalItems: number } | undefined)?.totalItems ?? -1
  }
  t.equal(await total('002', 'worker-1'), 0)
  t.ok((await total('001', 'master')) > 0)
  t.ok((await total('003', 'worker-2')) > 0)
  t.ok((await total('000', 'master')) > 0, 'its own findings')
  t.equal(await total('000', 'worker-1'), 0)
})

t.test('a node reads the first 500 agents of the cluster and stops at its limit', async (t) => {
  const { ask } = await start(t, { distributed: false, agents: 1500 })
  const walked = async (query: string, node: string) => {
    const { json } = await ask(`GET /experimental/syscollector/os?${query}`, { node })
    const data = json?.data as { items: { agent_id: string }[]; totalItems: number } | undefined
    return { ids: (data?.items ?? []).map((row) => Number(row.agent_id)), totalItems: data?.totalItems }
  }
  const { ids, totalItems } = await walked('limit=1000', 'worker-1')
  t.ok(Math.max(...ids) < 500, 'none behind the first 500 is seen')
  t.equal(ids.length, totalItems, 'and none of those is counted')
  const page = await walked('limit=5&sort=-os_name', 'worker-1')
  t.same(
    page.ids.toSorted((a, b) => a - b),
    ids.slice(0, 5),
    'the first five, ordered afterwards',
  )
})

t.test('the real API knows neither several nodes at once nor the agent id filter', async (t) => {
  for (const distributed of [true, false]) {
    const { ask } = await start(t, { distributed, agents: 3 })
    t.match(await ask('GET /cluster/*/info'), { status: 400, json: { error: 601 } })
    t.match(await ask('GET /cluster/master,worker-1/info'), { status: 400, json: { error: 601 } })
    const filtered = await ask('GET /experimental/syscollector/os?agent_id=001')
    t.match(filtered, { status: 400, json: { error: 604 } })
    t.notMatch(filtered.json?.message, 'agent_id', 'and the error does not list it')
  }
})
