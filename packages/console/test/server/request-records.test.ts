import t from 'tap'
import type { JoinEvent, NodeCallEvent, RequestEvent } from '../../../../src/core/events.ts'
import { createEdgeEvents } from '../../../../src/telemetry/events.ts'
import { requestEvent } from '../../../../test/support/request-event.ts'
import { requestDetailsOf } from '../../server/request-details.ts'
import { RequestRecords } from '../../server/request-records.ts'

const MINUTE_MS = 60_000

const START = 1_700_000_000_000
/** Milliseconds since the start of the test. */
const time = { now: 0 }

/** Records whose two clocks advance together. */
function recordsWithClock(t: { teardown(end: () => unknown): void }) {
  time.now = 1_000_000
  const { emit, on, requests } = createEdgeEvents()
  const records = new RequestRecords(requests, { clock: () => START + time.now, elapsed: () => time.now })
  on({ request: (event) => records.request(event) })
  t.teardown(() => records.close())
  return { records, add: emit.request }
}

const ended = (requestId: string, overrides: Partial<RequestEvent> = {}): RequestEvent =>
  requestEvent({
    requestId,
    at: START + time.now,
    endedAt: time.now,
    ms: 50,
    cache: 'miss',
    cacheStatus: { fwd: 'uri-miss', stored: true, ttl: 9000 },
    ...overrides,
  })

const callEvent = (requestId: string, overrides: Partial<NodeCallEvent> = {}): NodeCallEvent => ({
  requestId,
  node: 'master',
  method: 'GET',
  route: '/agents',
  status: 200,
  ms: 30,
  queueTime: 5,
  ...overrides,
})

function detailsOf(records: RequestRecords, id: string) {
  const found = records.find(id)
  if (found === undefined) throw new Error(`no record of ${id}`)
  return requestDetailsOf(found)
}

t.test('the details of a miss are its stages, its calls and why it was a miss', async (t) => {
  const { records, add } = recordsWithClock(t)
  const request = records.recordStages('a', undefined)
  request.startSpan('authenticate').end()
  time.now += 5
  const cache = request.startSpan('cache', { route: '/agents' })
  const forward = cache.startSpan('forward')
  const call = forward.startCallSpan({ method: 'GET', route: '/agents', node: 'master' })
  time.now += 35
  call.end({ status: 200 })
  records.nodeCall(callEvent('a'))
  forward.end()
  time.now += 10
  cache.end({ cache: 'miss', stored: true })
  add(ended('a'))
  request.end()

  const { stages, calls, cache: decision, request: shown } = detailsOf(records, 'a')
  t.strictSame(
    stages.map(({ name, depth, start, ms, notes }) => [name, depth, start, ms, notes.join(', ')]),
    [
      ['authenticate', 0, 0, 0, ''],
      ['cache', 0, 5, 45, 'miss, stored'],
      ['forward', 1, 5, 35, ''],
      ['call', 2, 5, 35, 'GET /agents, status 200'],
    ],
  )
  t.match(calls, [{ node: 'master', start: 5, ms: 30, queueTime: 5, result: '200', failed: false }])
  t.match(decision, { outcome: 'miss', reason: /^No response was stored\. .*was stored\.$/, timeLeft: 9000 })
  t.match(shown, { id: 'a', node: 'master', status: 200, user: 'admin' })
})

t.test('a miss without a record before shows the time before its record as one stage', async (t) => {
  const { records, add } = recordsWithClock(t)
  time.now += 10
  const span = records.recordStages('a', undefined).startSpan('forward')
  time.now += 40
  span.end()
  add(ended('a'))
  t.match(detailsOf(records, 'a').stages, [
    { name: 'admission, validation and cache lookup', start: 0, ms: 10 },
    { name: 'forward', start: 10, ms: 40 },
  ])
})

t.test('a hit has its decision, and a refresh in the background', async (t) => {
  const { records, add } = recordsWithClock(t)
  const cacheStatus = { hit: true, ttl: 700 } as const
  add(ended('a', { cache: 'hit', fetchTime: 120, cacheStatus }))
  t.match(detailsOf(records, 'a'), {
    cache: { outcome: 'hit', reason: 'A fresh response was stored.', timeLeft: 700, fetchTime: 120 },
    stages: [],
    calls: [],
  })
  records.nodeCall(callEvent('a'))
  t.match(detailsOf(records, 'a'), { calls: [{ node: 'master' }], request: { node: undefined } })
})

t.test('a read of a trial has the decision of the cache and the comparison', async (t) => {
  const { records, add } = recordsWithClock(t)
  add(ended('a', { cache: 'bypass', cacheStatus: { fwd: 'bypass', detail: { trial: 'hit-different' } } }))
  const reason = 'Read-only trial: the manager answered. The cache and the comparison: hit-different.'
  t.match(detailsOf(records, 'a').cache, { outcome: 'bypass', reason })
})

t.test('a failed request has the error of the edge and the fault of each call', async (t) => {
  const { records, add } = recordsWithClock(t)
  const { status: _, ...call } = callEvent('a')
  records.nodeCall({ ...call, fault: 'connection_refused' as NonNullable<NodeCallEvent['fault']> })
  add(ended('a', { status: 603, cache: 'none', cacheStatus: undefined, errorCode: 603 }))
  t.match(detailsOf(records, 'a'), {
    error: { code: 603, text: 'The requested URL was not found on this server' },
    cache: { outcome: 'none', reason: 'The request was rejected or failed before it reached the cache.' },
    calls: [{ result: 'connection refused', failed: true }],
  })
})

t.test('records end after ten minutes', async (t) => {
  const { records, add } = recordsWithClock(t)
  add(ended('miss'))
  add(ended('hit', { cache: 'hit' }))
  time.now += 10 * MINUTE_MS
  t.ok(records.find('miss'))
  t.ok(records.find('hit'))
  time.now += 1
  t.notOk(records.find('miss'))
  t.notOk(records.find('hit'))
  t.strictSame(
    records.last(() => true, 10),
    [],
  )
})

t.test('hits push out no other request', async (t) => {
  const { records, add } = recordsWithClock(t)
  add(ended('error', { status: 504 }))
  for (let at = 0; at < 20_000; at++) add(ended(`hit ${at}`, { cache: 'hit' }))
  t.ok(records.find('error'))
  t.ok(records.find('hit 19999'))
  t.notOk(records.find('hit 9999'), 'the number of hits is limited')
  t.ok(records.find('hit 10000'))
})

t.test('the number of other requests and their stages are limited', async (t) => {
  const { records, add } = recordsWithClock(t)
  for (let at = 0; at < 5250; at++) add(ended(`${at}`))
  t.notOk(records.find('249'))
  t.ok(records.find('250'), 'the last 5,000')
  const request = records.recordStages('long', undefined)
  for (let at = 0; at < 500; at++) request.startSpan('queue').end()
  add(ended('long'))
  t.equal(detailsOf(records, 'long').stages.length, 301, 'and the time before them')
  t.equal(detailsOf(records, 'long').omitted, 200)
})

t.test('records with many calls push out older ones before they fill the memory', async (t) => {
  const { records, add } = recordsWithClock(t)
  for (let at = 0; at < 1000; at++) {
    for (let call = 0; call < 300; call++) records.nodeCall(callEvent(`${at}`))
    add(ended(`${at}`))
  }
  t.notOk(records.find('0'))
  t.ok(records.find('999'))
  t.ok(records.last(() => true, 1000).length < 300)
})

t.test('an id that is recorded again replaces its first record, and takes no further memory', async (t) => {
  const { records, add } = recordsWithClock(t)
  const part = { node: 'master', rows: 1, total: 1, ms: 5 }
  const join = { requestId: 'a', ms: 5, nodes: Array.from({ length: 60_000 }, () => part) } as unknown as JoinEvent
  for (let each = 0; each < 4; each++) {
    add(ended('a'))
    records.join(join)
  }
  add(ended('b'))
  add(ended('c'))
  t.strictSame(
    records.last(() => true, 10).map(({ id }) => id),
    ['a', 'b', 'c'],
  )
})

t.test('the newest matching requests of both kinds are returned in the order of their end', async (t) => {
  const { records, add } = recordsWithClock(t)
  for (let at = 0; at < 10; at++) {
    add(ended(`${at}`, at % 2 === 0 ? { cache: 'hit' } : {}))
    time.now += 1
  }
  const ids = (limit: number) => records.last(({ id }) => id !== '8', limit).map(({ id }) => id)
  t.strictSame(ids(4), ['5', '6', '7', '9'])
})

t.test('a recorded request passes its stages on to its trace, and has no other trace', async (t) => {
  const { records } = recordsWithClock(t)
  const started: string[] = []
  const inner = {
    traceId: 'trace',
    parent: 'parent',
    recorded: true,
    startSpan: (name: string) => {
      started.push(name)
      return inner
    },
    startCallSpan: () => inner,
    startLinkedTrace: () => inner,
    end: () => void started.push('end'),
  }
  const traced = records.recordStages('a', inner)
  traced.startSpan('cache').end()
  traced.end()
  t.strictSame(started, ['cache', 'end', 'end'])
  t.equal(traced.parent, 'parent')
  const { traceId, parent } = records.recordStages('b', undefined)
  t.strictSame({ traceId, parent }, { traceId: undefined, parent: undefined })
})
