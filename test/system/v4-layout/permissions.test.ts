/**
 * Mode passthrough in front of nodes that cut lists to what the user may read: no user gets a response of another one,
 * whatever the cache does.
 */
import t from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { type Settings, startEdge } from '../../support/edge.ts'
import { startRedis } from '../../support/redis.ts'

const only001 = [{ actions: ['agent:read', 'syscollector:read'], resources: ['agent:id:001'] }] as const
const users = {
  ann: { password: 'ann-pw', roles: ['administrator'] },
  bob: { password: 'bob-pw', roles: only001 },
  eve: { password: 'eve-pw', roles: ['readonly'] },
  nil: { password: 'nil-pw' },
} as const

type User = keyof typeof users

const passthrough: Settings = {
  cluster: { layout: 'v4', discover: false, credentials: { mode: 'passthrough', username: null, password: null } },
  access: { users: null, roles: null },
}

for (const store of ['memory', 'Redis'] as const) {
  t.test(`each user gets the agents that the user may read (${store})`, async (t) => {
    const simulator = await startSimulator({ layout: 'v4', workers: 1, agents: 6, v4: { users } })
    t.teardown(() => simulator.close())
    const redis = store === 'Redis' ? await startRedis() : undefined
    if (redis !== undefined) t.teardown(() => redis.close())
    const settings = { ...passthrough, cache: { ...(redis && { redis: { url: redis.url } }) } }
    const edges = [await startEdge({ nodes: simulator.nodes, settings })]
    t.teardown(() => Promise.all(edges.map((edge) => edge.close())))
    // A second replica shares the stored responses.
    if (redis !== undefined) edges.push(await startEdge({ nodes: simulator.nodes, settings }))
    const get = async (user: User, path: string, at = 0) => {
      const authorization = `Basic ${btoa(`${user}:${users[user].password}`)}`
      const response = await fetch(`${edges[at]?.url}${path}`, { headers: { authorization } })
      const body = (await response.json()) as { data?: { totalItems?: number; items?: { id: string }[] } }
      return { status: response.status, cache: response.headers.get('cache-status') ?? '', data: body.data }
    }
    // Different queries of a collection are computed from a snapshot of all its rows.
    const paths = ['/agents', '/agents?limit=2', '/agents?sort=-id', '/agents?offset=1', '/agents?select=id&limit=3']
    for (const [at] of edges.entries()) {
      for (const path of [...paths, ...paths]) {
        for (const user of ['ann', 'eve', 'bob', 'nil', 'ann'] as const) {
          const { status, data } = await get(user, path, at)
          t.equal(status, 200, `${user} ${path}`)
          t.equal(data?.totalItems, { ann: 7, eve: 7, bob: 1, nil: 0 }[user], `${user} ${path}`)
        }
      }
    }
    t.match(
      await get('bob', '/agents'),
      { cache: /hit/, data: { items: [{ id: '001' }] } },
      'the own response is a hit',
    )
    t.equal((await get('nil', '/agents/001')).data, undefined)
    t.match(await get('ann', '/agents/001'), { data: { id: '001' } })
    t.match(await get('ann', '/agents/001'), { cache: /hit/ })
    t.equal((await get('nil', '/agents/001')).data, undefined, 'a stored response of another user is not served')

    const [edge] = edges
    const explained = async (user: User) => {
      const authorization = `Basic ${btoa(`${user}:${users[user].password}`)}`
      const response = await fetch(`${edge?.url}/cache/explain?url=%2Fagents`, { headers: { authorization } })
      return ((await response.json()) as { data: { key: string } }).data.key
    }
    const keys = await Promise.all((['ann', 'bob', 'eve', 'nil'] as const).map(explained))
    t.equal(new Set(keys).size, 4, 'each user has its own key')
  })
}

t.test('rows of all agents are those of the agents that the user may read', async (t) => {
  const simulator = await startSimulator({ layout: 'v4', workers: 1, agents: 30, v4: { users } })
  t.teardown(() => simulator.close())
  const edge = await startEdge({ nodes: simulator.nodes, settings: passthrough })
  t.teardown(() => edge.close())
  const agentsOf = async (user: User, path: string) => {
    const authorization = `Basic ${btoa(`${user}:${users[user].password}`)}`
    const response = await fetch(edge.url + path, { headers: { authorization } })
    const { data } = (await response.json()) as { data?: { items?: { agent_id: string }[] } }
    return new Set(data?.items?.map(({ agent_id }) => agent_id))
  }
  for (const path of ['/experimental/syscollector/os', '/experimental/syscollector/hardware?limit=50']) {
    for (const user of ['ann', 'bob', 'eve', 'nil', 'bob', 'nil', 'ann'] as const) {
      const found = await agentsOf(user, path)
      if (user === 'ann' || user === 'eve') t.ok(found.size > 5, `${user} ${path}: ${found.size} agents`)
      else t.same([...found], user === 'bob' ? ['001'] : [], `${user} ${path}`)
    }
  }
})
