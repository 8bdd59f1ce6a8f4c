/**
 * Users of the manager at the operations of the cache: the role of the settings decides what they may do, and each user sees
 * the stored responses of users with the same roles at the manager.
 */
import t, { type Test } from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { startEdge } from '../../support/edge.ts'
import { eventually } from '../../support/eventually.ts'
import { startRedis } from '../../support/redis.ts'
import type { V4Body } from './both-ports.ts'

const users = {
  ann: { password: 'ann-pw', roles: ['administrator'] },
  amy: { password: 'amy-pw', roles: ['administrator'] },
  eve: { password: 'eve-pw', roles: ['readonly'] },
} as const

const customRoles = { purger: ['agents:*', 'cache:read-own', 'cache:purge'] }

type User = keyof typeof users

async function twoReplicas(t: Test, passthroughRole: string) {
  const simulator = await startSimulator({ layout: 'v4', workers: 1, agents: 6, v4: { users } })
  t.teardown(() => simulator.close())
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const settings = {
    listen: { contract: 'v4', secondPort: 0 },
    cluster: { layout: 'v4', discover: false, credentials: { mode: 'passthrough', username: null, password: null } },
    access: { users: null, roles: null, passthroughRole, customRoles },
    cache: { redis: { url: redis.url }, ttl: { agents: '600s' } },
  }
  const edges = [
    await startEdge({ nodes: simulator.nodes, settings }),
    await startEdge({ nodes: simulator.nodes, settings }),
  ]
  t.teardown(() => Promise.all(edges.map((edge) => edge.close())))
  const basic = (user: User) => `Basic ${btoa(`${user}:${users[user].password}`)}`
  const tokens = new Map<User, string>()
  for (const user of Object.keys(users) as User[]) {
    const response = await fetch(`${edges[0]?.url}/security/user/authenticate?raw=true`, {
      method: 'POST',
      headers: { authorization: basic(user) },
    })
    tokens.set(user, `Bearer ${await response.text()}`)
  }
  const send = async (at: number, user: User, path: string, method = 'GET') => {
    const headers = { authorization: tokens.get(user) ?? '' }
    const response = await fetch(`${edges[at]?.url}${path}`, { method, headers })
    const cache = response.headers.get('cache-status') ?? ''
    return { status: response.status, cache, body: (await response.json()) as V4Body }
  }
  const v3 = async (at: number, user: User, path: string) => {
    const response = await fetch(`${edges[at]?.secondUrl}${path}`, { headers: { authorization: basic(user) } })
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }
  return { simulator, send, v3 }
}

const urlsOf = ({ body }: { readonly body: V4Body }) => body.data.affected_items.map(({ url }) => String(url))

t.test('by default users list and explain what their roles share, and purge nothing', async (t) => {
  const { send, v3 } = await twoReplicas(t, 'passthrough')
  await send(0, 'ann', '/agents?limit=2')
  await send(0, 'eve', '/agents?limit=3')
  await eventually(async () => urlsOf(await send(1, 'eve', '/cache')).length === 1)
  for (const at of [0, 1]) {
    t.match(urlsOf(await send(at, 'ann', '/cache')), [/^v4:\/agents\?.*limit=2/])
    t.match(urlsOf(await send(at, 'amy', '/cache?sort=url')), [/^v4:\/agents\?.*limit=2/], 'the same roles')
    t.match(urlsOf(await send(at, 'eve', '/cache')), [/^v4:\/agents\?.*limit=3/], 'other roles')
    t.match((await send(at, 'eve', '/cache/groups')).body.data.affected_items, [{ name: 'agents', count: 1 }])
  }
  const next = async (user: User) => {
    const { body } = await send(1, user, '/cache/explain?url=/agents?limit=2')
    return body.data.affected_items[0].next.hit
  }
  t.equal(await next('amy'), true)
  t.equal(await next('eve'), false)
  const refused = await send(0, 'ann', '/cache', 'DELETE')
  t.match(refused, { status: 403, body: { title: 'Permission Denied', error: 4000 } })
  t.match((await send(1, 'amy', '/agents?limit=2')).cache, /hit/)
  t.match(await send(0, 'ann', '/cache/explain?url=v3:/agents'), { status: 400, body: { error: 604 } })
  t.match(await v3(0, 'ann', '/cache/explain?url=v4:/agents'), {
    status: 400,
    body: { error: 604, message: 'Filter error. Explain this url at the port of the v4 contract' },
  })
})

t.test('with access.passthroughRole operator they see and purge all stored responses', async (t) => {
  const { send } = await twoReplicas(t, 'operator')
  await send(0, 'ann', '/agents?limit=2')
  await send(0, 'eve', '/agents?limit=3')
  // The other replica lists a response some milliseconds after it was sent.
  await eventually(async () => (await send(1, 'eve', '/cache?group=agents')).body.data.total_affected_items === 2)
  const { status, body } = await send(1, 'eve', '/cache/agents', 'DELETE')
  t.equal(status, 200)
  t.equal(body.data.total_affected_items, 2)
  for (const at of [0, 1]) t.notMatch((await send(at, 'ann', `/agents?limit=${2 + at}`)).cache, /hit/)
})

t.test('a purge of a group names the stored responses that the user may read, and counts all', async (t) => {
  const { send } = await twoReplicas(t, 'purger')
  await send(0, 'ann', '/agents?limit=2')
  await send(0, 'eve', '/agents?limit=3')
  const preview = () => send(1, 'eve', '/cache/agents?preview=true', 'DELETE')
  await eventually(async () => (await preview()).body.data.entries === 2)
  for (const path of ['/cache/agents?preview=true', '/cache/agents']) {
    const { body } = await send(1, 'eve', path, 'DELETE')
    t.match(body.data.affected_items, [/^v4:\/agents\?.*limit=3/])
    t.match(body.data, { total_affected_items: 1, entries: 2 })
  }
  t.notMatch((await send(0, 'ann', '/agents?limit=2')).cache, /hit/)
})
