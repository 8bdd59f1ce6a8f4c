/** A read that waits for the queued call of another replica makes this call as urgent as the read itself is. */
import t, { type Test } from 'tap'
import { SharedPresence } from '../../../../src/cache/shared-presence.ts'
import { Presence } from '../../../../src/core/presence.ts'
import type { EdgeRead, RequestClient } from '../../../../src/core/request.ts'
import { startDeadline } from '../../../../src/core/timing.ts'
import type { LimitedCall } from '../../../../src/upstream/flows.ts'
import { createLatch, replica as edgeReplica, edgeRequest, success } from '../../../support/edge-requests.ts'
import { eventually } from '../../../support/eventually.ts'
import { startRedis } from '../../../support/redis.ts'
import { createLimiter, flowOf } from '../../upstream/limiter-simulation.ts'
import { epochsOf } from './contract.ts'
import { replica, steady } from './replicas.ts'

const redis = await startRedis()
t.teardown(() => redis.close())

const clock = () => performance.now()
/** No test finds what another has stored. */
const agents = Array.from({ length: 100 }, (_, at) => String(at))

/** One replica with a node that takes one call at a time; `order`: the agents in the order in which the node gets them. */
async function edge(test: Test) {
  const { store } = await replica(test, redis, { times: steady })
  const { nodes, read } = edgeReplica({ store, clock })
  const limiter = createLimiter(() => ({ inFlight: 1, queue: 100 }), clock)
  const order: string[] = []
  const { opened, open } = createLatch()
  const presences = new Map<string, RequestClient['presence']>()
  nodes.respond = async (request) => {
    const { client, params } = request as EdgeRead
    const { agent_id: agent = '' } = params
    const { flow, presence } = client
    presences.set(agent, presence)
    const call: LimitedCall = {
      ...{ priority: 'interactive', caller: 'edge', path: `/agents/${agent}`, endpoint: 'GET /agents/:agent_id' },
      ...(flow && { flow }),
      ...(presence && { presence }),
    }
    const deadline = startDeadline(20_000, undefined, clock)
    await limiter.acquire(call, deadline)
    deadline.end()
    order.push(agent)
    await opened
    limiter.release(call, clock(), 'success')
    return success(agent)
  }
  /** `flow`: as in `flowOf`. */
  const ask = (agent: string, flow: string) => {
    const client = { signal: new AbortController().signal, presence: new Presence(), flow: flowOf(flow) }
    return read(edgeRequest('GET /agents/:agent_id', { params: { agent_id: agent }, client }))
  }
  return { ask, order, open, presences }
}

/** Returns where in the queue of five other reads the holder of the fetch lock sends the call for which `followers` wait. */
async function placeOf(test: Test, followers: readonly string[]): Promise<number> {
  const [holder, other] = [await edge(test), await edge(test)]
  const [shared = '', first = '', ...queued] = agents.splice(0, 7)
  const asked = [holder.ask(first, 'ann 127.0.0.1 0')]
  await eventually(() => holder.order.length === 1)
  asked.push(holder.ask(shared, 'ann 127.0.0.1 1+'))
  for (const agent of queued) asked.push(holder.ask(agent, 'ann 127.0.0.1 2'))
  await eventually(() => holder.presences.size === 7)
  for (const [at, flow] of followers.entries()) {
    asked.push(other.ask(shared, flow))
    if (at > 0) continue
    // The flight begins as this client's. A message about it would come before that about the other read.
    asked.push(other.ask(first, 'ann 127.0.0.1 7'))
    await eventually(() => holder.presences.get(first)?.isUrgent === true)
  }
  const isAwaited = followers.some((flow) => !flow.endsWith('+'))
  await eventually(() => holder.presences.get(shared)?.isUrgent === isAwaited)
  holder.open()
  await Promise.all(asked)
  test.strictSame(other.order, [], 'the node gets the call once')
  return holder.order.indexOf(shared)
}

t.test('a read that waits for the queued bulk call of another replica moves it before others', async (t) => {
  t.equal(await placeOf(t, ['ann 127.0.0.1 9']), 1)
})

t.test('so does one that joins a bulk read of its replica, which waits for that call', async (t) => {
  t.equal(await placeOf(t, ['ann 127.0.0.1 8+', 'ann 127.0.0.1 9']), 1)
})

t.test('a bulk read does not', async (t) => {
  t.equal(await placeOf(t, ['ann 127.0.0.1 8+']), 6)
})

t.test('clients that leave and come again count once for the holder', async (t) => {
  const [{ store: holder }, { store: other }] = await Promise.all([replica(t, redis), replica(t, redis)])
  const epochs = await epochsOf(holder)
  // Of a client that leaves while its call goes on: two others make it urgent.
  const [held, waiting] = [new SharedPresence(), new SharedPresence()]
  held.join(new Presence())()
  waiting.join(new Presence(), true)
  const lock = await holder.acquireFetchLock('k', epochs, 60_000, held)
  t.match(await other.acquireFetchLock('k', epochs, 60_000, waiting), { held: false })
  for (let client = 0; client < 3; client += 1) waiting.join(new Presence())()
  await eventually(() => held.isInteractive)
  // Behind the messages of the other replica.
  const last = new SharedPresence()
  last.join(new Presence())
  const begun = new SharedPresence()
  const own = await holder.acquireFetchLock('last', epochs, 60_000, begun)
  await other.acquireFetchLock('last', epochs, 60_000, last)
  await eventually(() => begun.isInteractive)
  t.notOk(held.isUrgent)
  for (const each of [lock, own]) if (each.held) await each.release()
})
