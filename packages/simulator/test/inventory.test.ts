import t from 'tap'
import { ask, fieldsOf, type Item, makeWorld, NOON, recordedFields, refusalOf } from './data-ask.ts'

const kinds = ['hardware', 'os', 'netaddr', 'netiface', 'netproto', 'packages', 'ports', 'processes'] as const

t.test('rows have recorded fields, and all of them', async (t) => {
  const world = makeWorld()
  for (const kind of [...kinds.map((name) => `syscollector/${name}`), 'ciscat']) {
    const key = kind === 'ciscat' ? 'GET /experimental/ciscat/results' : `GET /experimental/${kind}`
    const rows = world.nodes.flatMap(({ name }) => ask(world, key, { node: name, query: { limit: '1000' } }).items)
    // Processes and ports of Windows, adapters and builds are in the contract, but no Windows host was recorded.
    const beyond = ['adapter', 'pid', 'process', 'os.build', 'os.minor', 'install_time']
    const given = new Set(rows.flatMap((row) => fieldsOf(row)))
    const recorded = recordedFields(new RegExp(`^/experimental/${kind}`))
    t.same([...given].filter((field) => !recorded.has(field) && !beyond.includes(field)).sort(), [], kind)
    t.same([...recorded].filter((field) => !given.has(field)).sort(), [], `${kind}, nothing missing`)
  }
})

t.test('an agent is read from its owner through any node', async (t) => {
  const world = makeWorld()
  const params = { agent_id: '002' }
  const owner = world.agents.get('002')?.node ?? ''
  const own = ask(world, 'GET /syscollector/:agent_id/os', { node: owner, params })
  t.equal(own.hostname, world.agents.get('002')?.name)
  const elsewhere = world.nodes.find(({ name }) => name !== owner)?.name ?? ''
  t.same(ask(world, 'GET /syscollector/:agent_id/os', { node: elsewhere, params }), {}, 'silently empty')
  t.same(ask(world, 'GET /syscollector/:agent_id/ports', { node: elsewhere, params }), { items: [], totalItems: 0 })

  const never = { params: { agent_id: '020' } }
  t.same(ask(world, 'GET /syscollector/:agent_id/hardware', never), {})
  t.same(ask(world, 'GET /syscollector/:agent_id/packages', never).totalItems, 0)
  t.equal(
    refusalOf(() => ask(world, 'GET /syscollector/:agent_id/os', { params: { agent_id: '999' } })),
    1701,
  )
})

t.test('rows are filtered, searched and selected by flat names, and nested', async (t) => {
  const world = makeWorld()
  const packages = (query: Record<string, string>) =>
    ask(world, 'GET /syscollector/:agent_id/packages', { params: { agent_id: '000' }, query })
  t.match(packages({ name: 'bash' }).items, [{ name: 'bash', scan: { id: Number, time: /^2020\/03\/0\d / } }])
  t.ok(packages({ search: 'ssl' }).totalItems >= 2)
  t.same(packages({ select: 'name', limit: '1', sort: '-name' }).items, [{ name: 'zlib1g' }])
  const os = ask(world, 'GET /syscollector/:agent_id/os', { params: { agent_id: '000' }, query: { select: 'os_name' } })
  t.same(os, { os: { name: 'CentOS Linux' } })
})

t.test('all agents of a node: pages are cut per agent, and reading stops at the limit', async (t) => {
  const world = makeWorld()
  const walk = (query: Record<string, string>) =>
    ask(world, 'GET /experimental/syscollector/packages', { query: { select: 'name,version', ...query } })
  const first = walk({ limit: '3', offset: '1' })
  t.same(
    first.items.map((row) => row.agent_id),
    ['000', '000', '000'],
  )
  t.ok(first.totalItems > 500, 'the total is of all agents')
  const hosts = new Set(walk({ limit: '1000' }).items.map((row) => String(row.agent_id)))
  t.ok([...hosts].every((id) => id === '000' || world.agents.get(id)?.node === 'master'))

  const names = ({ items }: { items: readonly Item[] }) => items.map((row) => String(row.name))
  const sorted = walk({ limit: '200', sort: 'name' })
  t.same(names(sorted), names(sorted).toSorted(), 'ordered again after the cut')
  t.equal(
    refusalOf(() => walk({ sort: 'size' })),
    1000,
    'a field that is not selected cannot be sorted by',
  )

  const hardware = ask(world, 'GET /experimental/syscollector/hardware', { query: { offset: '1' } })
  t.same(hardware, { items: [], totalItems: 0 }, 'agents without a row on their page do not count')
})

t.test('000 is the node itself', async (t) => {
  const world = makeWorld()
  const of = (node: string) =>
    ask(world, 'GET /syscollector/:agent_id/os', { node, params: { agent_id: '000' } }).hostname
  t.same(['master', 'worker-1'].map(of), ['master', 'worker-1'])
})

t.test('the same seed and time give the same data', async (t) => {
  const story = (seed: number) => {
    const world = makeWorld({ seed })
    return JSON.stringify(kinds.map((kind) => ask(world, `GET /experimental/syscollector/${kind}`)))
  }
  t.equal(story(7), story(7))
  t.not(story(7), story(8))

  let now = NOON
  const world = makeWorld({ now: () => now })
  const hardware = () => ask(world, 'GET /syscollector/:agent_id/hardware', { params: { agent_id: '000' } })
  const before = hardware()
  now = new Date(NOON.getTime() + 60_000)
  t.same(hardware(), before, 'nothing changes between two scans')
  now = new Date(NOON.getTime() + 3_600_000)
  t.notSame(hardware(), before, 'every hour there is a new one')
})
