/** Fetch locks of replicas that end without a release: `kill -9`, a power failure, a lost link to Redis. */
import t from 'tap'
import { createLatch, edgeRequest } from '../../../support/edge-requests.ts'
import { eventually } from '../../../support/eventually.ts'
import { startRedis } from '../../../support/redis.ts'
import { replica } from '../stores/replicas.ts'
import { agents, snapshotReplica } from './collection-node.ts'

t.test('whatever a killed replica fetched, others wait for ten seconds at most', async (t) => {
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const { store } = await replica(t, redis)
  // A replica that is alone takes no locks in Redis.
  await replica(t, redis)
  const edge = snapshotReplica(agents(2500), { store, clock: () => performance.now() })
  const { respond } = edge.nodes
  const { opened, open } = createLatch()
  edge.nodes.respond = async (request, call) => {
    if (request.query.limit === '1000' || request.endpoint.path !== '/agents') await opened
    return respond(request, call)
  }
  const slow = edgeRequest('GET /cluster/configuration/validation')
  t.ok(slow.endpoint.slow)
  const reads = [slow, edgeRequest('GET /agents/:agent_id', { params: { agent_id: '001' } })].map(edge.read)
  // More queries than the snapshot takes calls start its build.
  for (let limit = 1; limit < 5; limit += 1) await edge.get({ limit: `${limit}` })
  const client = redis.client()
  const locks = () => client.keys('edge:l:*')
  await eventually(async () => (await locks()).length === 3)
  const left = await Promise.all((await locks()).map((key) => client.pttl(key)))
  t.ok(Math.min(...left) > 0 && Math.max(...left) <= 10_000, `${left} ms`)
  open()
  await Promise.allSettled(reads)
  await edge.settleBuild()
})
