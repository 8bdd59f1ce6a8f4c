/** Distribution mode `edge` in front of nodes that distribute requests themselves. */
import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { simulated } from '../../support/simulated.ts'
import { ask, edgeMode } from './edge-mode.ts'

const READS = ['hardware', 'netaddr', 'netiface', 'netproto', 'os', 'packages', 'ports', 'processes'].map(
  (kind) => `GET /experimental/syscollector/${kind}`,
)
const WRITES = ['PUT /agents/restart', 'PUT /syscheck', 'PUT /rootcheck', 'DELETE /rootcheck', 'PUT /cluster/restart']
const MESSAGE = /distributes requests itself, but cluster\.distribution is edge/

t.test('nodes that distribute: an error that names the setting, and no command is carried out', async (t) => {
  const { simulator, ask, seen } = await edgeMode(t, { agents: 12 })
  for (const node of simulator.world.nodes) node.distributes = true
  for (const call of [...READS, `${READS[0]}?agent_id=000`, 'GET /experimental/ciscat/results?sort=-pass']) {
    const { status, body, headers } = await ask(call)
    t.match({ status, body }, { status: 502, body: { error: 937, message: MESSAGE } }, call)
    t.match(headers.get('cluster-status'), /^master;[^,]*error=proxy_configuration_error/, call)
  }
  seen()
  for (const call of WRITES) {
    t.match(await ask(call), { status: 502, body: { error: 937, message: /\(master, worker-1, worker-2\)$/ } }, call)
  }
  t.strictSame(seen(), [], 'nothing was sent')
  t.match(await ask('GET /syscollector/002/os'), { status: 200, body: { error: 0, data: { os: {} } } })

  for (const node of simulator.world.nodes) node.distributes = false
  // That a node distributes is remembered for five seconds, for each node from its own answer.
  await eventually(async () => {
    const { status, body } = await ask('GET /experimental/syscollector/os')
    return status === 200 && body.data.failed_nodes === undefined
  })
  t.match(await ask('PUT /agents/restart'), { status: 200, body: { error: 0 } })
})

t.test('one worker that distributes is named, and the rows of the other nodes appear once', async (t) => {
  const { simulator, ask } = await edgeMode(t, { agents: 12 })
  const worker = simulator.world.nodes.find(({ name }) => name === 'worker-1')
  if (worker === undefined) throw new Error('the cluster has no worker-1')
  worker.distributes = true
  const { status, body } = await ask('GET /experimental/syscollector/netaddr?limit=1000')
  t.equal(status, 200)
  t.match(body.data.failed_nodes, [{ node: 'worker-1', error: { code: 937, message: MESSAGE } }])
  t.equal(body.data.failed_nodes.length, 1)
  const rows: readonly Readonly<Record<string, string>>[] = body.data.items
  const nodes = rows.map(({ agent_id = '', node_name }) => node_name ?? simulator.world.agents.get(agent_id)?.node)
  t.strictSame(new Set(nodes), new Set(['master', 'worker-2']))
  t.equal(new Set(rows.map((row) => JSON.stringify(row))).size, rows.length)
})

t.test('nodes that do not distribute are asked once a minute whether they do', async (t) => {
  const { simulator, ask } = await edgeMode(t, { agents: 12, settings: { cache: { enabled: false } } })
  for (let read = 0; read < 5; read += 1) {
    const { status, body } = await ask('GET /experimental/syscollector/os')
    t.match({ status, failed: body.data.failed_nodes }, { status: 200, failed: undefined })
  }
  t.match(await ask('PUT /syscheck'), { status: 200, body: { error: 0 } })
  const asked = simulator.seen.filter(({ url }) => /^\/cluster\/[^/]+\/info$/.test(url))
  t.strictSame(asked.map(({ node, url }) => `${node} ${url}`).sort(), [
    'master /cluster/master/info',
    'worker-1 /cluster/worker-1/info',
    'worker-2 /cluster/worker-2/info',
  ])
})

t.test('a cluster of one node is used although the node could distribute requests', async (t) => {
  const world = { workers: 0, agents: 6, distributed: true }
  const { simulator, edge } = await simulated(t, world, { settings: { cluster: { distribution: 'edge' } } })
  const { status, body } = await ask(edge, 'GET /experimental/syscollector/os?limit=1000')
  t.match({ status, error: body.error }, { status: 200, error: 0 })
  t.equal(body.data.failed_nodes, undefined)
  for (const call of WRITES) t.match(await ask(edge, call), { status: 200, body: { error: 0 } }, call)
  const sent = simulator.seen.filter(({ method }) => method !== 'GET').map(({ method, url }) => `${method} ${url}`)
  t.strictSame(sent, WRITES, 'each command is sent once')
})
