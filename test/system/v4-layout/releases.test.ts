/** Releases of the v4 layout differ in some calls. Nodes are upgraded one by one while the edge runs. */
import t from 'tap'
import { v4Cluster } from './cluster.ts'

const VERSIONS = ['4.5.4', '4.3.11', '4.9.2', '4.7.5', '4.14.0', '4.8.1']

const READS = [
  '/agents/groups/default/files/agent.conf',
  '/agents/groups/default/files/agent.conf?format=xml',
  '/agents/groups/default/files/ar.conf',
  '/sca/001?select=name,score&limit=1&offset=1&sort=-score',
  '/sca/001/checks/cis_debian9_L1?select=id,compliance&limit=3&sort=-id',
]

t.test('reads have the same responses before, during and after upgrades of the nodes', async (t) => {
  const { send, simulator } = await v4Cluster(
    t,
    { workers: 1, agents: 3, version: VERSIONS[0] ?? '' },
    { cache: { enabled: false } },
  )
  const readAll = async () => {
    const responses = await Promise.all(READS.map((path) => send(path)))
    return responses.map(({ status, error, data }) => ({ status, error, data }))
  }
  const first = await readAll()
  t.ok(first.every(({ status, error }) => status === 200 && error === 0))
  const versionReads = () => simulator.seen.filter(({ url }) => url === '/').length
  for (const version of VERSIONS.slice(1)) {
    const [master] = simulator.world.nodes
    if (master !== undefined) master.version = version
    t.same(await readAll(), first, `after the change to ${version}`)
    const before = versionReads()
    t.same(await readAll(), first, `again on ${version}`)
    t.equal(versionReads(), before, 'the version is not read for each request')
  }
  t.same(simulator.thrown, [])
})

t.test('each node is asked in its own release', async (t) => {
  const { send, simulator } = await v4Cluster(
    t,
    { workers: 1, agents: 1, version: '4.7.5' },
    { cache: { enabled: false } },
  )
  const [path = ''] = READS
  const { data } = await send(path)
  const [, worker] = simulator.world.nodes
  if (worker !== undefined) worker.version = '4.9.2'
  await simulator.faults.set('master', { apiDown: true })
  t.match(await send(path), { status: 200, data })
  await simulator.faults.clear()
  t.match(await send(path), { status: 200, data })
})

t.test('a restart that a node accepts with 202 has succeeded', async (t) => {
  const { send, simulator } = await v4Cluster(t, { workers: 0, agents: 1, version: '4.14.0' })
  t.match(await send('/manager/restart?wait_for_complete', { method: 'PUT' }), { status: 200, error: 0 })
  t.equal(simulator.world.nodes[0]?.restarts, 1)
})
