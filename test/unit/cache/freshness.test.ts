import t from 'tap'
import { arrivalLimitOf } from '../../../src/cache/read-context.ts'
import { cachedOf } from '../../../src/core/origins.ts'
import type { EdgeResponse, JoinedOrigin } from '../../../src/core/response.ts'
import {
  cacheStatusOf,
  createLatch,
  edgeRequest,
  joinedResponse,
  lifetimes,
  replica,
  settle,
} from '../../support/edge-requests.ts'

const one = () => edgeRequest('GET /agents/:agent_id', { params: { agent_id: '001' } })
const joined = () => edgeRequest('GET /experimental/syscollector/os')
const TTL = lifetimes.ttl

/** A cache in front of a node that needs this time for each call. */
function cacheOfSlowNode(
  fetchTime: number,
  more: Partial<JoinedOrigin> = {},
  options: Parameters<typeof replica>[0] = {},
) {
  const parts = replica(options)
  parts.nodes.respond = (_, call) => {
    parts.clock.advance(fetchTime)
    return joinedResponse(call, more)
  }
  return parts
}

const ageOf = (response: EdgeResponse) => (response.kind === 'envelope' ? cachedOf(response)?.age : undefined)

for (const fetchTime of [0, 400, 1500, 8000]) {
  t.test(
    `a response that took ${fetchTime} ms is fresh for its TTL after it arrived, and its age is honest`,
    async (t) => {
      const { read, nodes, clock } = cacheOfSlowNode(fetchTime)
      const first = await read(one())
      t.strictSame(cacheStatusOf(first), { fwd: 'uri-miss', stored: true, ttl: TTL })
      t.equal(ageOf(first), fetchTime, 'the data may be as old as the call')
      clock.advance(TTL - 1)
      const last = await read(one())
      t.strictSame(cacheStatusOf(last), { hit: true, ttl: 1 })
      t.equal(ageOf(last), fetchTime + TTL - 1)
      clock.advance(1)
      t.match(cacheStatusOf(await read(one())), { detail: 'stale-while-revalidate', ttl: 0 })
      await settle()
      t.equal(nodes.calls, 2)
    },
  )
}

t.test('a joined response is fresh no longer than the stored part that expires first', async (t) => {
  const { read, clock } = cacheOfSlowNode(100, { clusterStatus: 'm;hit', oldestPartAge: 1200, partsFreshFor: 300 })
  t.match(cacheStatusOf(await read(joined())), { fwd: 'uri-miss', stored: true, ttl: 300 })
  clock.advance(299)
  const hit = await read(joined())
  t.match(cacheStatusOf(hit), { hit: true, ttl: 1 })
  t.equal(ageOf(hit), 1200 + 100 + 299, 'the age is that of the oldest part')
})

t.test('a joined response is fresh no longer than its own TTL', async (t) => {
  const { read } = cacheOfSlowNode(100, { clusterStatus: 'm;hit', oldestPartAge: 1200, partsFreshFor: 60_000 })
  t.match(cacheStatusOf(await read(joined())), { stored: true, ttl: TTL })
})

t.test('a joined response with a part that has expired meanwhile is served, and not stored', async (t) => {
  const { read, nodes } = cacheOfSlowNode(100, { clusterStatus: 'm;hit', oldestPartAge: 1200, partsFreshFor: -20 })
  for (const call of [1, 2]) {
    t.strictSame(cacheStatusOf(await read(joined())), { fwd: 'uri-miss', ttl: -20 })
    t.equal(nodes.calls, call)
  }
})

/** Returns what the refresh of a joined response requires of its parts, at this time after its arrival. */
async function refreshedAfter(milliseconds: number, { fetchTime }: { readonly fetchTime: number }) {
  const { read, nodes, clock } = cacheOfSlowNode(fetchTime, { clusterStatus: 'm;rtt=1' })
  await read(joined())
  clock.advance(milliseconds)
  await read({ ...joined(), reuse: { arrivedWithin: 0 } })
  const [, refresh] = nodes.reads
  return refresh && arrivalLimitOf(refresh)
}

t.test('a refreshed joined response takes only stored parts that arrived after it', async (t) => {
  t.equal(await refreshedAfter(200, { fetchTime: 700 }), 200)
})

t.test('a refreshed joined response takes no stored part that is past half of its TTL', async (t) => {
  t.equal(await refreshedAfter(5000, { fetchTime: 700 }), TTL / 2)
})

t.test('identical misses share a response that cannot be stored', async (t) => {
  const { read, nodes } = replica()
  const { opened, open } = createLatch()
  nodes.respond = async () => {
    await opened
    return joinedResponse(1, { partsFreshFor: 0 })
  }
  const all = Promise.all([read(joined()), read(joined()), read(joined())])
  await settle()
  open()
  for (const response of await all) t.notOk(cacheStatusOf(response)?.stored)
  t.equal(nodes.calls, 1)
})
