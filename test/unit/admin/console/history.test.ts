/** The history of the console over several replicas and restarts, with a store in memory and a clock of the test. */
import t, { type Test } from 'tap'
import { ConsoleHistory } from '../../../../src/admin/console/history.ts'
import type { HistoryStore, TimedRecord } from '../../../../src/admin/console/history-records.ts'
import { RANGES } from '../../../../src/admin/console/history-types.ts'
import type { Traffic } from '../../../../src/admin/console/traffic.ts'
import type { NodeCallEvent, RequestEvent } from '../../../../src/core/events.ts'
import { requestEvent } from '../../../support/request-event.ts'
import { trafficOf } from '../../../support/traffic.ts'

const START = 1_763_000_040_000
const SECOND = 1000
const MINUTE = 60 * SECOND

/** A store whose Redis can be reachable or not. */
function createStore() {
  const series = new Map<string, TimedRecord[]>()
  const reads: string[] = []
  const store = {
    isReachable: true,
    reads,
    put: (name: string, seconds: number, text: string) =>
      series.set(name, [...(series.get(name) ?? []), { seconds, text }]),
    async add({ name }, records) {
      if (!store.isReachable) return false
      for (const { seconds, text } of records) store.put(name, seconds, text)
      return true
    },
    async read({ name }, from, to) {
      reads.push(name)
      if (!store.isReachable) return undefined
      const records = series.get(name) ?? []
      return records.filter(({ seconds }) => seconds >= from && seconds <= to).map(({ text }) => text)
    },
  } satisfies HistoryStore & Record<string, unknown>
  return store
}

const clock = { now: START }
interface Replica {
  readonly traffic: Traffic
  readonly history: ConsoleHistory
}

function startReplica(t: Test, name: string, store?: HistoryStore): Replica {
  const now = () => clock.now
  const traffic = trafficOf(now, now)
  const history = new ConsoleHistory({ name, traffic, store, now })
  t.teardown(() => history.close())
  return { traffic, history }
}

function request(ms: number, overrides: Partial<RequestEvent> = {}): RequestEvent {
  return requestEvent({ at: clock.now, endedAt: clock.now, ms, fetchTime: 1000, ...overrides })
}

function nodeCall(ms: number): NodeCallEvent {
  return { requestId: 'id', node: 'worker-1', method: 'GET', route: '/agents', ms, queueTime: 0, status: 200 }
}

function send({ traffic }: Replica, count: number, ms: number): void {
  for (let each = 0; each < count; each++) traffic.request(request(ms))
}

async function pass(ms: number, ...replicas: readonly Replica[]): Promise<void> {
  for (const end = clock.now + ms; clock.now < end; ) {
    clock.now += Math.min(5 * MINUTE, end - clock.now)
    for (const { history } of replicas) await history.update()
  }
}

const sum = (values: readonly (number | null)[]) => values.reduce<number>((all, value) => all + (value ?? 0), 0)
const present = (values: readonly (number | null)[]) => values.filter((value) => value !== null)

t.beforeEach(() => {
  clock.now = START
})

t.test('the sum of all replicas adds rates, and one replica shows its own', async (t) => {
  const store = createStore()
  const [one, two] = [startReplica(t, 'one', store), startReplica(t, 'two', store)]
  send(one, 30, 2)
  send(two, 10, 2)
  await pass(20 * SECOND, one, two)
  const all = await two.history.read({ range: '5m' })
  t.match(all, { source: 'redis', replicas: ['one', 'two'], self: 'two', interval: 10_000, replica: undefined })
  t.equal(all.at.length, 30)
  t.equal(sum(all.perSecond) * 10, 40)
  t.strictSame(present(all.hitRatio), [1])
  const single = await two.history.read({ range: '5m', replica: 'one' })
  t.match(single, { replica: 'one' })
  t.equal(sum(single.perSecond) * 10, 30)
  const unknown = await two.history.read({ range: '5m', replica: 'three' })
  t.strictSame(present(unknown.perSecond), [])
})

t.test('percentiles of the sum are those of all requests, not the mean of the replicas', async (t) => {
  const store = createStore()
  const [busy, slow] = [startReplica(t, 'busy', store), startReplica(t, 'slow', store)]
  send(busy, 990, 2)
  send(slow, 10, 800)
  await pass(20 * SECOND, busy, slow)
  const { p50, p99 } = await busy.history.read({ range: '5m' })
  const [median, high] = [present(p50)[0] ?? 0, present(p99)[0] ?? 0]
  t.ok(Math.abs(median - 2) < 0.5, `p50 ${median}: the mean of both would be about 400 ms`)
  t.ok(high < 3, `p99 ${high}: 99 of 100 requests took 2 ms; the mean of both would be about 400 ms`)
  send(slow, 40, 800)
  await pass(20 * SECOND, busy, slow)
  send(busy, 950, 2)
  send(slow, 50, 800)
  await pass(20 * SECOND, busy, slow)
  const last = present((await busy.history.read({ range: '5m' })).p99).at(-1) ?? 0
  t.ok(last > 600 && last < 1000, `p99 ${last}: one request in twenty took 800 ms`)
})

t.test('a restart and another replica keep the history', async (t) => {
  const store = createStore()
  const before = startReplica(t, 'one', store)
  send(before, 60, 2)
  await pass(3 * MINUTE, before)
  send(before, 12, 2)
  clock.now += 2 * SECOND
  await before.history.close()
  clock.now += SECOND
  const after = startReplica(t, 'one', store)
  await pass(2 * MINUTE, after)
  for (const range of ['1h', '6h'] as const) {
    const { perSecond, interval, replicas } = await after.history.read({ range, replica: 'one' })
    t.equal(Math.round((sum(perSecond) * interval) / 1000), 72, `${range}: also the requests of the last seconds`)
    t.strictSame(replicas, ['one'])
  }
  const other = startReplica(t, 'two', store)
  const { perSecond } = await other.history.read({ range: '6h' })
  t.equal(Math.round(sum(perSecond) * 60), 72)
})

t.test('every range covers its time, with null where no replica has recorded', async (t) => {
  const one = startReplica(t, 'one', createStore())
  send(one, 5, 2)
  await pass(24 * 60 * MINUTE, one)
  send(one, 7, 2)
  await pass(10 * MINUTE, one)
  const seconds = { '5m': 300, '15m': 900, '1h': 3600, '6h': 21_600, '24h': 86_400 }
  for (const range of RANGES) {
    const { at, interval, perSecond, hitRatio } = await one.history.read({ range })
    t.equal((at.length * interval) / 1000, seconds[range], `${range}: its length`)
    t.ok(clock.now / 1000 - (at.at(-1) ?? 0) < interval / 1000 + 10, `${range}: ends now`)
    t.equal(present(perSecond).length, perSecond.length, `${range}: no requests is not the same as no record`)
    t.equal(Math.round((sum(perSecond) * interval) / 1000), range === '5m' ? 0 : 7, range)
    t.equal(present(hitRatio).length, range === '5m' ? 0 : 1)
  }
  const later = startReplica(t, 'later')
  await pass(MINUTE, later)
  t.equal(present((await later.history.read({ range: '15m' })).perSecond).length, 5, 'nothing before the start')
})

t.test('without Redis, and while Redis is unreachable, a replica shows its own memory and says so', async (t) => {
  const alone = startReplica(t, 'alone')
  send(alone, 20, 2)
  await pass(20 * SECOND, alone)
  const own = await alone.history.read({ range: '5m', replica: 'other' })
  t.match(own, { source: 'memory', replica: 'alone', replicas: ['alone'] })
  t.equal(sum(own.perSecond) * 10, 20)

  const store = createStore()
  const [one, two] = [startReplica(t, 'one', store), startReplica(t, 'two', store)]
  store.isReachable = false
  send(one, 20, 2)
  one.history.recordEvent({ kind: 'purge', text: 'everything' })
  await pass(2 * MINUTE, one, two)
  const unreachable = await one.history.read({ range: '15m' })
  t.match(unreachable, { source: 'unreachable', replica: 'one', replicas: ['one'], events: [{ kind: 'purge' }] })
  t.equal(sum(unreachable.perSecond) * 10, 20)
  store.isReachable = true
  await pass(10 * SECOND, one, two)
  const back = await two.history.read({ range: '15m' })
  t.match(back, { source: 'redis', events: [{ kind: 'purge', replica: 'one' }] })
  t.equal(sum(back.perSecond) * 10, 20, 'the records of the outage are written afterwards')
})

t.test('bad and foreign values in Redis are skipped', async (t) => {
  const store = createStore()
  const one = startReplica(t, 'one', store)
  send(one, 20, 2)
  one.history.recordEvent({ kind: 'ejection', text: 'worker-1' })
  const at = START / 10_000
  const seconds = START / 1000
  const bad = [
    '',
    'null',
    '{"name":"<img src=x onerror=alert(1)>"}',
    '[2]',
    `[1,"r",${at},"earlier version",[1,1,1,1,1,1,1],[],[]]`,
    `[2,"r",${at},"short",[1,1,1],[],[]]`,
    `[2,"r",${at},"without latencies",[1,1,1,1,1,1,1]]`,
    `[2,"r",${at},"negative",[-1,1,1,1,1,1,1],[],[]]`,
    `[2,"r",${at},"infinite",[1e999,1,1,1,1,1,1],[],[]]`,
    `[2,"r",${at},"fraction",[0.5,1,1,1,1,1,1],[],[]]`,
    `[2,"r",${at},{"name":"object"},[1,1,1,1,1,1,1],[],[]]`,
    `[2,"r",${at},"bucket",[1,1,1,1,1,1,1],[66,1],[]]`,
    `[2,"r",${at},"order",[1,1,1,1,1,1,1],[],[5,1,4,1]]`,
    `[2,"r",${at},"odd",[1,1,1,1,1,1,1],[5],[]]`,
    `[2,"r",${at},"no list",[1,1,1,1,1,1,1],"5",[]]`,
    `[2,"r",${at + 9000},"another time",[1,1,1,1,1,1,1],[],[]]`,
    `[2,"r",${at},"${'x'.repeat(5000)}",[1,1,1,1,1,1,1],[],[]]`,
    '\ud800',
  ]
  for (const text of bad) {
    store.put('intervals', seconds, text)
    store.put('events', seconds, text)
  }
  store.put('events', seconds, `[2,"r",${START},"one","explosion"]`)
  store.put('events', seconds, `[2,"r",${START},"one","purge",7]`)
  store.put('intervals', seconds, `[2,"r",${at},"valid",[5,5,5,0,0,0,0],[3,5],[]]`)
  await pass(20 * SECOND, one)
  const { perSecond, replicas, events } = await one.history.read({ range: '5m' })
  t.equal(sum(perSecond) * 10, 25)
  t.strictSame(replicas, ['one', 'valid'])
  t.strictSame(events, [{ at: START, replica: 'one', kind: 'ejection', text: 'worker-1' }])
})

t.test('a long text of an event is shortened', async (t) => {
  const one = startReplica(t, 'one', createStore())
  const text = Array.from({ length: 30 }, (_, node) => `worker-${node}: reason`).join('; ')
  one.history.recordEvent({ kind: 'drain', text })
  await pass(20 * SECOND, one)
  const { events } = await one.history.read({ range: '5m' })
  t.equal(events.length, 1)
  t.match(events[0]?.text, /^worker-0: reason; worker-1: reason; .*…$/)
})

t.test('events of all replicas are listed once, and a repeated event within ten seconds is one', async (t) => {
  const store = createStore()
  const [one, two] = [startReplica(t, 'one', store), startReplica(t, 'two', store)]
  one.history.recordEvent({ kind: 'start' })
  for (let each = 0; each < 5; each++) two.history.recordEvent({ kind: 'purge', text: 'a group' })
  await pass(20 * SECOND, one, two)
  two.history.recordEvent({ kind: 'purge', text: 'a group' })
  one.history.recordEvent({ kind: 'reload' })
  await pass(20 * SECOND, one, two)
  for (const { history } of [one, two]) {
    const { events } = await history.read({ range: '5m' })
    const listed = events.map(({ kind, replica, text = '' }) => `${kind} ${replica} ${text}`.trim())
    t.strictSame(listed.sort(), ['purge two a group', 'purge two a group', 'reload one', 'start one'])
  }
})

t.test('the records are read once per interval, however many pages show them', async (t) => {
  const store = createStore()
  const one = startReplica(t, 'one', store)
  await pass(20 * SECOND, one)
  for (let each = 0; each < 10; each++) await one.history.read({ range: '24h' })
  t.equal(store.reads.filter((name) => name === 'minutes').length, 1)
})

t.test('times over six hours are parts of one read of the last day', async (t) => {
  const store = createStore()
  const one = startReplica(t, 'one', store)
  await pass(2 * 60 * MINUTE, one)
  send(one, 600, 0)
  const sentAt = clock.now / 1000
  await pass(9 * 60 * MINUTE, one)
  const hour = 60 * 60
  for (let each = 1; each <= 20; each++) {
    const history = await one.history.read({ from: sentAt - hour - 300 * each, to: sentAt + 7 * hour })
    t.match(history, { interval: 300_000, source: 'redis' })
    t.equal(Math.round(sum(history.perSecond) * 300), 600)
    const at = history.perSecond.findIndex((rate) => (rate ?? 0) > 0)
    const end = history.at[at] ?? 0
    t.ok(end >= sentAt && end - 300 <= sentAt, 'the requests are in the interval in which they were sent')
  }
  t.equal(store.reads.filter((name) => name === 'minutes').length, 1)
  const day = await one.history.read({ from: sentAt - 30 * hour, to: sentAt + 8 * hour })
  t.equal(day.at.length, day.perSecond.length)
  t.equal(day.perSecond[0], null, 'no interval before the last day is read')
})

t.test('names of replicas that do not exist cause no further read, and have no rates', async (t) => {
  const store = createStore()
  const [one, two] = [startReplica(t, 'one', store), startReplica(t, 'two', store)]
  send(two, 10, 5)
  await pass(20 * SECOND, one, two)
  for (let each = 0; each < 50; each++) {
    const { replica, replicas, perSecond } = await one.history.read({ range: '5m', replica: `invented-${each}` })
    t.equal(replica, `invented-${each}`)
    t.strictSame(replicas, ['one', 'two'])
    t.ok(perSecond.every((rate) => rate === null))
  }
  t.equal(store.reads.filter((name) => name === 'intervals').length, 1)
  t.ok(
    (await one.history.read({ range: '5m', replica: 'two' })).perSecond.some((rate) => rate === 1),
    'a replica that exists has rates',
  )
})

t.test('without a range, the history is as long as its records, up to an hour', async (t) => {
  const store = createStore()
  const one = startReplica(t, 'one', store)
  const rangeOf = async (replica?: string) => (await one.history.read(replica === undefined ? {} : { replica })).range
  t.equal(await rangeOf(), '5m')
  await pass(4 * MINUTE, one)
  t.equal(await rangeOf(), '5m')
  await pass(2 * MINUTE, one)
  t.equal(await rangeOf(), '15m')
  await pass(10 * MINUTE, one)
  t.equal(await rangeOf(), '1h')
  await pass(20 * 60 * MINUTE, one)
  t.equal(await rangeOf(), '1h')
  const two = startReplica(t, 'two', store)
  await pass(MINUTE, one, two)
  t.equal(await rangeOf('two'), '5m', 'of a younger replica')
  t.equal(await rangeOf('unknown'), '5m')
})

t.test('any time can be read, in the shortest intervals that exist for it', async (t) => {
  const one = startReplica(t, 'one', createStore())
  await pass(30 * MINUTE, one)
  const from = clock.now / 1000
  send(one, 12, 2)
  for (let each = 0; each < 3; each++) one.traffic.request(request(40, { cache: 'stale' }))
  for (let each = 0; each < 6; each++) one.traffic.nodeCall(nodeCall(400))
  await pass(MINUTE, one)
  const read = (before: number, after: number) =>
    one.history.read({ from: from - before, to: from + after }).then((history) => ({
      ...history,
      seconds: history.at.length * (history.interval / 1000),
    }))
  const recent = await read(300, 30)
  t.match(recent, { interval: 10_000, seconds: 330, range: undefined })
  t.equal(recent.at.at(-1), from + 30)
  t.equal(Math.round(sum(recent.hitsPerSecond) * 10), 15)
  t.equal(Math.round(sum(recent.stalePerSecond) * 10), 3)
  const [median = 0] = present(recent.nodeP50)
  t.ok(median > 300 && median < 500, `calls to nodes took ${median} ms`)
  t.equal(present(recent.nodeP99).length, 1)
  t.equal((await one.history.read({ from: from - 300 })).at.at(-1), from + 50, 'without an end: until now')

  await pass(5 * 60 * MINUTE, one)
  const earlier = await read(300, 60)
  t.match(earlier, { interval: 60_000, seconds: 360 })
  t.equal(Math.round(sum(earlier.stalePerSecond) * 60), 3)
  t.match(await read(300, 10 * 60 * 60), { interval: 60_000 }, 'until now')
  await pass(20 * 60 * MINUTE, one)
  t.strictSame(present((await read(300, 60)).perSecond), [], 'no records any more')
  t.equal((await read(24 * 60 * 60, 60 * 60)).at.length, 289, 'no more points than a chart shows')
  t.strictSame((await one.history.read({ from: clock.now })).at, [], 'the future')
})
