import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { basic, passwords } from './edge.ts'
import { type Replicas, replicas } from './shared.ts'

const MAX_REQUESTS = 20
const limits = { failedLogins: () => 100, perCaller: { max: () => MAX_REQUESTS, windowMs: 60_000 } }
const asAlice = [basic('alice', passwords.alice)]

type Replica = Awaited<ReturnType<Replicas['start']>>

async function served(edge: Replica, requests: number): Promise<number> {
  let count = 0
  for (let turn = 0; turn < requests; turn++) if ((await edge.ask(asAlice)).status === 200) count++
  return count
}

t.test('one caller has one rate limit over all replicas', async (t) => {
  const { start } = await replicas(t)
  const [a, b] = [await start({ limits }), await start({ limits })]
  await eventually(() => a.replica.heartbeat.replicas === 2 && b.replica.heartbeat.replicas === 2)
  t.equal(await served(a, 12), 12)
  await eventually(async () => (await served(b, 1)) === 0)
  await eventually(async () => (await served(a, 1)) === 0)
  const refused = await a.ask(asAlice)
  t.equal(refused.status, 429)
  t.equal(refused.headers['ratelimit-limit'], `${MAX_REQUESTS}`)
  t.equal((await a.ask([basic('bob', passwords.bob)])).status, 200, 'others have their own')
})

t.test('misses through one replica and hits through both count against limits of all replicas', async (t) => {
  const { start } = await replicas(t)
  const hitsPerCaller = { max: () => 4 * MAX_REQUESTS, windowMs: 60_000 }
  const settings = { limits: { ...limits, hitsPerCaller }, costs: false }
  const [a, b] = [await start(settings), await start(settings)]
  await eventually(() => a.replica.heartbeat.replicas === 2 && b.replica.heartbeat.replicas === 2)
  const miss = async (edge: Replica) => edge.ask(asAlice, 'GET /miss')
  for (let turn = 0; turn < 12; turn++) t.equal((await miss(a)).status, 200)
  await eventually(async () => (await miss(b)).status === 429)
  t.equal((await miss(b)).headers['ratelimit-limit'], `${MAX_REQUESTS}`)
  t.equal(await served(a, 10), 10, 'hits continue')
  await eventually(async () => (await served(b, 1)) === 0)
  await eventually(async () => (await served(a, 1)) === 0)
  t.equal((await a.ask(asAlice)).headers['ratelimit-limit'], `${4 * MAX_REQUESTS}`)
})

t.test('while Redis is unreachable, each replica serves its share', async (t) => {
  const { start, redis } = await replicas(t)
  const [a, b] = [await start({ limits }), await start({ limits })]
  await eventually(() => a.replica.heartbeat.replicas === 2 && b.replica.heartbeat.replicas === 2)
  await redis.kill()
  await eventually(() => [a, b].every(({ replica }) => replica.contact.lostAt !== undefined))
  const counts = [await served(a, 15), await served(b, 15)]
  for (const count of counts) t.ok(count === MAX_REQUESTS / 2, `${count} served`)
})

t.test('a caller far below the limit causes no command to Redis', async (t) => {
  const { start, redis } = await replicas(t)
  const [a, b] = [await start({ limits }), await start({ limits })]
  await eventually(() => a.replica.heartbeat.replicas === 2 && b.replica.heartbeat.replicas === 2)
  t.equal((await served(a, 2)) + (await served(b, 2)), 4)
  // The counts of another caller are sent, and only those.
  const asBob = [basic('bob', passwords.bob)]
  for (let turn = 0; turn < MAX_REQUESTS; turn++) await a.ask(asBob)
  const counts = () => redis.client().keys('edge:{a}:window:*')
  await eventually(async () => (await counts()).length > 0)
  t.equal((await counts()).length, 1)
})
