import t from 'tap'
import { createMemoryStore } from '../../../src/cache/stores/memory-store.ts'
import { EdgeError } from '../../../src/core/errors.ts'
import {
  bodyOf,
  cacheStatusOf,
  createLatch,
  edgeRequest,
  jsonResponse,
  ManualClock,
  replica,
  settle,
  success,
} from '../../support/edge-requests.ts'

const agent = () => edgeRequest('GET /agents/:agent_id', { params: { agent_id: '001' } })
const STALE = { hit: true, detail: 'stale-while-revalidate' } as const

/** A cache with one stored response; most groups have a `staleIfError` only. */
async function cacheOfOne({ ttl = 5000, staleWhileRevalidate = 0, staleIfError = 60_000 } = {}) {
  const clock = new ManualClock()
  const store = createMemoryStore({ bytes: () => 1 << 20, elapsed: clock.read })
  const parts = replica({ store, clock: clock.read, lifetimesOf: () => ({ ttl, staleWhileRevalidate, staleIfError }) })
  await parts.read(agent())
  return { ...parts, clock, purge: () => store.purge({ group: 'agents', soft: true }) }
}

t.test(
  'after a soft purge no request waits for a node: the stored response is served during one refresh',
  async (t) => {
    const { read, nodes, clock, purge } = await cacheOfOne()
    const { opened, open } = createLatch()
    nodes.respond = async () => {
      await opened
      return success('new')
    }
    await purge()
    clock.advance(100)
    const during = await Promise.all([read(agent()), read(agent()), read(agent())])
    for (const response of during) {
      t.match(cacheStatusOf(response), STALE)
      t.equal(bodyOf(response).data, 1)
    }
    await settle()
    t.equal(nodes.calls, 2, 'one refresh')
    open()
    await settle()
    const after = await read(agent())
    t.match(cacheStatusOf(after), { hit: true, detail: undefined })
    t.equal(bodyOf(after).data, 'new')
  },
)

t.test('the bound is the longer of both stale times after the TTL', async (t) => {
  for (const times of [
    { staleWhileRevalidate: 0, staleIfError: 60_000 },
    { staleWhileRevalidate: 60_000, staleIfError: 0 },
  ]) {
    const within = await cacheOfOne(times)
    await within.purge()
    within.clock.advance(64_000)
    t.match(cacheStatusOf(await within.read(agent())), STALE)
    const beyond = await cacheOfOne(times)
    await beyond.purge()
    beyond.clock.advance(66_000)
    t.match(cacheStatusOf(await beyond.read(agent())), { fwd: 'uri-miss' })
  }
})

t.test('without stale times a soft purge is a hard purge', async (t) => {
  const { read, purge } = await cacheOfOne({ staleIfError: 0 })
  await purge()
  t.match(cacheStatusOf(await read(agent())), { fwd: 'stale', stored: true })
})

t.test('a response that is never stale is fetched after a soft purge', async (t) => {
  const clock = new ManualClock()
  const store = createMemoryStore({ bytes: () => 1 << 20, elapsed: clock.read })
  const { read, nodes } = replica({ store, clock: clock.read })
  const status = () => edgeRequest('GET /manager/status')
  await read(status())
  await store.purge({ soft: true })
  t.match(cacheStatusOf(await read(status())), { fwd: 'stale', stored: true })
  await store.purge({ soft: true })
  nodes.respond = () => {
    throw new EdgeError(924)
  }
  await t.rejects(async () => read(status()), { code: 924 })
})

t.test('if the refresh is answered with an error, the response is served once and not again', async (t) => {
  const { read, nodes, clock, purge } = await cacheOfOne()
  await purge()
  nodes.respond = () => jsonResponse({ error: 1017, message: 'not ready' })
  t.match(cacheStatusOf(await read(agent())), STALE)
  await settle()
  for (let second = 0; second < 3; second += 1) {
    t.match(bodyOf(await read(agent())), { error: 1017 })
    clock.advance(1000)
  }
})

t.test('if the node fails during the refresh, the response is served until its bound', async (t) => {
  const { read, nodes, clock, purge } = await cacheOfOne()
  await purge()
  nodes.respond = () => {
    throw new EdgeError(924)
  }
  for (let second = 0; second < 60; second += 10) {
    t.match(cacheStatusOf(await read(agent())), { hit: true, detail: /^stale-/ })
    await settle()
    clock.advance(10_000)
  }
  clock.advance(5000)
  await t.rejects(async () => read(agent()), { code: 924 })
})

t.test('parts of a joined response that is refreshed after a soft purge are fetched, not served stale', async (t) => {
  const { read, nodes, purge } = await cacheOfOne()
  await purge()
  const response = await read({ ...agent(), reuse: { arrivedWithin: 60_000 } })
  t.match(cacheStatusOf(response), { fwd: 'stale', stored: true })
  t.equal(nodes.calls, 2)
})
