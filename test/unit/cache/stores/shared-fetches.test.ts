/**
 * Reads that three replicas share, while Redis fails and another program publishes on the channel of locks: each connected client
 * gets its response, and nothing is left of a read.
 */
import type { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { AbandonedError, Presence } from '../../../../src/core/presence.ts'
import type { EdgeRead } from '../../../../src/core/request.ts'
import { startDeadline, withTimeout } from '../../../../src/core/timing.ts'
import { redisChannels } from '../../../../src/replicas/options.ts'
import type { LimitedCall } from '../../../../src/upstream/flows.ts'
import { type FaultProxy, startFaultProxy } from '../../../faults/proxy.ts'
import { replica as edgeReplica, edgeRequest, success } from '../../../support/edge-requests.ts'
import { eventually } from '../../../support/eventually.ts'
import { type RedisServer, startRedis } from '../../../support/redis.ts'
import { createLimiter, flowOf } from '../../upstream/limiter-simulation.ts'
import { replica, sleep } from './replicas.ts'

const clock = () => performance.now()
const READS = 120
/** Longer than the lease of a lock: only a test that fails waits so long. */
const PATIENCE_MS = 25_000
/** Of other programs, and of attackers. */
const FORGED = ['error', '__proto__', 'newListener', 'awaited ', 'awaited error', '', 'x'.repeat(5_000_000)]

interface World {
  readonly redis: RedisServer
  readonly admin: Redis
  readonly links: readonly FaultProxy[]
  readonly locks: () => Promise<readonly string[]>
}

const faults: Readonly<Record<string, (world: World) => Promise<unknown>>> = {
  'Redis stalls': async ({ redis }) => {
    redis.pause()
    await sleep(500)
    redis.resume()
  },
  'Redis starts again without its data': ({ redis }) => redis.restart(),
  'Redis loses its data': ({ admin }) => admin.flushall(),
  'another program deletes locks': async ({ admin, locks }) => admin.del(...(await locks()), 'none'),
  'Redis closes all connections': ({ admin }) => admin.call('CLIENT', 'KILL', 'SKIPME', 'yes'),
  'the link of a replica fails': async ({ links: [link] }) => {
    await link?.set({ kind: 'refuse' })
    await sleep(300)
    await link?.set({ kind: 'pass' })
  },
  'Redis denies messages': ({ admin }) => deny(admin, '-publish'),
  'Redis denies to store': ({ admin }) => deny(admin, '-set'),
  'Redis denies scripts': ({ admin }) => deny(admin, '-evalsha', '-eval'),
  'messages are forged and repeated': async ({ admin, locks }) => {
    const names = (await locks()).map((key) => key.replace('edge:l:', ''))
    const messages = [...FORGED, ...names.flatMap((name) => [name, `awaited ${name}`])]
    for (const message of [...messages, ...messages]) await admin.publish(redisChannels.locks, message)
  },
}

async function deny(admin: Redis, ...rules: readonly string[]): Promise<void> {
  await admin.call('ACL', 'SETUSER', 'default', ...rules)
  await sleep(300)
  await admin.call('ACL', 'SETUSER', 'default', '+@all')
}

/** A replica in front of a node that takes two calls at a time. */
async function edge(test: Test, port: number) {
  const { store } = await replica(test, { url: `redis://127.0.0.1:${port}` }, { times: { commandTimeout: 200 } })
  const { nodes, read } = edgeReplica({ store, clock })
  const limiter = createLimiter(() => ({ inFlight: 2, queue: READS }), clock)
  nodes.respond = async (request) => {
    const { client, params } = request as EdgeRead
    const call: LimitedCall = {
      ...{ priority: 'interactive', caller: 'edge', path: '/agents', endpoint: 'GET /agents/:agent_id' },
      ...(client.flow && { flow: client.flow }),
      ...(client.presence && { presence: client.presence }),
    }
    const deadline = startDeadline(20_000, client.signal, clock)
    const slot = await limiter.acquire(call, deadline)
    deadline.end()
    if (!slot.ok) throw new AbandonedError(921)
    const start = clock()
    await sleep(30)
    limiter.release(call, start, 'success')
    return success(params.agent_id)
  }
  return read
}

for (const [what, inject] of Object.entries(faults))
  t.test(`${what}: connected clients get their responses, and no lock is left`, async (t) => {
    const redis = await startRedis()
    t.teardown(() => redis.close())
    const links = await Promise.all([1, 2, 3].map(() => startFaultProxy(redis.port)))
    t.teardown(() => Promise.all(links.map((link) => link.close())))
    const edges = await Promise.all(links.map(({ port }) => edge(t, port)))
    const admin = redis.client()
    const locks = () => admin.keys('edge:l:*')
    const answered: Promise<unknown>[] = []
    const gone: Promise<unknown>[] = []
    for (let at = 0; at < READS; at += 1) {
      const [controller, presence] = [new AbortController(), new Presence()]
      const client = {
        signal: controller.signal,
        presence,
        flow: flowOf(`ann 127.0.0.1 ${at % 7}${at % 2 ? '+' : ''}`),
      }
      // Each agent is asked of all replicas, by interactive and bulk clients.
      const request = edgeRequest('GET /agents/:agent_id', { params: { agent_id: `${at % 11}` }, client })
      const response = Promise.resolve(edges[at % 3]?.(request))
      if (at % 5 > 0) answered.push(response)
      else gone.push(response.catch((error: unknown) => error))
      if (at % 10 === 0) setTimeout(() => presence.set('halfClosed'), at)
      if (at % 10 === 5)
        setTimeout(() => {
          presence.set('left')
          controller.abort(new Error('the client has left'))
        }, at)
      if (at === READS / 2) await eventually(async () => (await locks()).length > 0)
    }
    await inject({ redis, admin, links, locks })
    const ended = Promise.allSettled([...answered, ...gone])
    t.not(await withTimeout(ended, PATIENCE_MS, 'late'), 'late')
    await Promise.all(answered)
    await eventually(async () => (await locks()).length === 0)
  })
