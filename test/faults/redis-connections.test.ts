import t from 'tap'
import { startSimulator } from '../../packages/simulator/src/index.ts'
import { startEdge } from '../support/edge.ts'
import { eventually } from '../support/eventually.ts'
import { startRedis } from '../support/redis.ts'

const MAX_CONNECTIONS = 3

t.test('a replica opens three connections at most for cache, access and console', async (t) => {
  const simulator = await startSimulator({ workers: 0, agents: 2, username: 'edge', password: 'only-for-tests' })
  t.teardown(() => simulator.close())
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const client = redis.client()
  const ownId = String(await client.client('ID'))
  const connections = async () => {
    const lines = String(await client.client('LIST'))
      .trim()
      .split('\n')
    return lines.filter((line) => !line.startsWith(`id=${ownId} `))
  }
  const settings = { cache: { redis: { url: redis.url } } }
  const start = async () => {
    const edge = await startEdge({ nodes: simulator.nodes, settings })
    t.teardown(() => edge.close())
    return edge
  }
  const [one, other] = [await start(), await start()]
  const headers = { authorization: one.authorization('admin') }
  for (const edge of [one, other]) {
    for (const [method, path] of [
      ['GET', '/agents'],
      ['POST', '/security/user/authenticate'],
      ['PUT', '/agents/001/group/default'],
      ['GET', '/cache'],
    ] as const) {
      const { status } = await fetch(edge.url + path, { method, headers })
      t.equal(status, 200, `${method} ${path}`)
    }
  }
  // The consoles have described their replicas to one another.
  await eventually(async () => (await client.zcard('edge:{o}:told')) === 2)
  const open = await connections()
  t.ok(open.length <= 2 * MAX_CONNECTIONS, `${open.length} connections of two replicas:\n${open.join('\n')}`)
  t.equal(open.filter((line) => / sub=[1-9]/.test(line)).length, 2, 'one of each is a subscription')
})
