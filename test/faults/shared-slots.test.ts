/** `cluster.limits.inFlight` is the limit of a node for all replicas together: real replicas, and a slow node. */
import t from 'tap'
import { eventually } from '../support/eventually.ts'
import { startRedis } from '../support/redis.ts'
import { authorization, BUILT, type Replica, startReplica, startUpstream } from './coherence/processes.ts'

const LIMIT = 4
/** Milliseconds of a call on the node: so slow that queued calls wait for slots, not for processors. */
const CALL_MS = 40
const SLOW = { delay: 0, steady: CALL_MS, heedsBypass: true }

const redis = await startRedis()
const upstream = await startUpstream(SLOW)
const replicas: Replica[] = []
t.teardown(async () => {
  await Promise.all(replicas.map((each) => each.close()))
  await upstream.close()
  await redis.close()
})

async function startReplicas(count: number): Promise<void> {
  const options = {
    build: BUILT,
    upstream: upstream.url,
    redis: redis.url,
    inFlight: LIMIT,
    timeout: '60s',
    // On a busy machine Redis must not count as unreachable.
    cache: { redis: { url: redis.url, timeout: '1s' } },
  }
  replicas.push(...(await Promise.all(Array.from({ length: count }, () => startReplica(options)))))
}

let agent = 1000
/** Sends reads of different agents at once, which are all misses. Returns the statuses. */
function sendMisses({ url }: Replica, count: number): Promise<number[]> {
  const reads = Array.from({ length: count }, async () => {
    agent += 1
    const response = await fetch(`${url}/agents/${agent}`, { headers: { authorization } })
    await response.text()
    return response.status
  })
  return Promise.all(reads)
}

async function countMostInFlight(work: () => Promise<unknown>): Promise<number> {
  await upstream.report()
  await work()
  return (await upstream.report()).maxConcurrent
}

for (const [before, count] of [
  [0, 1],
  [1, 2],
  [2, 4],
  [4, 8],
] as const) {
  t.test(`${count} replicas together keep to the limit of a node, also while replicas start`, async (t) => {
    const started = count - before
    const whileStarting = await countMostInFlight(async () => {
      const load = replicas.map((each) => sendMisses(each, 20))
      await startReplicas(started)
      await Promise.all(load)
    })
    t.ok(whileStarting <= LIMIT + started, `${whileStarting} while ${started} start`)
    const statuses: number[][] = []
    const most = await countMostInFlight(async () => {
      statuses.push(...(await Promise.all(replicas.map((each) => sendMisses(each, 15)))))
    })
    t.ok(most <= LIMIT, `${most} calls in flight at once`)
    t.same(new Set(statuses.flat()), new Set([200]), 'every request of every replica is answered')
  })
}

t.test('one busy replica has the whole limit while the others are idle', async (t) => {
  const [busy] = replicas
  t.equal(await countMostInFlight(async () => busy && sendMisses(busy, 20)), LIMIT)
})

t.test('the slots of a killed replica serve the others', async (t) => {
  const [killed, other] = replicas
  if (killed === undefined || other === undefined) throw new Error('no replicas')
  const most = await countMostInFlight(async () => {
    const lost = sendMisses(killed, 20).catch(() => [])
    await eventually(async () => (await upstream.report()).calls > 0)
    await killed.kill()
    await lost
    t.same(new Set(await sendMisses(other, 20)), new Set([200]))
  })
  t.equal(most, LIMIT)
})

t.test('without Redis, each replica has its share, and every request is answered', async (t) => {
  const alive = replicas.slice(1)
  await redis.kill()
  const sent = () => Promise.all(alive.map((each) => sendMisses(each, 5)))
  // Calls that were sent on slots of Redis end.
  await sent()
  const statuses: number[][] = []
  const most = await countMostInFlight(async () => statuses.push(...(await sent())))
  t.ok(most <= alive.length, `${most} calls of ${alive.length} replicas`)
  t.same(new Set(statuses.flat()), new Set([200]))
})
