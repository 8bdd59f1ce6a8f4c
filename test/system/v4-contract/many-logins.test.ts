/** Many right logins at the same time, in front of a release that counts logins in flight as failed (from 4.14.8 on). */
import t from 'tap'
import { startSimulator, type V4User } from '../../../packages/simulator/src/index.ts'
import { startEdge } from '../../support/edge.ts'
import { startRedis } from '../../support/redis.ts'

const USERS = 60
const REPLICAS = 3
const users: Record<string, V4User> = Object.fromEntries(
  Array.from({ length: USERS }, (_, nth) => [`user${nth}`, { password: `pw-${nth}`, roles: ['readonly'] }]),
)

t.test('all users log in at once through three replicas, from one address and from many', async (t) => {
  const simulator = await startSimulator({
    layout: 'v4',
    workers: 0,
    agents: 1,
    version: '4.14.8',
    // A login takes 13 ms.
    capacity: { scale: 10 },
    v4: { users, requestsPerMinute: 0 },
  })
  t.teardown(() => simulator.close())
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const settings = {
    listen: { contract: 'v4', trustedProxies: ['127.0.0.1'] },
    cluster: {
      layout: 'v4',
      discover: false,
      credentials: { mode: 'passthrough', username: null, password: null },
      limits: { perMinute: 0 },
    },
    access: { users: null, roles: null },
    cache: { redis: { url: redis.url } },
  }
  const edges = await Promise.all(
    Array.from({ length: REPLICAS }, () => startEdge({ nodes: simulator.nodes, settings })),
  )
  t.teardown(() => Promise.all(edges.map((edge) => edge.close())))
  const logIn = async (nth: number, address: string): Promise<number> => {
    const headers = { authorization: `Basic ${btoa(`user${nth}:pw-${nth}`)}`, 'x-forwarded-for': address }
    const path = '/security/user/authenticate'
    const response = await fetch(`${edges[nth % REPLICAS]?.url}${path}`, { method: 'POST', headers })
    await response.arrayBuffer()
    return response.status
  }
  for (const addressOf of [() => '198.51.100.1', (nth: number) => `203.0.113.${nth}`]) {
    const statuses = await Promise.all(Array.from({ length: USERS }, (_, nth) => logIn(nth, addressOf(nth))))
    t.strictSame(
      new Map(statuses.map((status) => [status, statuses.filter((one) => one === status).length])),
      new Map([[200, USERS]]),
    )
  }
})
