import t from 'tap'
import { refreshWindow } from '../../../src/cache/demand.ts'
import type { ReadContext } from '../../../src/cache/read-context.ts'
import { RefreshAhead, WaitingRefreshes } from '../../../src/cache/refresh-ahead.ts'
import type { EdgeResponse } from '../../../src/core/response.ts'
import {
  bodyOf,
  cacheStatusOf,
  createLatch,
  edgeRequest,
  ManualClock,
  replica,
  settle,
  success,
} from '../../support/edge-requests.ts'
import { storedResponse } from '../../support/stored-response.ts'

const TTL = 1000

t.test(
  'a refresh starts 1.5 fetch times ahead, between the last fifth and the last half of the lifetime',
  async (t) => {
    const windowOf = (ttl: number, fetchTime: number) => refreshWindow({ ttl: ttl + fetchTime, fetchTime })
    t.equal(windowOf(1000, 0), 200)
    t.equal(windowOf(1000, 100), 200)
    t.equal(windowOf(1000, 200), 300)
    t.equal(windowOf(1000, 400), 500)
    t.equal(windowOf(1000, 5000), 500)
    t.equal(windowOf(60_000, 400), 12_000)
  },
)

const agent = (id: string) => edgeRequest('GET /agents/:agent_id', { params: { agent_id: id } })

/** A cache in front of a node that needs this time of the manual clock for each call. */
function cacheOfSlowNode(fetchTime: number) {
  let timers: (() => void)[] = []
  const parts = replica({
    lifetimesOf: () => ({ ttl: TTL, staleWhileRevalidate: 0, staleIfError: 0 }),
    refreshAhead: { maxConcurrent: 4, minHits: 3, runLater: (run) => timers.push(run) },
  })
  const { clock, nodes } = parts
  let inFlight: { readonly until: number; readonly open: () => void }[] = []
  nodes.respond = async (_, call) => {
    const { opened, open } = createLatch()
    inFlight.push({ until: clock.now + fetchTime, open })
    await opened
    return success(call)
  }
  /** Advances the clock, and answers the calls whose time is over. */
  const advance = async (milliseconds: number) => {
    clock.advance(milliseconds)
    const due = timers
    timers = []
    for (const run of due) run()
    for (const { until, open } of inFlight) if (until <= clock.now) open()
    inFlight = inFlight.filter(({ until }) => until > clock.now)
    await settle()
  }
  const fetched = async (id: string) => {
    const response = parts.read(agent(id))
    await settle()
    await advance(fetchTime)
    return response
  }
  return { ...parts, advance, fetched }
}

for (const fetchTime of [20, 150, 300, 350]) {
  t.test(`as long as it is requested, a response that takes ${fetchTime} ms is always fresh`, async (t) => {
    const { read, nodes, advance, fetched } = cacheOfSlowNode(fetchTime)
    await fetched('001')
    const steps = 200
    for (let step = 0; step < steps; step += 1) {
      await advance(50)
      const status = cacheStatusOf(await read(agent('001'))) ?? {}
      t.ok(
        status.hit && status.detail === undefined && (status.ttl ?? 0) > 0,
        `step ${step}: ${JSON.stringify(status)}`,
      )
    }
    const lifetimes = (steps * 50) / TTL
    t.ok(nodes.calls > lifetimes && nodes.calls <= 2.5 * lifetimes, `${nodes.calls} calls in ${lifetimes} lifetimes`)
  })
}

t.test('a response with few hits is not refreshed', async (t) => {
  const { read, nodes, advance, fetched } = cacheOfSlowNode(100)
  await fetched('001')
  await advance(450)
  for (let hit = 0; hit < 10; hit += 1) await read(agent('001'))
  await advance(500)
  for (let hit = 0; hit < 2; hit += 1) await read(agent('001'))
  await settle()
  t.equal(nodes.calls, 1, 'hits in the first half do not count')
})

t.test('a response that was requested often before a pause is not refreshed for a single request', async (t) => {
  const { read, nodes, advance, fetched } = cacheOfSlowNode(100)
  await fetched('001')
  await advance(600)
  for (let hit = 0; hit < 10; hit += 1) await read(agent('001'))
  await advance(60_000)
  await fetched('001')
  const { calls } = nodes
  await advance(900)
  t.match(cacheStatusOf(await read(agent('001'))), { hit: true })
  await settle()
  t.equal(nodes.calls, calls)
})

t.test('a refresh that fails is tried once for each lifetime', async (t) => {
  const { read, nodes, advance, fetched } = cacheOfSlowNode(100)
  await fetched('001')
  await advance(850)
  nodes.respond = () => {
    throw new Error('no node')
  }
  for (let hit = 0; hit < 50; hit += 1) {
    t.match(cacheStatusOf(await read(agent('001'))), { hit: true })
    await settle()
  }
  t.equal(nodes.calls, 2)
})

t.test('after a write, a waiting refresh fetches the value that the write left', async (t) => {
  let isIdle = false
  const { read, nodes, clock, store } = replica({ hasIdleCapacity: () => isIdle })
  await read(agent('001'))
  clock.advance(850)
  for (let hit = 0; hit < 5; hit += 1) await read(agent('001'))
  await (await store.fence(['agent:001'])).lift([])
  isIdle = true
  nodes.respond = () => success('written')
  await new Promise((resolve) => setTimeout(resolve, 50))
  t.equal(bodyOf((await read(agent('001'))) as EdgeResponse).data, 'written')
})

interface Offer {
  readonly id: string
  readonly hits: number
  readonly fetchTime: number
}

interface SchedulerOptions {
  readonly maxConcurrent?: number
  readonly isIdle?: (id: string) => boolean
}

/** The scheduler alone: `offer` makes a response due, `end` completes a refresh, `runTimers` runs what is scheduled. */
function scheduler({ maxConcurrent = 2, isIdle = () => true }: SchedulerOptions = {}) {
  const clock = new ManualClock()
  const started: string[] = []
  const running = new Map<string, () => void>()
  let timers: (() => void)[] = []
  const { targetOf } = replica()
  const contextOf = (id: string): ReadContext => {
    const request = agent(id)
    return { request, target: targetOf(request), lookup: { kind: 'unavailable' } }
  }
  const idOf = ({ request }: ReadContext) => request.params.agent_id ?? ''
  const waiting = new WaitingRefreshes()
  const refreshAhead = new RefreshAhead(
    { maxConcurrent, minHits: 1, runLater: (run) => timers.push(run) },
    {
      clock: clock.read,
      waiting,
      hasIdleCapacity: ({ params }) => isIdle(params.agent_id ?? ''),
      refresh: (context) => {
        started.push(idOf(context))
        return new Promise((resolve) => running.set(idOf(context), resolve))
      },
    },
  )
  const offer = ({ id, hits, fetchTime }: Offer, timeLeft = 100) => {
    const context = contextOf(id)
    const ttl = TTL + fetchTime
    const stored = { response: storedResponse('', { ttl, fetchTime }), age: ttl - timeLeft }
    for (let hit = 0; hit < hits; hit += 1) refreshAhead.onHit(context, stored)
  }
  /** A response that is served stale for this time. */
  const offerStale = (id: string, servedFor: number) => refreshAhead.refreshWhenIdle(contextOf(id), servedFor)
  const runTimers = () => {
    const due = timers
    timers = []
    for (const run of due) run()
  }
  const end = async (id: string) => {
    running.get(id)?.()
    running.delete(id)
    await settle()
  }
  return { clock, started, running, offer, offerStale, runTimers, end, waiting }
}

/** A generator of numbers from 0 to 1 that gives the same numbers for the same seed. */
function randomOf(seed: number) {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state / 2_147_483_648
  }
}

t.test('the most valuable refreshes start first, and never more than the maximum run', async (t) => {
  for (let seed = 1; seed <= 30; seed += 1) {
    const random = randomOf(seed)
    const maxConcurrent = 1 + Math.floor(random() * 4)
    let isIdle = false
    const { started, running, offer, runTimers, end } = scheduler({ maxConcurrent, isIdle: () => isIdle })
    const offers = Array.from({ length: 1 + Math.floor(random() * 40) }, (_, at) => ({
      id: String(at),
      hits: 1 + Math.floor(random() * 30),
      fetchTime: 10 + Math.floor(random() * 2000),
    }))
    for (const each of offers) offer(each)
    t.strictSame(started, [], 'no idle capacity')
    isIdle = true
    while (started.length < offers.length) {
      runTimers()
      if (running.size > maxConcurrent) t.fail(`seed ${seed}: ${running.size} refreshes run`)
      if (running.size === maxConcurrent || random() < 0.5) {
        const ids = [...running.keys()]
        await end(ids[Math.floor(random() * ids.length)] ?? '')
      }
    }
    const byValue = [...offers].sort((a, b) => b.hits * b.fetchTime - a.hits * a.fetchTime)
    const valuesOf = (id: string) => offers.filter((each) => each.id === id).map((each) => each.hits * each.fetchTime)
    t.strictSame(
      started.map(valuesOf),
      byValue.map((each) => valuesOf(each.id)),
      `seed ${seed}`,
    )
  }
})

t.test('a refresh whose node has no idle capacity does not delay those of other nodes', async (t) => {
  const { started, offer, runTimers } = scheduler({ isIdle: (id) => id !== 'busy' })
  offer({ id: 'busy', hits: 100, fetchTime: 500 })
  offer({ id: 'other', hits: 1, fetchTime: 10 })
  runTimers()
  t.strictSame(started, ['other'])
})

t.test('a refresh that waited until its response expired is dropped', async (t) => {
  let isIdle = false
  const { clock, started, offer, runTimers } = scheduler({ isIdle: () => isIdle })
  offer({ id: 'late', hits: 3, fetchTime: 10 }, 50)
  clock.advance(50)
  isIdle = true
  runTimers()
  t.strictSame(started, [])
})

t.test(
  'of stale responses the one that is served for the shortest time comes first, and all before fresh ones',
  async (t) => {
    let isIdle = false
    const { started, offer, offerStale, runTimers, waiting } = scheduler({ maxConcurrent: 9, isIdle: () => isIdle })
    const none = waiting.others
    offer({ id: 'fresh', hits: 100, fetchTime: 900 })
    offerStale('later', 20_000)
    offerStale('sooner', 1_000)
    offerStale('last', 30_000)
    t.equal(waiting.others - none, 3, 'stale ones count for those that come after them')
    isIdle = true
    for (let at = 0; at < 5; at += 1) runTimers()
    t.strictSame(started, ['sooner', 'later', 'last', 'fresh'])
    t.equal(waiting.others, none)
  },
)

t.test(
  'a waiting refresh ends when another fetch has replaced the response, or when the response is not served',
  async (t) => {
    let isIdle = false
    const { clock, started, offer, offerStale, runTimers, waiting } = scheduler({ isIdle: () => isIdle })
    const none = waiting.others
    offerStale('replaced', 20_000)
    offerStale('over', 1_000)
    offer({ id: 'replaced', hits: 1, fetchTime: 10 }, TTL)
    t.equal(waiting.others - none, 1)
    clock.advance(1_000)
    isIdle = true
    runTimers()
    t.strictSame(started, [])
  },
)

t.test('with thousands of responses that are due, the most valuable ones are refreshed', async (t) => {
  let isIdle = false
  const { started, offer, runTimers, end } = scheduler({ maxConcurrent: 1, isIdle: () => isIdle })
  for (let at = 0; at < 5000; at += 1) offer({ id: String(at), hits: 1, fetchTime: 1 + ((at * 7919) % 5000) })
  isIdle = true
  for (let at = 0; at < 200; at += 1) {
    runTimers()
    await end(started.at(-1) ?? '')
  }
  t.strictSame(
    started.map((id) => 1 + ((Number(id) * 7919) % 5000)),
    Array.from({ length: 150 }, (_, at) => 5000 - at),
  )
})
