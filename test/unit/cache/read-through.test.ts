import t from 'tap'
import { v4Contract } from '../../../src/contracts/v4/index.ts'
import { isStale } from '../../../src/core/cache.ts'
import { EdgeError, type ErrorCode } from '../../../src/core/errors.ts'
import type { EdgeResponse } from '../../../src/core/response.ts'
import { OF_NODE } from '../../../src/layouts/dialect.ts'
import {
  bodyOf,
  cacheStatusOf,
  caller,
  createLatch,
  edgeRequest,
  jsonResponse,
  replica,
  settle,
  success,
} from '../../support/edge-requests.ts'
import { eventually } from '../../support/eventually.ts'

const one = (id = '001') => edgeRequest('GET /agents/:agent_id', { params: { agent_id: id } })
const dataOf = (responses: readonly EdgeResponse[]) => responses.map((response) => bodyOf(response).data)

t.test('a stored response is served without a call to a node until it expires', async (t) => {
  const { read, nodes, clock } = replica()
  const first = await read(one())
  t.match(cacheStatusOf(first), { fwd: 'uri-miss', stored: true, ttl: 1000 })
  clock.advance(400)
  const second = await read(one())
  t.strictSame(cacheStatusOf(second), { hit: true, ttl: 600 })
  t.equal(bodyOf(second).data, 1)
  t.match(second, { origin: { age: 400, response: { etag: /^"[\w-]{27}"$/, ttl: 1000 } } })
  t.equal(bodyOf(await read(one('002'))).data, 2, 'another agent is another stored response')
  clock.advance(70_000)
  t.match(cacheStatusOf(await read(one())), { fwd: 'uri-miss', stored: true })
  t.equal(nodes.calls, 3)
})

t.test('1,000 identical misses are one call', async (t) => {
  const { read, nodes } = replica()
  const { opened, open } = createLatch()
  nodes.respond = async (_, call) => {
    await opened
    return success(call)
  }
  const all = Array.from({ length: 1000 }, () => read(one()))
  await settle()
  open()
  const responses = await Promise.all(all)
  t.equal(nodes.calls, 1)
  t.ok(dataOf(responses).every((data) => data === 1))
  t.equal(responses.filter((response) => cacheStatusOf(response)?.stored).length, 1)
  t.equal(responses.filter((response) => cacheStatusOf(response)?.collapsed).length, 999)
})

t.test('a failed call fails all requests that waited for it, and no later request', async (t) => {
  const { read, nodes } = replica()
  nodes.respond = async (_, call) => {
    await settle()
    if (call === 1) throw new EdgeError(924)
    return success(call)
  }
  const all = await Promise.allSettled([read(one()), read(one()), read(one())])
  t.ok(all.every((outcome) => outcome.status === 'rejected' && outcome.reason.code === 924))
  t.equal(bodyOf(await read(one())).data, 2)
})

t.test('a client that disconnects does not abort the call that other clients wait for', async (t) => {
  const { read, nodes } = replica()
  const { opened, open } = createLatch()
  nodes.respond = async (_, call) => {
    await opened
    return success(call)
  }
  const leaving = new AbortController()
  const aborted = read({ ...one(), client: leaving })
  const stays = read(one())
  await settle()
  leaving.abort(new Error('left'))
  await t.rejects(async () => aborted, { message: 'left' })
  t.notOk(nodes.requests[0]?.client.signal.aborted, 'the call goes on')
  open()
  t.equal(bodyOf(await stays).data, 1)

  const all = new AbortController()
  const { opened: openedAgain, open: openAgain } = createLatch()
  nodes.respond = async () => {
    await openedAgain
    return success('stored')
  }
  const alone = read({ ...one('002'), client: all })
  await settle()
  all.abort(new Error('left'))
  await t.rejects(async () => alone)
  t.notOk(nodes.requests.at(-1)?.client.signal.aborted, 'a call whose response will be stored is completed')
  openAgain()
  await settle()
  t.match(cacheStatusOf(await read(one('002'))), { hit: true })

  const unlimited = new AbortController()
  nodes.respond = async ({ client: { signal } }) => {
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    return success('never')
  }
  const endless = read({ ...one('003'), waitForComplete: true, client: unlimited })
  await settle()
  unlimited.abort(new Error('left'))
  await t.rejects(async () => endless)
  t.ok(nodes.requests.at(-1)?.client.signal.aborted, 'a call without a time limit ends with its last client')
})

t.test('a request without a time limit does not share a call with one that has a limit', async (t) => {
  const { read, nodes } = replica()
  const { opened, open } = createLatch()
  nodes.respond = async (_, call) => {
    await opened
    return success(call)
  }
  const all = [read(one()), read({ ...one(), waitForComplete: true })]
  await settle()
  open()
  await Promise.all(all)
  t.strictSame(nodes.requests.map(({ waitForComplete }) => waitForComplete).sort(), [false, true])
})

t.test('callers with their own credentials do not share calls', async (t) => {
  const { read, nodes } = replica()
  nodes.respond = async ({ caller: { name } }) => {
    await settle()
    if (name === 'mallory') throw new EdgeError(901)
    return success('allowed')
  }
  const as = (name: string) =>
    read({ ...one(), caller: { ...caller, name, credentials: { username: name, password: 'p' } } })
  const [rejected, fulfilled] = await Promise.allSettled([as('mallory'), as('alice')])
  t.match(rejected, { status: 'rejected', reason: { code: 901 } })
  t.equal(fulfilled?.status, 'fulfilled')
})

t.test('a stale response is served while one call refreshes it', async (t) => {
  const { read, nodes, clock } = replica()
  await read(one())
  clock.advance(1500)
  const stale = await Promise.all([read(one()), read(one()), read(one())])
  t.ok(dataOf(stale).every((data) => data === 1))
  t.match(cacheStatusOf(stale[0] as EdgeResponse), { hit: true, ttl: -500, detail: 'stale-while-revalidate' })
  await settle()
  t.equal(nodes.calls, 2)
  t.equal(bodyOf(await read(one())).data, 2)
  clock.advance(2500)
  t.match(
    cacheStatusOf(await read(one())),
    { fwd: 'stale', stored: true },
    'after stale-while-revalidate, the request waits for the refresh',
  )
  t.equal(nodes.calls, 3)
})

t.test('a refresh has a time limit even if the request has none', async (t) => {
  const { read, nodes, clock } = replica()
  await read(one())
  clock.advance(1500)
  t.match(cacheStatusOf(await read({ ...one(), waitForComplete: true })), { detail: 'stale-while-revalidate' })
  await settle()
  t.strictSame(
    nodes.requests.map(({ waitForComplete }) => waitForComplete),
    [false, false],
  )
})

t.test('while nodes fail, a stale response is served within stale-if-error', async (t) => {
  const { read, nodes, clock } = replica()
  await read(one())
  nodes.respond = () => {
    throw new EdgeError(920)
  }
  clock.advance(30_000)
  const stale = await read(one())
  t.equal(bodyOf(stale).data, 1)
  t.match(cacheStatusOf(stale), { fwd: 'stale', detail: { error: 920 }, ttl: -29_000 })
  const calls = nodes.calls
  t.match(cacheStatusOf(await read(one())), { hit: true, detail: { error: 920 } })
  t.equal(nodes.calls, calls, 'no other call within a second')
  clock.advance(1000)
  nodes.respond = () => jsonResponse({ error: 3012, message: 'cluster is not running' })
  await read(one())
  await settle()
  t.match(cacheStatusOf(await read(one())), { detail: { error: 3012 } }, 'also for failures that a node reports')
  t.equal(nodes.calls, calls + 1)
  clock.advance(1000)
  nodes.respond = () => jsonResponse({ error: 1701, message: 'Agent does not exist' })
  await read(one())
  await settle()
  t.equal(bodyOf(await read(one())).error, 1701, 'not for other errors of the manager')
  nodes.respond = () => {
    throw new EdgeError(903)
  }
  await t.rejects(async () => read(one()), { code: 903 }, 'not for an error that concerns the caller')
  nodes.respond = () => {
    throw new EdgeError(920)
  }
  clock.advance(31_000)
  await t.rejects(async () => read(one()), { code: 920 }, 'not after stale-if-error')
})

t.test('after a failure, no request waits for a fetch that is slow to fail', async (t) => {
  const { read, nodes, clock } = replica()
  await read(one())
  nodes.respond = () => {
    throw new EdgeError(922)
  }
  clock.advance(5000)
  await read(one())
  let fail = (_: Error): void => undefined
  nodes.respond = () => new Promise((_, reject) => (fail = reject))
  const calls = nodes.calls
  for (let second = 0; second < 30; second += 1) {
    clock.advance(1000)
    t.match(cacheStatusOf(await read(one())), { hit: true, detail: { error: 922 } })
  }
  t.equal(nodes.calls, calls + 1, 'the refresh is under way')
  fail(new EdgeError(920))
  await settle()
  nodes.respond = () => success(2)
  clock.advance(1000)
  t.match(cacheStatusOf(await read(one())), { detail: { error: 920 } })
  await settle()
  t.notOk(isStale(cacheStatusOf(await read(one()))?.detail))
  t.equal(bodyOf(await read(one())).data, 2)
})

t.test('while the node is known to be silent, no request waits, and a refresh tries it', async (t) => {
  let isSilent = false
  const { read, nodes, clock } = replica({ isSilent: () => isSilent })
  await read(one())
  nodes.respond = () => new Promise(() => undefined)
  clock.advance(5000)
  isSilent = true
  t.match(cacheStatusOf(await read(one())), { hit: true, detail: { error: 920 } })
  t.match(cacheStatusOf(await read(one())), { hit: true, detail: { error: 920 } })
  await settle()
  t.equal(nodes.calls, 2)
})

t.test('while calls wait for the limit of a node, a stale response is served for longer', async (t) => {
  let wait = 0
  let isIdle = false
  const timers: (() => void)[] = []
  const lifetimesOf = () => ({ ttl: 1000, staleWhileRevalidate: 'automatic', staleIfError: 60_000 }) as const
  const { read, nodes, clock } = replica({
    waitForRead: () => wait,
    hasIdleCapacity: () => isIdle,
    refreshAhead: { maxConcurrent: 1, minHits: 3, runLater: (run) => timers.push(run) },
    lifetimesOf,
  })
  await read(one())
  nodes.respond = () => new Promise(() => undefined)
  wait = 100
  clock.advance(12_000)
  t.match(cacheStatusOf(await read(one())), { hit: true, detail: 'stale-while-revalidate' })
  await settle()
  t.equal(nodes.calls, 1, 'the calls are left to clients that wait')
  isIdle = true
  timers.shift()?.()
  await settle()
  t.equal(nodes.calls, 2, 'the response is refreshed')
  wait = Number.POSITIVE_INFINITY
  clock.advance(18_000)
  t.match(cacheStatusOf(await read(one())), { hit: true, detail: 'stale-while-revalidate' })
  clock.advance(2_000)
  const late = read(one())
  await settle()
  t.equal(await Promise.race([late, 'waits']), 'waits', 'not longer than 30 s')
})

t.test('the call that verifies a hit is answered by no stored response', async (t) => {
  const { read, nodes, clock } = replica({ settings: { divergenceCheck: { sampleRatio: 1, maxPerSecond: 1000 } } })
  await read(one())
  clock.advance(100)
  t.match(cacheStatusOf(await read(one())), { hit: true })
  await settle()
  t.strictSame(
    nodes.reads.map(({ reuse }) => reuse),
    ['allowed', 'noStore'],
  )
})

t.test('a read of the v4 contract has the lifetimes of its endpoint, also while calls wait', async (t) => {
  const names = new Set<string>()
  const lifetimesOf = (_: string, name: string) => {
    names.add(name)
    return { ttl: 1000, staleWhileRevalidate: 'automatic', staleIfError: 60_000 } as const
  }
  const { read, clock } = replica({ waitForRead: () => 6_000, lifetimesOf })
  const endpoint = v4Contract.find(({ path }) => path === '/agents/summary/status')
  if (endpoint?.method !== 'GET') throw new Error('there is no such read')
  const request = { ...one(), endpoint, params: {} }
  await read(request)
  clock.advance(12_000)
  t.match(cacheStatusOf(await read(request)), { detail: 'stale-while-revalidate' })
  await settle()
  t.strictSame([...names], ['v4:/agents/summary/status'])
})

t.test('a refresh that failed is not repeated within a second', async (t) => {
  const { read, nodes, clock } = replica()
  await read(one())
  nodes.respond = () => {
    throw new EdgeError(920)
  }
  clock.advance(1100)
  for (let time = 0; time < 10; time += 1) {
    t.match(cacheStatusOf(await read(one())), { hit: true, detail: 'stale-while-revalidate' })
    await settle()
  }
  t.equal(nodes.calls, 2)
})

t.test('after a write, a stale response is not served even if the nodes fail', async (t) => {
  const { read, nodes, clock, store } = replica()
  await read(one())
  clock.advance(5000)
  nodes.respond = async () => {
    await (await store.fence(['agent:001'])).lift([])
    throw new EdgeError(922)
  }
  await t.rejects(async () => read(one()), { code: 922 })
})

t.test('only complete and successful responses are stored', async (t) => {
  const { read, nodes } = replica()
  const isStored = async (response: EdgeResponse): Promise<boolean> => {
    const before = nodes.calls
    nodes.respond = () => response
    const agent = one(String(100 + before))
    t.equal(cacheStatusOf(await read(agent))?.stored ?? false, cacheStatusOf(await read(agent))?.hit ?? false)
    return nodes.calls === before + 1
  }
  t.ok(await isStored(success({ id: '001' })))
  t.ok(await isStored(success('a text with \\"failed_nodes\\" in it')))
  t.notOk(await isStored(jsonResponse({ error: 1701, message: 'Agent does not exist' })))
  t.notOk(await isStored(jsonResponse({ error: 0, message: 'no' }, 500)))
  const origin = { ...OF_NODE, namesFailedNodes: true }
  t.notOk(await isStored({ ...success({ items: [], totalItems: 0 }), origin }), 'some nodes failed')
  t.ok(await isStored(jsonResponse({ data: 1, error: 0 })), 'in any order of members')
})

t.test('a response that is never stored is fetched for each request', async (t) => {
  const { read, nodes } = replica()
  const agentKey = () => edgeRequest('GET /agents/:agent_id/key', { params: { agent_id: '001' } })
  const all = await Promise.all([read(agentKey()), read(agentKey())])
  t.equal(nodes.calls, 2)
  t.equal(cacheStatusOf(all[0] as EdgeResponse), undefined)
})

t.test('no-cache fetches a new response, no-store does not store it', async (t) => {
  const { read, nodes } = replica()
  await read(one())
  t.match(cacheStatusOf(await read({ ...one(), reuse: 'noCache' })), {
    fwd: 'request',
    stored: true,
  })
  t.equal(bodyOf(await read(one())).data, 2, 'the new response is stored')
  t.equal(bodyOf(await read({ ...one(), reuse: 'noStore' })).data, 3)
  t.equal(bodyOf(await read(one())).data, 2)
  t.equal(nodes.calls, 3)
})

t.test('a response with many hits is refreshed before it expires, if the nodes have idle capacity', async (t) => {
  let isIdle = false
  const timers: (() => void)[] = []
  const { read, nodes, clock } = replica({
    hasIdleCapacity: () => isIdle,
    refreshAhead: { maxConcurrent: 1, minHits: 3, runLater: (run) => timers.push(run) },
  })
  await Promise.all([read(one()), read(one('002'))])
  clock.advance(600)
  for (let hit = 0; hit < 3; hit += 1) await read(one())
  clock.advance(250)
  await read(one())
  await settle()
  t.equal(nodes.calls, 2, 'no idle capacity')
  isIdle = true
  await read(one('002'))
  await settle()
  t.equal(nodes.calls, 2, 'too few hits')
  t.match(cacheStatusOf(await read(one())), { hit: true, ttl: 150 })
  timers.shift()?.()
  await eventually(() => nodes.calls === 3)
  await settle()
  t.match(cacheStatusOf(await read(one())), { hit: true, ttl: 1000 })
})

t.test('a response of a record that is never stale is served while it is fresh, and never after that', async (t) => {
  const { read, nodes, clock } = replica()
  const verdict = () =>
    edgeRequest('GET /cluster/:node_id/configuration/validation', { params: { node_id: 'worker-1' } })
  await read(verdict())
  clock.advance(900)
  t.match(cacheStatusOf(await read(verdict())), { hit: true })
  clock.advance(200)
  nodes.respond = () => {
    throw new EdgeError(924)
  }
  await t.rejects(async () => read(verdict()), { code: 924 }, 'while its node fails')
  await t.rejects(async () => read(verdict()), { code: 924 }, 'while its node has failed recently')
  nodes.respond = () => jsonResponse({ error: 3020, message: 'Timeout' })
  clock.advance(1100)
  t.match(bodyOf(await read(verdict())), { error: 3020 }, 'while its node reports a failure')
})

t.test(
  'a fresh response of a record that is never stale does not replace a newer one that cannot be fetched',
  async (t) => {
    const { read, nodes, clock } = replica()
    const verdict = (arrivedWithin?: number) =>
      edgeRequest('GET /cluster/:node_id/configuration/validation', {
        params: { node_id: 'worker-1' },
        ...(arrivedWithin !== undefined && { reuse: { arrivedWithin } }),
      })
    await read(verdict())
    clock.advance(500)
    nodes.respond = () => {
      throw new EdgeError(924)
    }
    t.match(cacheStatusOf(await read(verdict())), { hit: true }, 'it is fresh')
    await t.rejects(async () => read(verdict(400)), { code: 924 })
  },
)

t.test('only errors by which a node reports the failure of another one are replaced by a stale response', async (t) => {
  const reported = [3000, 3009, 3012, 3016, 3018, 3020, 3021, 3022, 3023]
  const own = [1, 1000, 1010, 1011, 1013, 1014, 1017, 1018, 1019, 1118, 1701, 1901, 1902, 2002, 2005, 3013]
  for (const code of [...reported, ...own]) {
    const { read, nodes, clock } = replica()
    await read(one())
    clock.advance(5000)
    nodes.respond = () => jsonResponse({ error: code, message: 'it' })
    const response = await read(one())
    if (own.includes(code)) t.match(bodyOf(response), { error: code })
    else t.match(cacheStatusOf(response), { detail: { error: code } })
  }
})

t.test('errors of the edge about nodes are replaced by a stale response, those about the caller are not', async (t) => {
  const ofNodes: ErrorCode[] = [920, 921, 922, 923, 924, 925, 926, 927, 3022]
  const ofCaller: ErrorCode[] = [901, 902, 903, 904, 931, 938, 949, 1701, 1750]
  for (const code of [...ofNodes, ...ofCaller]) {
    const { read, nodes, clock } = replica()
    await read(one())
    clock.advance(5000)
    nodes.respond = () => {
      throw new EdgeError(code)
    }
    if (ofCaller.includes(code)) await t.rejects(async () => read(one()), { code })
    else t.match(cacheStatusOf(await read(one())), { detail: { error: code } })
  }
})

t.test(
  'a refresh that is answered with an error ends the serving of the stale response until one succeeds',
  async (t) => {
    const { read, nodes, clock } = replica()
    await read(one())
    clock.advance(1200)
    nodes.respond = () => jsonResponse({ error: 1017, message: 'not ready' })
    t.match(cacheStatusOf(await read(one())), { detail: 'stale-while-revalidate' }, 'the error is not known yet')
    await settle()
    for (const milliseconds of [0, 100, 500]) {
      clock.advance(milliseconds)
      t.match(bodyOf(await read(one())), { error: 1017 })
    }
    nodes.respond = () => success('ready')
    t.match(bodyOf(await read(one())), { data: 'ready' })
    clock.advance(1200)
    t.match(cacheStatusOf(await read(one())), { detail: 'stale-while-revalidate' }, 'as before the error')
  },
)
