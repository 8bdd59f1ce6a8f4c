/** The history of the console over several replicas, with a clock of the test. */
import t, { type Test } from 'tap'
import { requestEvent } from '../../../../test/support/request-event.ts'
import { trafficOf } from '../../../../test/support/traffic.ts'
import { ConsoleHistory, type HistoryOptions } from '../../server/history.ts'
import type { ReportedReplica } from '../../server/node-types.ts'

const START = 1_763_000_040_000
/** Monotonic time of the start, which is no multiple of an interval. */
const ELAPSED = 4321
const SECOND = 1000
const MINUTE = 60 * SECOND

const clock = { elapsed: ELAPSED }
const wallClock = () => START + clock.elapsed - ELAPSED

type Other = Pick<ReportedReplica, 'name' | 'rates'>
interface Replica {
  readonly traffic: ReturnType<typeof trafficOf>
  readonly history: ConsoleHistory
  readonly report: () => Other
}

function startReplica(t: Test, name: string, others?: HistoryOptions['others']): Replica {
  const elapsed = () => clock.elapsed
  const traffic = trafficOf(elapsed)
  const history = new ConsoleHistory({ name, rates: traffic.rates, others, clock: elapsed, now: wallClock })
  t.teardown(() => history.stop())
  return { traffic, history, report: () => ({ name, rates: traffic.rates() }) }
}

function send({ traffic }: Replica, count: number, ms: number): void {
  const event = requestEvent({ at: wallClock(), endedAt: clock.elapsed, ms, fetchTime: 1000 })
  for (let each = 0; each < count; each++) traffic.request(event)
}

/** Each replica notes its totals once in a second, and looks whether an interval has ended. */
function pass(ms: number, ...replicas: readonly Replica[]): void {
  for (const end = clock.elapsed + ms; clock.elapsed < end; ) {
    clock.elapsed += Math.min(SECOND, end - clock.elapsed)
    for (const { traffic, history } of replicas) {
      traffic.sample()
      history.update()
    }
  }
}

const sum = (values: readonly (number | null)[]) => values.reduce<number>((all, value) => all + (value ?? 0), 0)
const present = (values: readonly (number | null)[]) => values.filter((value) => value !== null)

t.beforeEach(() => {
  clock.elapsed = ELAPSED
})

t.test('the rates of all intervals add up to the totals, with null before the start', async (t) => {
  const one = startReplica(t, 'one')
  // The first interval is shorter.
  pass(6 * SECOND, one)
  for (let each = 0; each < 130; each++) {
    send(one, each % 7, 2)
    pass(SECOND, one)
  }
  pass(10 * SECOND, one)
  const { at, interval, perSecond, hitRatio, p50, savedPerSecond } = one.history.read({ range: '5m' })
  t.strictSame([at.length, perSecond.length, interval], [30, 30, 10_000])
  const { requests, saved } = one.traffic.totals()
  t.equal(Math.round(sum(perSecond) * 10), requests)
  t.equal(Math.round(sum(savedPerSecond) * 10), saved)
  t.equal(present(perSecond).length, 15, 'nothing before the start')
  t.strictSame([...new Set(present(hitRatio))], [1])
  t.ok(Math.abs((present(p50)[0] ?? 0) - 2) < 0.5)
  const end = at.at(-1) ?? 0
  t.ok(wallClock() / 1000 - end >= 0 && wallClock() / 1000 - end <= 10, 'ends now')
  t.ok(
    at.every((each, index) => each === end - 10 * (29 - index)),
    'one point for each interval',
  )
})

t.test('the sum of all replicas adds rates and shows the latencies of the slowest, one replica its own', async (t) => {
  const others: Other[] = []
  const [one, two] = [startReplica(t, 'one'), startReplica(t, 'two', () => others)]
  send(one, 30, 2)
  send(two, 10, 800)
  pass(4 * SECOND, one, two)
  others.push(one.report())
  pass(6 * SECOND, one, two)
  const all = two.history.read({ range: '5m' })
  t.match(all, { source: 'redis', replicas: ['one', 'two'], self: 'two' })
  t.notOk('replica' in all)
  t.ok(sum(all.perSecond) > 10 / 5, 'more than its own')
  t.ok((present(all.p50)[0] ?? 0) > 600)
  const single = two.history.read({ range: '5m', replica: 'one' })
  t.match(single, { replica: 'one' })
  t.equal(sum(single.perSecond), others[0]?.rates.perSecond)
  t.ok((present(single.p99)[0] ?? 0) < 3)
  const unknown = two.history.read({ range: '5m', replica: 'three' })
  t.match(unknown, { replica: 'three', replicas: ['one', 'two'] })
  t.strictSame(present(unknown.perSecond), [])
})

t.test('what a replica has reported stays after its end, and an hour is kept', async (t) => {
  const others: Other[] = []
  const [gone, one] = [startReplica(t, 'gone'), startReplica(t, 'one', () => others)]
  send(gone, 50, 2)
  pass(4 * SECOND, gone, one)
  others.push(gone.report())
  pass(4 * SECOND, one)
  others.pop()
  pass(10 * MINUTE, one)
  const reported = () => present(one.history.read({ range: '1h', replica: 'gone' }).perSecond)
  t.equal(reported().length, 1)
  pass(49 * MINUTE, one)
  t.equal(reported().length, 1)
  pass(2 * MINUTE, one)
  t.equal(reported().length, 0)
  const { at, perSecond, replicas } = one.history.read({ range: '1h' })
  t.equal(at.length, 360)
  t.ok(
    perSecond.every((rate) => rate === 0),
    'no requests is not the same as not known',
  )
  t.strictSame(replicas, ['one'])
})

t.test(
  'without Redis the source is the memory, and while Redis is unreachable the other replicas are missing',
  async (t) => {
    const alone = startReplica(t, 'alone')
    pass(20 * SECOND, alone)
    t.match(alone.history.read({ replica: 'other' }), { source: 'memory', replicas: ['alone'] })

    const state: { others: Other[] | undefined } = { others: [] }
    const one = startReplica(t, 'one', () => state.others)
    pass(20 * SECOND, one)
    t.equal(one.history.read({}).source, 'redis')
    state.others = undefined
    pass(20 * SECOND, one)
    t.equal(one.history.read({}).source, 'unreachable')
    state.others = []
    pass(4 * MINUTE, one)
    t.equal(
      one.history.read({ range: '5m' }).source,
      'unreachable',
      'also later, for the intervals that lack the others',
    )
    pass(2 * MINUTE, one)
    t.equal(one.history.read({ range: '5m' }).source, 'redis')
  },
)

t.test('an interval in which the process was suspended has no point', async (t) => {
  const one = startReplica(t, 'one')
  pass(20 * SECOND, one)
  clock.elapsed += 30 * SECOND
  pass(SECOND, one)
  t.equal(present(one.history.read({ range: '5m' }).perSecond).length, 3)
})

t.test('without a range, the history is as long as what is known', async (t) => {
  const one = startReplica(t, 'one')
  const rangeAfter = (minutes: number) => {
    pass(minutes * MINUTE, one)
    return one.history.read({}).range
  }
  t.equal(rangeAfter(0), '5m')
  t.equal(rangeAfter(4), '5m')
  t.equal(rangeAfter(2), '15m')
  t.equal(rangeAfter(10), '1h')
  t.equal(rangeAfter(120), '1h')
})

t.test('events of all replicas are listed once, and a repeated event within ten seconds is one', async (t) => {
  const [one, two] = [startReplica(t, 'one'), startReplica(t, 'two', () => [])]
  const exchange = (): void => {
    const reports = [one, two].map(({ history }) => JSON.parse(JSON.stringify(history.report())) as unknown)
    one.history.offer([reports[1]])
    two.history.offer([reports[0]])
  }
  one.history.recordEvent({ kind: 'start' })
  for (let each = 0; each < 5; each++) two.history.recordEvent({ kind: 'purge', text: 'a group' })
  exchange()
  pass(20 * SECOND, one, two)
  two.history.recordEvent({ kind: 'purge', text: 'a group' })
  one.history.recordEvent({ kind: 'reload' })
  exchange()
  exchange()
  for (const { history } of [one, two]) {
    const { events } = history.read({ range: '5m' })
    const listed = events.map(({ kind, replica, text = '' }) => `${kind} ${replica} ${text}`.trim())
    t.strictSame(listed.sort(), ['purge two a group', 'purge two a group', 'reload one', 'start one'])
    t.ok(
      events.every(({ at }, index) => at >= (events[index - 1]?.at ?? 0)),
      'oldest first',
    )
  }
  two.history.offer(undefined)
  t.equal(two.history.read({}).events.length, 4, 'while Redis is unreachable')
  pass(61 * MINUTE, one, two)
  t.strictSame([two.history.read({ range: '1h' }).events, two.history.report()], [[], []], 'an hour later')
})

t.test('bad and foreign values in Redis are skipped, and a long text is shortened', async (t) => {
  const one = startReplica(t, 'one', () => [])
  const event = { kind: 'purge', at: START, replica: 'two' }
  one.history.offer([
    null,
    '<img src=x onerror=alert(1)>',
    {},
    [{ ...event, kind: 'explosion' }],
    [{ ...event, at: 'now' }],
    [{ ...event, at: -1 }],
    [{ ...event, replica: { name: 'object' } }],
    [{ ...event, text: 7 }],
    [{ ...event, text: 'x'.repeat(201) }],
    Array(9).fill(event),
    [event],
  ])
  t.strictSame(one.history.read({}).events, [event])
  const text = Array.from({ length: 30 }, (_, node) => `worker-${node}: reason`).join('; ')
  pass(SECOND, one)
  one.history.recordEvent({ kind: 'drain', text })
  const drain = one.history.read({}).events.at(-1)
  t.match(drain, { kind: 'drain', replica: 'one', text: /^worker-0: reason; worker-1: reason; .*…$/ })
  t.equal(drain?.text?.length, 200)
})
