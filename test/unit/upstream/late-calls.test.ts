/**
 * A node works on a call whose connection is closed. However calls end at the edge, two replicas together leave a node with
 * no more calls in progress than its limit.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { NodeCall, NodeResult } from '../../../src/core/node-call.ts'
import { redisKeys } from '../../../src/replicas/options.ts'
import { RedisReplica } from '../../../src/replicas/replica.ts'
import { createSharedSlots } from '../../../src/replicas/shared-slots.ts'
import type { Cluster } from '../../../src/upstream/index.ts'
import { eventually } from '../../support/eventually.ts'
import { startRedis } from '../../support/redis.ts'
import { type ClusterTestOptions, clusterOf, fakeNode, get, limits, put } from './fake-node.ts'

const LIMIT = 4
const TIMEOUT_MS = 800
const USUAL_MS = 400
/** Longer than any test lasts. */
const PATIENT = { timeout: 60_000 }
/** Longer than a replica needs to start a call on a slot that is free, also on a slot of the other replica. */
const SETTLED_MS = 150
/** On a busy machine Redis must not count as unreachable. */
const times = { commandTimeout: 20_000, heartbeatInterval: 50 }

const redis = await startRedis()
t.teardown(() => redis.close())

/** What the node works on, until the test lets it answer. Counts without regard to connections. */
class Work {
  readonly inProgress = new Set<{ readonly request: IncomingMessage; readonly response: ServerResponse }>()
  most = 0

  begin(request: IncomingMessage, response: ServerResponse): void {
    this.inProgress.add({ request, response })
    this.most = Math.max(this.most, this.inProgress.size)
  }

  /** Ends all work, or that on these paths. */
  end(path = /./, answer = answerOf): void {
    for (const each of this.inProgress) {
      if (!path.test(each.request.url ?? '')) continue
      this.inProgress.delete(each)
      answer(each.response)
    }
  }
}

const BODY = '{"error":0,"data":{"x":1}}'
const HEAD = { 'content-type': 'application/json; charset=utf-8', 'content-length': BODY.length }

function answerOf(response: ServerResponse): void {
  if (!response.headersSent) response.writeHead(200, HEAD)
  response.end(BODY)
}

async function start(t: Test, options: ClusterTestOptions = {}) {
  await redis.client().flushall()
  // As after a lease: a new state grants shares only, because it may replace one that was lost.
  await redis.client().set(redisKeys.slots('master'), '0 0;')
  const work = new Work()
  const node = await fakeNode(t, (request, response) => {
    if (request.url === '/' || request.url === '/version') return answerOf(response)
    work.begin(request, response)
    if (request.url?.includes('slow-body')) response.writeHead(200, HEAD).flushHeaders()
  })
  const replica = async (): Promise<Cluster> => {
    const shared = new RedisReplica({ redis: { url: redis.url }, times })
    const slots = createSharedSlots(shared)
    const cluster = clusterOf(t, node.url, {
      ...options,
      limits: { ...limits, ...options.limits, inFlight: LIMIT },
      slots,
    })
    t.teardown(async () => {
      await cluster.close()
      await shared.close()
    })
    await shared.start()
    await eventually(() => shared.contact.isTrusted)
    return cluster
  }
  const [one, other] = await Promise.all([replica(), replica()])
  return { work, one, other, replica }
}

interface Kind {
  /** The calls that end before the node has answered them. */
  readonly call: (signal: AbortSignal, at: number) => NodeCall
  /** What ends them. Absent: their deadline. */
  readonly leave?: (client: AbortController) => unknown
  readonly fault: string
}

const leave = (client: AbortController) => client.abort()
const KINDS: Readonly<Record<string, Kind>> = {
  'a read times out before the response': {
    call: (_, at) => get(`/early/${at}`, { timeout: TIMEOUT_MS }),
    fault: 'timeout',
  },
  'a read times out in the body': {
    call: (_, at) => get(`/early/slow-body/${at}`, { timeout: TIMEOUT_MS }),
    fault: 'timeout',
  },
  'a write times out': { call: (_, at) => put(`/early/${at}`, { timeout: TIMEOUT_MS }), fault: 'timeout' },
  'the client of a read leaves': {
    call: (signal, at) => get(`/early/${at}`, { ...PATIENT, signal }),
    leave,
    fault: 'cancelled',
  },
  'the client of a read leaves in the body': {
    call: (signal, at) => get(`/early/slow-body/${at}`, { ...PATIENT, signal }),
    leave,
    fault: 'cancelled',
  },
  'the client of a raw file leaves before the response': {
    call: (signal, at) => get(`/early/${at}`, { ...PATIENT, signal, expect: 'stream' }),
    leave,
    fault: 'cancelled',
  },
  'the client of a call without a time limit leaves': {
    call: (signal, at) => {
      const { timeout: _, ...call } = get(`/early/${at}`, { signal })
      return call
    },
    leave,
    fault: 'cancelled',
  },
}

for (const [name, { call, leave, fault }] of Object.entries(KINDS))
  for (const where of ['one replica', 'both replicas'])
    t.test(`${name}, at ${where}`, async (t) => {
      const { work, one, other } = await start(t)
      const client = new AbortController()
      const early = Array.from({ length: LIMIT }, (_, at) => {
        return (where === 'one replica' || at % 2 === 0 ? one : other).call(call(client.signal, at))
      })
      await eventually(() => work.inProgress.size === LIMIT)
      const later = [one, other].flatMap((replica, at) =>
        Array.from({ length: LIMIT }, (_, each) => replica.call(get(`/later/${at}/${each}`, PATIENT))),
      )
      leave?.(client)
      for (const result of await Promise.all(early)) t.match(result, { ok: false, fault, sent: true })
      await sleep(SETTLED_MS)
      work.end(/early/)
      await answerAll(work, later)
      for (const result of await Promise.all(later)) t.match(result, { ok: true })
      t.equal(work.most, LIMIT)
    })

/** Lets the node answer what it works on, one call after the other, until all are answered. */
async function answerAll(work: Work, calls: readonly Promise<NodeResult>[]): Promise<void> {
  let isDone = false
  void Promise.all(calls).then(() => {
    isDone = true
  })
  await eventually(() => {
    const [next] = work.inProgress
    if (next !== undefined) {
      work.inProgress.delete(next)
      answerOf(next.response)
    }
    return isDone
  })
}

for (const leaving of ['one replica', 'both replicas'])
  for (const [kind, make] of Object.entries({ reads: get, writes: put }))
    t.test(
      `the node works on ${kind} when ${leaving} ${leaving === 'one replica' ? 'is' : 'are'} stopped`,
      async (t) => {
        const { work, one, other, replica } = await start(t)
        const path = `/early/${kind}`
        // The usual time of these calls.
        const first = [one, other].map((each) => each.call(make(path, PATIENT)))
        await eventually(() => work.inProgress.size === 2)
        await sleep(USUAL_MS)
        work.end()
        await Promise.all(first)
        const stopped = leaving === 'one replica' ? [one] : [one, other]
        const successor = leaving === 'one replica' ? other : await replica()
        const early = Array.from({ length: LIMIT }, (_, at) => stopped[at % stopped.length]?.call(make(path, PATIENT)))
        await eventually(() => work.inProgress.size === LIMIT)
        const stoppedAt = performance.now()
        await Promise.all(stopped.map((each) => each.close()))
        for (const result of await Promise.all(early)) t.match(result, { ok: false })
        const later = Array.from({ length: LIMIT }, (_, at) => successor.call(get(`/later/${at}`, PATIENT)))
        await sleep(SETTLED_MS)
        t.equal(work.most, LIMIT)
        await eventually(() => [...work.inProgress].some(({ request }) => request.url?.startsWith('/later')))
        t.ok(performance.now() - stoppedAt >= 2 * USUAL_MS - 50, 'twice the usual time')
        work.end(/early/)
        await answerAll(work, later)
      },
    )

t.test('the node works on calls of a stopped replica whose usual time is not known', async (t) => {
  const { work, one, other } = await start(t, { limits: { timeout: TIMEOUT_MS } })
  const early = Array.from({ length: LIMIT }, (_, at) => one.call(get(`/early/${at}`, PATIENT)))
  await eventually(() => work.inProgress.size === LIMIT)
  const stoppedAt = performance.now()
  await one.close()
  for (const result of await Promise.all(early)) t.match(result, { ok: false })
  const later = other.call(get('/later', PATIENT))
  await eventually(() => work.inProgress.size > LIMIT)
  t.ok(performance.now() - stoppedAt >= TIMEOUT_MS - 50, 'as long as a call may take')
  await answerAll(work, [later])
})

t.test('a call whose client leaves before it is sent has no slot', async (t) => {
  const { work, one, other } = await start(t)
  const held = Array.from({ length: LIMIT }, (_, at) => one.call(get(`/early/${at}`, PATIENT)))
  await eventually(() => work.inProgress.size === LIMIT)
  const client = new AbortController()
  const queued = [one, other].map((replica) => replica.call(get('/later', { ...PATIENT, signal: client.signal })))
  client.abort()
  for (const result of await Promise.all(queued)) t.match(result, { ok: false, sent: false })
  t.equal(one.status()[0]?.inFlight, LIMIT)
  work.end()
  await Promise.all(held)
  t.equal(one.status()[0]?.inFlight, 0)
})

t.test('a node that resets the connections works on none of the calls', async (t) => {
  const { work, one, other } = await start(t)
  const reset = Array.from({ length: LIMIT }, (_, at) => one.call(put(`/early/${at}`, PATIENT)))
  await eventually(() => work.inProgress.size === LIMIT)
  const later = other.call(get('/later', PATIENT))
  work.end(/early/, ({ req }) => req.socket.resetAndDestroy())
  for (const result of await Promise.all(reset)) t.match(result, { ok: false, fault: 'unreachable' })
  await answerAll(work, [later])
  t.match(await later, { ok: true })
  t.equal(work.most, LIMIT)
})

t.test('of two attempts, the one that comes second keeps its slot', async (t) => {
  const { work, one, other } = await start(t)
  const late = one.call(get('/twice', { ...PATIENT, isShared: true }))
  await eventually(() => work.inProgress.size === 1)
  const held = Array.from({ length: LIMIT - 2 }, (_, at) => other.call(get(`/held/${at}`, PATIENT)))
  await eventually(() => work.inProgress.size === LIMIT, 20_000)
  const later = Array.from({ length: LIMIT }, (_, at) => other.call(get(`/later/${at}`, PATIENT)))
  const second = [...work.inProgress].filter(({ request }) => request.url === '/twice')[1]
  if (second === undefined) throw new Error('there is no second attempt')
  work.inProgress.delete(second)
  answerOf(second.response)
  t.match(await late, { ok: true })
  await eventually(() => work.inProgress.size === LIMIT)
  await sleep(SETTLED_MS)
  t.equal(one.status()[0]?.inFlight, 1)
  await answerAll(work, [...held, ...later])
  t.equal(work.most, LIMIT)
})

t.test('a call that is never answered has its slot for as long again as its timeout', async (t) => {
  const { work, one, other } = await start(t)
  const began = performance.now()
  const early = Array.from({ length: LIMIT }, (_, at) => one.call(get(`/early/${at}`, { timeout: TIMEOUT_MS })))
  await Promise.all(early)
  const later = other.call(get('/later', PATIENT))
  await eventually(() => work.inProgress.size === LIMIT + 1)
  t.ok(performance.now() - began >= 2 * TIMEOUT_MS - 5)
  work.end()
  t.match(await later, { ok: true })
})

t.test('a late answer is a response: the node is not ejected any more', async (t) => {
  const { work, one } = await start(t, { ejection: { failures: 2 } })
  const early = Array.from({ length: 2 }, (_, at) => one.call(get(`/early/${at}`, { timeout: TIMEOUT_MS })))
  await Promise.all(early)
  t.notOk(one.view.isAvailable('master'))
  work.end()
  await eventually(() => one.view.isAvailable('master'))
  t.equal(one.status()[0]?.inFlight, 0)
})
