/** Reads while Redis is unreachable, by `cache.withoutRedis` and `replica.only`. */
import t from 'tap'
import { compilePolicy } from '../../../src/cache/policy.ts'
import { catalogue } from '../../../src/contracts/index.ts'
import { v4Contract } from '../../../src/contracts/v4/index.ts'
import { EdgeError, type ErrorCode } from '../../../src/core/errors.ts'
import type { EdgeRead } from '../../../src/core/request.ts'
import {
  bodyOf,
  cacheStatusOf,
  edgeRead,
  edgeRequest,
  jsonResponse,
  lifetimes,
  ManualClock,
  replica,
  settle,
} from '../../support/edge-requests.ts'
import { storeInReach } from '../../support/store-in-reach.ts'

const one = () => edgeRequest('GET /agents/:agent_id', { params: { agent_id: '001' } })
const fail = (code: ErrorCode) => () => {
  throw new EdgeError(code)
}

interface Options {
  readonly withoutRedis?: 'call' | 'stale'
  readonly isOnly?: boolean
  /** What is read while Redis is reachable. */
  readonly first?: EdgeRead
}

/** A replica whose store becomes unreachable, as that in front of Redis does. */
async function cutOff({ withoutRedis = 'stale', isOnly = false, first = one() }: Options) {
  const clock = new ManualClock()
  const { store, memory, cut, restore } = storeInReach(clock.read)
  const edge = replica({
    store,
    clock: clock.read,
    lifetimesOf: () => ({ ...lifetimes, outage: 3_600_000, ...(withoutRedis === 'stale' && { withoutRedis: 60_000 }) }),
    isOnlyReplica: () => isOnly,
  })
  await edge.read(first)
  cut()
  return { ...edge, clock, memory, restore }
}

t.test('call: every read goes to the nodes', async (t) => {
  const { read, nodes } = await cutOff({ withoutRedis: 'call' })
  t.equal(bodyOf(await read(one())).data, 2)
  nodes.respond = fail(924)
  await t.rejects(async () => read(one()), { code: 924 })
})

t.test('stale: the local tier is served within stale-if-error, marked, and refreshed for this replica', async (t) => {
  const { read, nodes, clock } = await cutOff({})
  t.match(cacheStatusOf(await read(one())), { hit: true, detail: 'without-redis' })
  t.equal(nodes.calls, 1)
  clock.advance(60_000)
  const stale = await Promise.all([read(one()), read(one())])
  for (const response of stale) t.match(cacheStatusOf(response), { hit: true, detail: 'without-redis' })
  t.ok(stale.every((response) => bodyOf(response).data === 1))
  await settle()
  t.equal(nodes.calls, 2, 'one refresh')
  const refreshed = await read(one())
  t.match(cacheStatusOf(refreshed), { hit: true, detail: 'without-redis' })
  t.equal(bodyOf(refreshed).data, 2)
})

t.test('stale: beyond it the nodes are called, once for all who wait, and what they return is stored', async (t) => {
  const { read, nodes, clock } = await cutOff({})
  clock.advance(62_000)
  const called = await Promise.all([read(one()), read(one()), read(one())])
  t.ok(nodes.calls <= 3, `${nodes.calls} calls`)
  for (const response of called) t.equal(cacheStatusOf(response)?.detail, undefined, 'newer than the request')
  const { calls } = nodes
  t.match(cacheStatusOf(await read(one())), { hit: true, detail: 'without-redis' })
  t.equal(nodes.calls, calls)
})

t.test('stale: while nodes fail', async (t) => {
  const { read, nodes, clock } = await cutOff({})
  clock.advance(62_000)
  nodes.respond = fail(922)
  await t.rejects(async () => read(one()), { code: 922 }, 'a node that is late is no outage')
  nodes.respond = fail(924)
  t.match(cacheStatusOf(await read(one())), { hit: true, detail: 'without-redis' }, 'no node answers either')
})

t.test('stale: after the error of a node that answers, requests wait for it', async (t) => {
  const { read, nodes, clock } = await cutOff({})
  clock.advance(2000)
  nodes.respond = () => jsonResponse({ error: 1017, message: 'not ready' })
  t.match(cacheStatusOf(await read(one())), { detail: 'without-redis' })
  await settle()
  t.match(bodyOf(await read(one())), { error: 1017 })
})

const records = [...catalogue, ...v4Contract].flatMap((record) => {
  const policy = compilePolicy(record)
  if (record.method !== 'GET' || typeof policy === 'string' || policy.stale === 'allowed') return []
  return [{ record, name: policy.name, stale: policy.stale }]
})

t.test('stale: a status is served as other data are, but not because nodes fail; a verdict is fresh', async (t) => {
  t.ok(records.filter(({ stale }) => stale === 'whileHot').length >= 14, `${records.length} records in both contracts`)
  for (const { record, name, stale } of records) {
    const params = Object.fromEntries(Object.keys(record.params).map((param) => [param, '001']))
    const request = () => edgeRead(record, { params })
    const { read, nodes, clock } = await cutOff({ first: request() })
    t.match(cacheStatusOf(await read(request())), { hit: true, detail: 'without-redis' }, name)
    clock.advance(50_000)
    const { calls } = nodes
    const later = cacheStatusOf(await read(request()))
    if (stale === 'never') {
      t.equal(later?.detail, undefined, `${name}: asked again`)
      continue
    }
    t.match(later, { hit: true, detail: 'without-redis' }, name)
    await settle()
    t.equal(nodes.calls, calls + 1, `${name} is refreshed`)
    clock.advance(20_000)
    nodes.respond = fail(922)
    await read(request())
    await settle()
    await t.rejects(async () => read(request()), { code: 922 }, `${name}: nodes fail`)
  }
})

t.test('with Redis again, what was stored meanwhile is served only if no client has written', async (t) => {
  for (const isWritten of [false, true]) {
    const { read, nodes, clock, memory, restore } = await cutOff({})
    clock.advance(2000)
    await read(one())
    await settle()
    if (isWritten) await (await memory.fence(['agent:001'])).lift([])
    restore()
    const { calls } = nodes
    await read(one())
    t.equal(nodes.calls, isWritten ? calls + 1 : calls)
  }
})

t.test('stale: what this replica has written or purged is not served', async (t) => {
  const { read, memory } = await cutOff({})
  await (await memory.fence(['agent:001'])).lift([])
  t.equal(bodyOf(await read(one())).data, 2)
})

t.test('the only replica serves fresh responses as ever, also with call, and stores new ones', async (t) => {
  const { read, clock, nodes } = await cutOff({ withoutRedis: 'call', isOnly: true })
  const fresh = cacheStatusOf(await read(one()))
  t.match(fresh, { hit: true })
  t.equal(fresh?.detail, undefined)
  clock.advance(1000)
  t.equal(bodyOf(await read(one())).data, 2)
  t.match(cacheStatusOf(await read(one())), { hit: true, detail: undefined })
  t.equal(nodes.calls, 2)
})
