/** Outage mode: stored responses are served for hours while no node that could answer answers, and only then. */
import t from 'tap'
import { EdgeError, type ErrorCode } from '../../../src/core/errors.ts'
import type { EdgeResponse } from '../../../src/core/response.ts'
import {
  bodyOf,
  cacheStatusOf,
  edgeRequest,
  jsonResponse,
  lifetimes,
  replica,
  settle,
  success,
} from '../../support/edge-requests.ts'

const HOUR = 3_600_000
const one = (id = '001') => edgeRequest('GET /agents/:agent_id', { params: { agent_id: id } })
const outage = { ...lifetimes, outage: 8 * HOUR }
const lifetimesOf = () => outage
const fail = (code: ErrorCode) => () => {
  throw new EdgeError(code)
}

const UNANSWERED = [920, 924] as const
const REPORTED = [3009, 3012, 3016, 3018, 3020, 3022, 3023]
const ANSWERED = [921, 922, 925, 926, 927] as const

const failures: readonly (readonly [number, () => EdgeResponse])[] = [
  ...UNANSWERED.map((code) => [code, fail(code)] as const),
  ...REPORTED.map((code) => [code, () => jsonResponse({ error: code, message: 'no' })] as const),
]

for (const [code, respond] of failures) {
  t.test(`${code}: a response is served for hours, and marked`, async (t) => {
    const { read, nodes, clock } = replica({ lifetimesOf })
    await read(one())
    nodes.respond = respond
    clock.advance(HOUR)
    t.match(cacheStatusOf(await read(one())), { fwd: 'stale', detail: 'outage' })
    const again = await read(one())
    t.match(again, { status: 200, origin: { age: HOUR } })
    t.match(cacheStatusOf(again), { hit: true, detail: 'outage' }, 'without waiting for a fetch')
    t.equal(bodyOf(again).data, 1)
    clock.advance(7 * HOUR + 2000)
    const error = await Promise.resolve(read(one())).then(
      (response) => bodyOf(response).error,
      (fault: EdgeError) => fault.code,
    )
    t.equal(error, code, 'not beyond the bound')
  })
}

for (const code of ANSWERED) {
  t.test(`${code}: a node answers, so nothing is served beyond stale-if-error`, async (t) => {
    const { read, nodes, clock } = replica({ lifetimesOf })
    await read(one())
    nodes.respond = fail(code)
    clock.advance(50_000)
    t.match(cacheStatusOf(await read(one())), { detail: { error: code } })
    clock.advance(HOUR)
    await t.rejects(async () => read(one()), { code })
  })
}

t.test('a node that is found to hang while a request waits for it', async (t) => {
  let isSilent = false
  const { read, nodes, clock } = replica({ lifetimesOf, isSilent: () => isSilent })
  await read(one())
  clock.advance(HOUR)
  nodes.respond = () => {
    const code = isSilent ? 920 : 922
    isSilent = true
    throw new EdgeError(code)
  }
  t.match(cacheStatusOf(await read(one())), { detail: 'outage' })
})

t.test('without the setting nothing is served beyond stale-if-error', async (t) => {
  const { read, nodes, clock } = replica()
  await read(one())
  nodes.respond = fail(920)
  clock.advance(61_000)
  await t.rejects(async () => read(one()), { code: 920 })
})

t.test('a status is served, a verdict is not', async (t) => {
  const { read, nodes, clock } = replica({ lifetimesOf })
  const status = edgeRequest('GET /manager/status')
  const verdict = edgeRequest('GET /manager/configuration/validation')
  await Promise.all([read(status), read(verdict)])
  nodes.respond = fail(924)
  clock.advance(HOUR)
  t.match(cacheStatusOf(await read(status)), { detail: 'outage' })
  await t.rejects(async () => read(verdict), { code: 924 })
})

t.test('while an outage lasts, no response is marked as if it were refreshed', async (t) => {
  const { read, nodes, clock } = replica({ lifetimesOf })
  await read(one())
  nodes.respond = fail(924)
  clock.advance(1100)
  t.match(cacheStatusOf(await read(one())), { detail: 'stale-while-revalidate' }, 'the outage is not known yet')
  await settle()
  t.match(cacheStatusOf(await read(one())), { detail: 'outage' })
})

t.test(
  'while no node can be called, also a response whose fetch has not failed yet is served as in an outage',
  async (t) => {
    const { read, nodes, clock } = replica({ lifetimesOf, outageFor: () => 1000 })
    await read(one())
    nodes.respond = fail(920)
    clock.advance(1100)
    t.match(cacheStatusOf(await read(one())), { detail: 'outage' })
  },
)

t.test('nothing older than an acknowledged write is served', async (t) => {
  const { read, nodes, clock, store } = replica({ lifetimesOf })
  await read(one())
  await (await store.fence(['agent:001'])).lift([])
  nodes.respond = fail(924)
  clock.advance(HOUR)
  await t.rejects(async () => read(one()), { code: 924 })
})

t.test('at the end of an outage, responses are refreshed as they are requested, four at a time', async (t) => {
  let isIdle = true
  let outageFor: number | undefined = 1000
  const { read, nodes, clock } = replica({
    lifetimesOf,
    hasIdleCapacity: () => isIdle,
    outageFor: () => outageFor,
  })
  const ids = Array.from({ length: 20 }, (_, at) => String(at + 100))
  for (const id of ids) await read(one(id))
  nodes.respond = fail(924)
  clock.advance(HOUR)
  for (const id of ids) await read(one(id))
  await settle()
  clock.advance(6000)
  isIdle = false
  outageFor = undefined
  let inFlight = 0
  let most = 0
  const order: (string | undefined)[] = []
  nodes.respond = async ({ params }) => {
    order.push(params.agent_id)
    inFlight += 1
    most = Math.max(most, inFlight)
    await settle()
    inFlight -= 1
    return success('new')
  }
  const first = await Promise.all(ids.map((id) => read(one(id))))
  t.ok(
    first.every((response) => cacheStatusOf(response)?.detail === 'outage'),
    'no request waits',
  )
  for (let round = 0; round < 10; round += 1) {
    await settle()
    await settle()
    for (const id of ids) await read(one(id))
  }
  await settle()
  t.equal(most, 4)
  t.strictSame(order, ids, 'each once, in the order of use')
  t.ok((await Promise.all(ids.map((id) => read(one(id))))).every((response) => bodyOf(response).data === 'new'))
})

t.test('one node that does not answer is no outage of the others', async (t) => {
  const { read, nodes, clock } = replica({ lifetimesOf, outageFor: () => undefined })
  const ids = Array.from({ length: 20 }, (_, at) => String(at + 100))
  for (const id of ids) await read(one(id))
  nodes.respond = fail(924)
  await t.rejects(async () => read(one('200')), { code: 924 })
  clock.advance(2500)
  let inFlight = 0
  nodes.respond = () => {
    inFlight += 1
    return new Promise(() => undefined)
  }
  for (const id of ids) t.equal(cacheStatusOf(await read(one(id)))?.detail, 'stale-while-revalidate')
  await settle()
  t.equal(inFlight, 20, 'all responses are refreshed')
})

t.test('a queue that is full at the end of an outage fails no request', async (t) => {
  const { read, nodes, clock } = replica({ lifetimesOf, hasIdleCapacity: () => false, outageFor: () => 1000 })
  await read(one())
  nodes.respond = fail(924)
  clock.advance(HOUR)
  await read(one())
  nodes.respond = fail(921)
  clock.advance(2000)
  t.match(cacheStatusOf(await read(one())), { detail: 'outage' })
  await settle()
  t.match(cacheStatusOf(await read(one())), { detail: 'outage' })
})
