import t from 'tap'
import { type FreshnessLifetimes, staleTimesOf } from '../../../src/cache/lifetimes.ts'
import { compilePolicy } from '../../../src/cache/policy.ts'
import { EdgeError } from '../../../src/core/errors.ts'
import type { EdgeRead } from '../../../src/core/request.ts'
import type { EdgeResponse } from '../../../src/core/response.ts'
import {
  bodyOf,
  cacheStatusOf,
  edgeRequest,
  joinedResponse,
  jsonResponse,
  recordOf,
  replica,
  settle,
  success,
} from '../../support/edge-requests.ts'

const AGENT = 'GET /agents/:agent_id'
const STATUS = 'GET /manager/status'
const VERDICT = 'GET /manager/configuration/validation'
const TTL = 1000
const automatic: FreshnessLifetimes = { ttl: TTL, staleWhileRevalidate: 'automatic', staleIfError: 60_000 }

const timesOf = (id: string, lifetimes: FreshnessLifetimes, fetchTime: number) => {
  const policy = compilePolicy(recordOf(id))
  if (typeof policy === 'string') throw new Error(policy)
  return staleTimesOf(policy, lifetimes, fetchTime)
}

t.test('without a setting, the stale time is the TTL, at least 3 s and two fetch times, at most 30 s', async (t) => {
  const rows: readonly (readonly [ttl: number, fetchTime: number, bound: number])[] = [
    [750, 0, 3000],
    [1000, 1400, 3000],
    [1000, 2000, 4000],
    [5000, 400, 5000],
    [5000, 4000, 8000],
    [1000, 20_000, 30_000],
    [60_000, 400, 30_000],
  ]
  for (const [ttl, fetchTime, bound] of rows) {
    t.equal(timesOf(AGENT, { ...automatic, ttl }, fetchTime).staleWhileRevalidate, bound, `${ttl}, ${fetchTime}`)
    t.equal(timesOf(AGENT, { ...automatic, ttl, staleWhileRevalidate: 700 }, fetchTime).staleWhileRevalidate, 700)
    t.strictSame(timesOf(VERDICT, { ...automatic, ttl }, fetchTime), {
      staleWhileRevalidate: 0,
      staleIfError: 0,
      staleWhileHot: 0,
      staleInOutage: 0,
      staleWithoutRedis: 0,
    })
    const { staleWhileRevalidate, staleIfError, staleWhileHot } = timesOf(STATUS, { ...automatic, ttl }, fetchTime)
    t.strictSame([staleWhileRevalidate, staleIfError, staleWhileHot], [0, 0, 3000])
  }
})

/** A cache with this setting, and a function that advances the clock and reads. */
function cacheOf(id: `GET ${string}`, staleWhileRevalidate: number | 'automatic' = 'automatic') {
  const parts = replica({ lifetimesOf: () => ({ ...automatic, staleWhileRevalidate }) })
  const request = () => edgeRequest(id, id === AGENT ? { params: { agent_id: '001' } } : {})
  const after = async (milliseconds: number, more: Partial<EdgeRead> = {}) => {
    parts.clock.advance(milliseconds)
    return parts.read({ ...request(), ...more })
  }
  /** Reads often in the second half of the lifetime, but not so late that a refresh starts. 300 ms of it are left. */
  const readOften = async () => {
    await after(0)
    await after(600)
    await after(50)
    await after(50)
  }
  return { ...parts, after, readOften }
}

const STALE = { hit: true, detail: 'stale-while-revalidate' }
const statusAfter = async (response: Promise<EdgeResponse>) => cacheStatusOf(await response)

t.test('a response of any group is served stale while one request refreshes it, until the bound', async (t) => {
  const { after, nodes } = cacheOf(AGENT)
  await after(0)
  t.match(await statusAfter(after(TTL + 2999)), { ...STALE, ttl: -2999 })
  await settle()
  t.equal(nodes.calls, 2)
  t.match(await statusAfter(after(0)), { hit: true, ttl: TTL })
  t.match(await statusAfter(after(TTL + 3000)), { fwd: 'stale', stored: true })
})

t.test('with 0s, no response of the group is served stale during a refresh', async (t) => {
  const { after } = cacheOf(AGENT, 0)
  await after(0)
  t.match(await statusAfter(after(TTL)), { fwd: 'stale', stored: true })
})

t.test('after a write no response is served stale', async (t) => {
  for (const id of [AGENT, STATUS] as const) {
    const { readOften, after, store } = cacheOf(id)
    await readOften()
    await (await store.fence(['agent:001', 'node:m'])).lift([])
    t.match(await statusAfter(after(500)), { fwd: 'uri-miss', stored: true }, id)
  }
})

t.test('a verdict is never served stale, however often it is requested', async (t) => {
  const { readOften, after } = cacheOf(VERDICT, 60_000)
  await readOften()
  t.match(await statusAfter(after(300)), { fwd: /^(?:stale|uri-miss)$/, stored: true })
})

t.test('a status that is requested often is served stale for 3 s at most, while it is refreshed', async (t) => {
  const { readOften, after, nodes } = cacheOf(STATUS, 60_000)
  await readOften()
  const { calls } = nodes
  let answer = (_: EdgeResponse) => {}
  nodes.respond = () => new Promise((resolve) => (answer = resolve))
  t.match(await statusAfter(after(300)), { ...STALE, ttl: 0 })
  t.match(await statusAfter(after(2999)), { ...STALE, ttl: -2999 })
  t.equal(nodes.calls, calls + 1, 'one request refreshes it')
  const late = after(1)
  answer(success('now'))
  t.match(bodyOf(await late), { data: 'now' }, 'after 3 s, the request waits')
})

t.test('a status that is requested rarely is always fresh', async (t) => {
  for (const pause of [TTL, TTL + 100, 2 * TTL, 5 * TTL]) {
    const { after, nodes } = cacheOf(STATUS, 60_000)
    for (let read = 1; read <= 10; read += 1) {
      t.notOk((await statusAfter(after(pause)))?.hit)
      t.equal(nodes.calls, read)
    }
  }
})

t.test('many requests at once after a pause get a status of now', async (t) => {
  const { after, nodes } = cacheOf(STATUS)
  await after(0)
  for (let burst = 1; burst <= 5; burst += 1) {
    const statuses = await Promise.all([after(1500), ...Array.from({ length: 20 }, () => after(0))])
    t.ok(statuses.every((response) => bodyOf(response).data === burst + 1))
    t.equal(nodes.calls, burst + 1)
  }
})

t.test('a status is not served stale after a fetch that failed or was answered with an error', async (t) => {
  const failures = [
    () => Promise.reject(new EdgeError(924)),
    () => Promise.reject(new EdgeError(922)),
    async () => jsonResponse({ error: 1017, message: 'not ready' }),
    async () => jsonResponse({ error: 3020, message: 'Timeout' }),
  ]
  for (const fail of failures) {
    const { readOften, after, nodes } = cacheOf(STATUS)
    await readOften()
    nodes.respond = fail
    t.match(await statusAfter(after(350)), STALE, 'the failure is not known yet')
    await settle()
    for (const pause of [0, 100, 1100, 1200]) {
      const response = await after(pause).then(bodyOf, (error: EdgeError) => ({ error: error.code }))
      t.not(response.error, 0, `${pause} ms later`)
    }
    nodes.respond = async () => success('again')
    t.match(bodyOf(await after(10)), { data: 'again' })
  }
})

t.test('a status is not served after a soft purge, however often it is requested', async (t) => {
  const { readOften, after, ownStore } = cacheOf(STATUS)
  await readOften()
  await ownStore.purge({ soft: true })
  t.match(await statusAfter(after(10)), { fwd: 'stale', stored: true })
})

t.test(
  'a refresh whose response may not be stored, as nodes are missing in it, is repeated once per second',
  async (t) => {
    const { after, nodes } = cacheOf(AGENT)
    await after(0)
    nodes.respond = () => joinedResponse('of some nodes', { completeness: 'partial' })
    await after(TTL)
    for (let each = 0; each < 10; each += 1) {
      await settle()
      t.match(await statusAfter(after(50)), STALE)
    }
    t.equal(nodes.calls, 2)
    t.match(await statusAfter(after(500)), STALE)
    await settle()
    t.equal(nodes.calls, 3)
  },
)

t.test('at the limit of a node, a status need not be hot to be served stale for 3 s', async (t) => {
  const parts = replica({ lifetimesOf: () => automatic, waitForRead: () => 1, hasIdleCapacity: () => false })
  const after = async (milliseconds: number) => {
    parts.clock.advance(milliseconds)
    return parts.read(edgeRequest(STATUS))
  }
  await after(0)
  t.match(await statusAfter(after(TTL + 2999)), { ...STALE, ttl: -2999 })
  t.match(await statusAfter(after(1)), { hit: undefined, stored: true })
  t.equal(parts.nodes.calls, 2, 'the refresh has left its call to the client that waited')
})

t.test(
  'at a saturated node, a status need not be hot to be served stale, and its refresh begins at once',
  async (t) => {
    let isSaturated = true
    const parts = replica({
      lifetimesOf: () => automatic,
      isSaturated: () => isSaturated,
      hasIdleCapacity: () => false,
    })
    const after = async (milliseconds: number) => {
      parts.clock.advance(milliseconds)
      return parts.read(edgeRequest(STATUS))
    }
    await after(0)
    t.match(await statusAfter(after(TTL + 2999)), { ...STALE, ttl: -2999 })
    await settle()
    t.equal(parts.nodes.calls, 2)
    t.match(await statusAfter(after(TTL + 3000)), { hit: undefined, stored: true }, 'not beyond its bound')
    isSaturated = false
    t.match(await statusAfter(after(TTL)), { hit: undefined, stored: true }, 'the present status')
  },
)
