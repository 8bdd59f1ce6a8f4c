/** Queries of the v4 contract from snapshots: what they cost, what users of other roles get, and how writes end them. */
import t, { type Test } from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { startEdge } from '../../support/edge.ts'
import { eventually } from '../../support/eventually.ts'
import { bothPorts, type V4Body } from './both-ports.ts'

const COMPUTED = /detail=snapshot/
const PASSWORD = 'only-for-tests'
const PATHS = [
  '/rules?limit=7&offset=35',
  '/rules?search=sshd&limit=5',
  '/rules?level=5-9&sort=-id&limit=3',
  '/rules?q=level>9;status=enabled&limit=4&pretty=true',
  '/agents?sort=-name',
  '/agents?limit=3&offset=1&pretty=true',
  '/agents?q=status=active;id!=000',
  '/agents?agents_list=001,003',
]

/** Agents report every ten seconds, so the node may have another time than the snapshot. */
function atAnyTime(text: string): string {
  return text.replaceAll(/("lastKeepAlive": ?)"[^"]*"/g, '$1""')
}

t.test('deep pages, sorts and filters cost no calls, on both replicas, and have the bytes of the node', async (t) => {
  const { simulator, v4 } = await bothPorts(t, { cache: { ttl: { rules: '600s', agents: '600s' } } })
  const countCalls = () => simulator.seen.filter(({ url }) => /^\/(?:rules|agents)/.test(url)).length
  await v4(0, '/rules?limit=10')
  t.match((await v4(0, '/rules?limit=10&offset=10')).cache, COMPUTED)
  await v4(0, '/agents?limit=2')
  await v4(0, '/agents?limit=2&offset=2')
  const calls = countCalls()
  const token = await tokenOf(simulator.nodes[0]?.url ?? '', 'edge', PASSWORD)
  for (const [nth, path] of PATHS.entries()) {
    const { status, cache, text } = await v4(nth % 2, path)
    t.equal(status, 200, path)
    t.match(cache, /hit; .*detail=snapshot/, path)
    t.match((await v4(1 - (nth % 2), path)).cache, /hit/, 'the other replica has the computed response')
    const response = await fetch(`${simulator.nodes[0]?.url}${path}`, { headers: { authorization: token } })
    // The edge ends indented responses with a line feed.
    t.equal(atAnyTime(text), atAnyTime((await response.text()) + (path.includes('pretty') ? '\n' : '')), path)
  }
  t.equal(countCalls() - calls, PATHS.length, 'the calls of this test alone')
})

t.test('a write through either contract is in the next response of a snapshot, on both replicas', async (t) => {
  const { v3, v4 } = await bothPorts(t, { cache: { ttl: { agents: '600s' } } })
  const last = async (at: number) => (await v4(at, '/groups?sort=-name&limit=1')).body.data.affected_items[0].name
  const warmUp = async () => {
    await v4(0, '/groups?limit=1')
    await v4(0, '/groups?limit=1&offset=1')
    t.match((await v4(1, '/groups?limit=2&offset=1')).cache, COMPUTED)
    await last(1)
  }
  for (const [nth, write] of [
    (name: string) => v3(0, `/agents/groups/${name}`, { method: 'PUT' }),
    (name: string) => v3(1, `/agents/groups/${name}`, { method: 'PUT' }),
    (name: string) => v4(0, `/groups?groups_list=${name}`, { method: 'DELETE' }),
  ].entries()) {
    await warmUp()
    const name = nth === 2 ? 'zz1' : `zz${nth}`
    t.equal((await write(name)).status, 200)
    for (const at of [0, 1]) t.equal(await last(at), nth === 2 ? 'zz0' : name, `write ${nth}, replica ${at}`)
  }
})

t.test('a purge by key of a computed response removes the snapshot of its collection', async (t) => {
  const { v4 } = await bothPorts(t, { cache: { ttl: { rules: '600s' } } })
  await v4(0, '/rules?limit=2')
  t.match((await v4(0, '/rules?limit=2&offset=2')).cache, COMPUTED)
  const list = async () => (await v4(1, '/cache?group=rules')).body.data.affected_items
  const computed = async () => (await list()).find(({ url }) => String(url).includes('offset=2'))
  // The other replica lists new responses some milliseconds after they were stored.
  await eventually(async () => (await computed()) !== undefined)
  t.ok(
    (await list()).some(({ url }) => url === 'v4:/rules#*'),
    'the snapshot',
  )
  const { key } = await computed()
  t.equal((await v4(1, `/cache?key=${key}`, { method: 'DELETE' })).status, 200)
  t.notOk(
    (await list()).some(({ url }) => url === 'v4:/rules#*'),
    'no snapshot',
  )
})

t.test('users of the manager with other roles never get rows of a snapshot that is not theirs', async (t) => {
  const { get } = await managerUsers(t, 12)
  await get('ann', '/agents?limit=3')
  await get('ann', '/agents?limit=3&offset=3')
  const { cache, body } = await get('amy', '/agents?limit=4&offset=4')
  t.match(cache, /hit; .*detail=snapshot/, 'the same roles share a snapshot')
  t.equal(body.data.affected_items.length, 4)
  for (const path of [
    '/agents?limit=4&offset=4',
    '/agents?limit=3',
    '/agents?sort=-name',
    '/agents?limit=3&offset=3',
  ]) {
    const other = await get('eve', path)
    t.notMatch(other.cache, /hit/, path)
    t.match(other.body.data, { affected_items: [], total_affected_items: 0 }, path)
  }
})

t.test('collections of several calls are read once for users of the manager with the same roles', async (t) => {
  const { simulator, get } = await managerUsers(t, 5200)
  const countCalls = () => simulator.seen.filter(({ url }) => url.startsWith('/agents')).length
  let offset = 0
  for (let cache = ''; !COMPUTED.test(cache); offset += 100) {
    if (offset >= 5000) throw new Error('no page came from a snapshot')
    cache = (await get('ann', `/agents?limit=100&offset=${offset}`)).cache
  }
  const calls = countCalls()
  for (let page = 0; page < 10; page += 1) {
    const { cache, body } = await get('amy', `/agents?limit=77&offset=${page * 500}&sort=-id`)
    t.match(cache, /hit; .*detail=snapshot/, `page ${page}`)
    t.equal(body.data.affected_items.length, 77, `page ${page}`)
    t.equal(body.data.total_affected_items, 5201, `page ${page}`)
  }
  t.equal(countCalls(), calls, 'no further call')
  const { cache, body } = await get('eve', '/agents?limit=77&offset=500&sort=-id')
  t.notMatch(cache, /hit/, 'other roles')
  t.match(body.data, { affected_items: [], total_affected_items: 0 }, 'other roles')
})

const USERS = {
  ann: { password: 'ann-pw', roles: ['administrator'] },
  amy: { password: 'amy-pw', roles: ['administrator'] },
  eve: { password: 'eve-pw' },
} as const

async function managerUsers(t: Test, agents: number) {
  const simulator = await startSimulator({ layout: 'v4', agents, v4: { users: USERS } })
  t.teardown(() => simulator.close())
  const edge = await startEdge({
    nodes: simulator.nodes,
    settings: {
      listen: { contract: 'v4' },
      cluster: {
        layout: 'v4',
        discover: false,
        credentials: { mode: 'passthrough', username: null, password: null },
      },
      access: { users: null, roles: null },
      cache: { ttl: { agents: '600s' } },
    },
  })
  t.teardown(() => edge.close())
  const tokens = new Map<keyof typeof USERS, string>()
  const get = async (user: keyof typeof USERS, path: string) => {
    const authorization = tokens.get(user) ?? (await tokenOf(edge.url, user, USERS[user].password))
    tokens.set(user, authorization)
    const response = await fetch(edge.url + path, { headers: { authorization } })
    return { cache: response.headers.get('cache-status') ?? '', body: JSON.parse(await response.text()) as V4Body }
  }
  return { simulator, get }
}

async function tokenOf(url: string, user: string, password: string): Promise<string> {
  const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`
  const response = await fetch(`${url}/security/user/authenticate?raw=true`, {
    method: 'POST',
    headers: { authorization },
  })
  return `Bearer ${await response.text()}`
}
