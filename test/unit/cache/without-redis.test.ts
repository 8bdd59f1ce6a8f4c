/** Reads while Redis is unreachable, by `cache.withoutRedis` and `replica.only`. */
import t from 'tap'
import { EdgeError, type ErrorCode } from '../../../src/core/errors.ts'
import { bodyOf, cacheStatusOf, edgeRequest, lifetimes, ManualClock, replica } from '../../support/edge-requests.ts'
import { storeInReach } from '../../support/store-in-reach.ts'

const one = () => edgeRequest('GET /agents/:agent_id', { params: { agent_id: '001' } })
const fail = (code: ErrorCode) => () => {
  throw new EdgeError(code)
}

interface Options {
  readonly withoutRedis?: 'call' | 'stale'
  readonly isOnly?: boolean
}

/** A replica whose store becomes unreachable, as that in front of Redis does. */
async function cutOff({ withoutRedis = 'stale', isOnly = false }: Options) {
  const clock = new ManualClock()
  const { store, memory, cut } = storeInReach(clock.read)
  const edge = replica({
    store,
    clock: clock.read,
    lifetimesOf: () => ({ ...lifetimes, outage: 3_600_000 }),
    settings: { withoutRedis },
    isOnlyReplica: () => isOnly,
  })
  await edge.read(one())
  cut()
  return { ...edge, clock, memory }
}

t.test('call: every read goes to the nodes', async (t) => {
  const { read, nodes } = await cutOff({ withoutRedis: 'call' })
  t.equal(bodyOf(await read(one())).data, 2)
  nodes.respond = fail(924)
  await t.rejects(async () => read(one()), { code: 924 })
})

t.test('stale: the local tier is served within stale-if-error, and marked', async (t) => {
  const { read, nodes, clock } = await cutOff({})
  t.match(cacheStatusOf(await read(one())), { hit: true, detail: 'without-redis' })
  clock.advance(60_000)
  t.match(cacheStatusOf(await read(one())), { hit: true, detail: 'without-redis' })
  t.equal(nodes.calls, 1)
  clock.advance(1000)
  t.equal(bodyOf(await read(one())).data, 2, 'beyond it, the nodes are called')
  nodes.respond = fail(922)
  await t.rejects(async () => read(one()), { code: 922 }, 'a node that is late is no outage')
  nodes.respond = fail(924)
  t.match(cacheStatusOf(await read(one())), { hit: true, detail: 'without-redis' }, 'no node answers either')
})

t.test('stale: what this replica has written or purged is not served', async (t) => {
  const { read, memory } = await cutOff({})
  await (await memory.fence(['agent:001'])).lift([])
  t.equal(bodyOf(await read(one())).data, 2)
})

t.test('the only replica serves fresh responses as ever, also with call', async (t) => {
  const { read, clock } = await cutOff({ withoutRedis: 'call', isOnly: true })
  const fresh = cacheStatusOf(await read(one()))
  t.match(fresh, { hit: true })
  t.equal(fresh?.detail, undefined)
  clock.advance(1000)
  t.equal(bodyOf(await read(one())).data, 2)
})
