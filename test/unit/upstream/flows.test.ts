/** Flows share a node in node time, those that have used little lately come first, and bulk is what always has a call waiting. */

import { assert, asyncProperty, constantFrom, integer, record, uniqueArray } from 'fast-check'
import t from 'tap'
import { SharedPresence } from '../../../src/cache/shared-presence.ts'
import { PAUSE_MS } from '../../../src/core/node-call.ts'
import { Presence } from '../../../src/core/presence.ts'
import { type Flow, Flows, isBulkFlow, type LimitedCall } from '../../../src/upstream/flows.ts'
import { Agenda, type Arrival, createLimiter, deadlineIn, flowOf, run, settled, spread } from './limiter-simulation.ts'

const CALL = { priority: 'interactive', caller: 'ann', endpoint: 'GET /agents' } as const

interface Client {
  readonly name: string
  /** Milliseconds on the node. */
  readonly takes: number
  /** Milliseconds between an answer and the next call. */
  readonly thinks: number
}

interface Sample {
  readonly name: string
  readonly isBulk: boolean
  readonly arrival: number
  readonly start: number
  readonly end: number
}

/** Clients that send a call after the other, in virtual time. Returns their calls, in order of their ends. */
async function serve(clients: readonly Client[], inFlight: number, duration: number): Promise<readonly Sample[]> {
  let now = 0
  const agenda = new Agenda()
  const samples: Sample[] = []
  const limits = { inFlight, queue: 1000 }
  const limiter = createLimiter(
    () => limits,
    () => now,
  )
  const request = async (client: Client): Promise<void> => {
    const { name, takes, thinks } = client
    const arrival = now
    const call: LimitedCall = {
      priority: 'interactive',
      caller: 'ann',
      flow: flowOf(name),
      endpoint: `GET /${takes}`,
    }
    const slot = await limiter.acquire(
      call,
      deadlineIn(10 * duration, () => now, agenda),
    )
    if (!slot.ok) throw new Error(slot.reason)
    const start = now
    agenda.add(now + takes, async () => {
      limiter.release(call, start, 'success')
      samples.push({ name, isBulk: name.startsWith('bulk'), arrival, start, end: now })
      agenda.add(now + thinks, () => request(client))
    })
  }
  for (const client of clients) agenda.add(0, () => request(client))
  for (let event = agenda.next(); event !== undefined && event.at < duration; event = agenda.next()) {
    now = event.at
    void event.run()
    await settled()
  }
  return samples
}

const times = constantFrom(50, 100, 200, 400, 800)

t.test('flows that always have a call waiting get equal node time, within two calls', async (t) => {
  const clients = uniqueArray(record({ id: integer({ min: 1, max: 99 }), takes: times }), {
    selector: ({ id }) => id,
    minLength: 2,
    maxLength: 6,
  })
  const property = asyncProperty(clients, async (drawn) => {
    const all = drawn.map(({ id, takes }) => ({ name: `bulk ${id}`, takes, thinks: 0 }))
    const samples = await serve([...all, ...all, ...all], 1, 30_000)
    const used = all.map(({ name }) =>
      samples.filter((each) => each.name === name).reduce((sum, { start, end }) => sum + end - start, 0),
    )
    const quantum = 2 * Math.max(...all.map(({ takes }) => takes))
    return Math.max(...used) - Math.min(...used) <= quantum
  })
  await t.resolves(assert(property, { numRuns: 10 }))
})

t.test('no flow starves, and a client that thinks waits for one call at most', async (t) => {
  const property = asyncProperty(integer({ min: 2, max: 12 }), times, async (count, takes) => {
    const crowd = Array.from({ length: count }, (_, at) => ({ name: `bulk ${at}`, takes, thinks: 0 }))
    const samples = await serve([...crowd, { name: 'ann', takes, thinks: 2 * PAUSE_MS }], 2, 60_000)
    const late = samples.filter(({ arrival }) => arrival > 30_000)
    const everyone = crowd.every(({ name }) => late.some((each) => each.name === name))
    return everyone && late.every(({ name, arrival, start }) => name !== 'ann' || start - arrival <= takes)
  })
  await t.resolves(assert(property, { numRuns: 10 }))
})

t.test('bulk has at most half of the slots while an interactive call waits, and all of them otherwise', async (t) => {
  const bulk = Array.from({ length: 8 }, (_, at) => ({ name: `bulk ${at}`, takes: 500, thinks: 0 }))
  const people = Array.from({ length: 12 }, (_, at) => ({ name: `ann ${at}`, takes: 500, thinks: 2_000 }))
  const both = await serve([...bulk, ...people], 4, 60_000)
  const shared = both.filter(({ start, isBulk }) => isBulk && start > 30_000)
  // People need 12 calls in 2.5 s, the node has 20.
  t.ok(shared.length >= 30 * 2, `${shared.length}`)
  const alone = await serve(bulk, 4, 60_000)
  t.ok(alone.filter(({ start }) => start > 30_000).length >= 30 * 8 - 8)
})

t.test('a separate connection makes a client of a shared account a separate flow', async (t) => {
  const crowd = spread(40, 1, { priority: 'interactive', takes: 100, flow: flowOf('dashboard 10.0.0.1 1') })
  const { results } = await run(
    [...crowd, { at: 10, priority: 'interactive', takes: 100, flow: flowOf('dashboard 10.0.0.1 2') }],
    {
      inFlight: 1,
    },
  )
  t.match(results.at(-1), { waited: 90, acquisition: { ok: true } })
})

t.test('flows without calls are forgotten', (t) => {
  const flows = new Flows()
  const seen = new Set<Flow>()
  for (let now = 0; now < 10 * PAUSE_MS; now += PAUSE_MS) {
    const call = flows.enter({ ...CALL, flow: flowOf('ann 1') }, now)
    seen.add(call.flow)
    flows.leave(call, 5_000, now)
  }
  t.equal(seen.size, 10)
  t.end()
})

const callOf = (user: string, connection: number, at: number): Arrival => {
  return { at, priority: 'interactive', takes: 100, flow: flowOf(`${user} 10.0.0.1 ${connection}`) }
}

t.test('a client with many connections takes turns with others as one party', async (t) => {
  const script = Array.from({ length: 40 }, (_, at) => callOf('script', at, 1))
  const people = Array.from({ length: 4 }, (_, at) => callOf('dashboard', at, 10 + at))
  const { results } = await run([...script, ...people], { inFlight: 1 })
  const waits = results.filter(({ arrival }) => arrival.flow?.party.startsWith('dashboard')).map(({ waited }) => waited)
  t.same(waits.length, 4)
  t.ok(
    waits.every((waited, at) => waited <= 100 * 2 * (at + 1)),
    `${waits}`,
  )
})

t.test('no first call of a party is passed by a later one, however long it has waited', async (t) => {
  const calls = Array.from({ length: 40 }, (_, at) => callOf('ann', at, 60 * at))
  const { results } = await run(calls, { inFlight: 1 })
  const begins = results.map(({ waited }, at) => 60 * at + waited)
  t.same(
    begins,
    begins.toSorted((a, b) => a - b),
  )
  t.ok((results.at(-1)?.waited ?? 0) > 1000, 'the last ones wait for more than a second')
})

t.test('refreshes that no client awaits do not make their connection bulk', (t) => {
  const flows = new Flows()
  const presence = new SharedPresence()
  presence.pin()
  const enter = (isRefresh: boolean, at: number) => {
    return flows.enter({ ...CALL, flow: flowOf('ann 1 1'), ...(isRefresh && { presence }) }, at)
  }
  for (let at = 0; at < 20; at += 1) flows.leave(enter(true, 500 * at), 1_000, 500 * at)
  t.notOk(isBulkFlow(enter(true, 10_000).flow))
  t.notOk(isBulkFlow(enter(false, 10_000).flow))
  for (let at = 0; at < 5; at += 1) flows.leave(enter(false, 10_000), 1_000, 10_000)
  t.ok(isBulkFlow(enter(false, 10_000).flow))
  t.ok(isBulkFlow(enter(true, 10_000).flow), 'refreshes for a bulk client are bulk')
  t.end()
})

/** Refreshes of twenty responses that a client of one account uses, and a call that a client of the account awaits. */
async function serveBesideRefreshes(queue: number) {
  const presence = new SharedPresence()
  presence.pin()
  const refreshes = Array.from({ length: 20 }, (_, at) => ({
    ...callOf('ann', at % 3, at),
    presence,
  }))
  const { results } = await run([callOf('ann', 5, 0), ...refreshes, callOf('ann', 5, 25)], { inFlight: 1, queue })
  return results.at(-1)
}

t.test('a client goes before refreshes that no client awaits, also of the same account', async (t) => {
  const awaited = await serveBesideRefreshes(100)
  t.ok(awaited?.acquisition.ok && awaited.waited <= 300, `${awaited?.waited} ms`)
})

t.test('in a queue full of refreshes, a client of the same account gets a place', async (t) => {
  t.match(await serveBesideRefreshes(8), { acquisition: { ok: true } })
})

t.test('a part of a joined refresh is awaited as little as the refresh is', (t) => {
  const refresh = new SharedPresence()
  refresh.pin()
  const part = new SharedPresence()
  part.join(refresh)
  t.notOk(part.isAwaited)
  const leave = refresh.join(new Presence())
  t.ok(part.isAwaited, 'a client waits for the joined response')
  leave()
  t.notOk(part.isAwaited)
  t.end()
})

t.test(
  'in a full queue, a call of the party with most calls is displaced, however many connections it has',
  async (t) => {
    const script = Array.from({ length: 6 }, (_, at) => callOf('script', at, at))
    const { results } = await run([...script, callOf('dashboard', 0, 6), callOf('script', 7, 7)], {
      inFlight: 1,
      queue: 5,
    })
    t.same(
      results.map(({ acquisition }) => acquisition.ok),
      [true, true, true, true, true, false, true, false],
    )
  },
)

t.test('a call is not rejected because of queued calls that it goes before', async (t) => {
  // Each connection of the script has had a call, and has another one queued.
  const script = [0, 1].flatMap((round) => Array.from({ length: 20 }, (_, at) => callOf('ann', at, round + at / 100)))
  const page = { ...callOf('ann', 100, 2_100), timeout: 500 }
  const { results } = await run([...script, page], { inFlight: 1 })
  t.match(results.at(-1), { acquisition: { ok: true }, waited: 0 })
})

t.test('the flow of a call that is rejected because of others gets its Retry-After', async (t) => {
  const hints: number[] = []
  const flow = { ...flowOf('ann 10.0.0.1 1'), refuse: (seconds: number) => hints.push(seconds) }
  const calls = Array.from({ length: 3 }, (_, at) => ({ ...callOf('ann', 1, at), flow }))
  const { results } = await run(calls, { inFlight: 1, queue: 1 })
  t.same(
    hints,
    results.flatMap(({ acquisition }) => (acquisition.ok ? [] : [acquisition.retryAfter])),
  )
  t.equal(hints.length, 1)
})
