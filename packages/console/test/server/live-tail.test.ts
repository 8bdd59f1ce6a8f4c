import { EventEmitter, once } from 'node:events'
import t from 'tap'
import type { RequestEvent } from '../../../../src/core/events.ts'
import { createEdgeEvents } from '../../../../src/telemetry/events.ts'
import { requestEvent } from '../../../../test/support/request-event.ts'
import { createLiveTail, type LiveTail, type TailFilter } from '../../server/live-tail.ts'
import { RequestRecords } from '../../server/request-records.ts'
import type { TailBatch } from '../../server/request-types.ts'

const failed = (requestId: string, overrides: Partial<RequestEvent> = {}): RequestEvent =>
  requestEvent({ requestId, route: '/rules', group: 'rules', status: 503, cache: 'miss', ...overrides })

// The timer of the live tail does not keep the process running.
const keepAlive = setInterval(() => undefined, 1000)
t.teardown(() => clearInterval(keepAlive))

const nodeCallEvent = (requestId: string) =>
  ({ requestId, node: 'master', method: 'GET', route: '/rules', ms: 1, queueTime: 0 }) as const

/** A subscriber that refuses batches while `isSlow`. Each batch emits `batch`. */
function subscriber(tail: LiveTail, filter: TailFilter) {
  const state = { isSlow: false, batches: [] as TailBatch[], events: new EventEmitter() }
  const unsubscribe = tail.subscribe(filter, {
    send: (batch) => {
      if (!state.isSlow) state.batches.push(batch)
      state.events.emit('batch')
      return !state.isSlow
    },
    onReplaced: () => {},
  })
  return { state, unsubscribe, nextBatch: () => once(state.events, 'batch') }
}

function liveTail(t: { teardown(end: () => unknown): void }) {
  const records = new RequestRecords(createEdgeEvents().requests)
  const tail = createLiveTail(records)
  t.teardown(() => {
    tail.close()
    records.close()
  })
  return { tail, records }
}

t.test('a subscriber receives the matching requests with their nodes', async (t) => {
  const { tail, records } = liveTail(t)
  const filter = { status: '5xx', endpoint: '/rules', user: 'ADM', node: 'mas', cache: 'miss', slower: 20, id: 'A' }
  const { state, nextBatch } = subscriber(tail, filter)
  const batch = nextBatch()
  records.nodeCall(nodeCallEvent('a'))
  records.request(failed('a', { ms: 20 }))
  records.request(failed('a without a node', { ms: 20 }))
  for (const [id, differing] of [
    ['a1', { status: 200 }],
    ['a2', { ms: 19.9 }],
    ['a3', { caller: 'other' }],
    ['b', { ms: 20 }],
  ] as const) {
    records.nodeCall(nodeCallEvent(id))
    records.request(failed(id, { ms: 20, ...differing }))
  }
  await batch
  t.equal(state.batches.length, 1)
  t.match(state.batches[0], { skipped: 0, requests: [{ id: 'a', node: 'master', status: 503 }] })
  t.equal(state.batches[0]?.requests.length, 1)
})

t.test('requests without a route are found by their path', async (t) => {
  const { tail, records } = liveTail(t)
  records.request(failed('a', { route: 'unknown', path: '/agent', status: 404 }))
  records.request(failed('b', { route: 'unknown', path: '/other', status: 404 }))
  const { state } = subscriber(tail, { endpoint: 'GET /agent' })
  t.match(state.batches, [{ requests: [{ id: 'a', path: '/agent' }] }])
})

t.test('a slow subscriber learns how many requests were skipped', async (t) => {
  const { tail, records } = liveTail(t)
  const { state, nextBatch } = subscriber(tail, {})
  state.isSlow = true
  const refused = nextBatch()
  for (let at = 0; at < 150; at++) records.request(failed(`${at}`))
  await refused
  state.isSlow = false
  const accepted = nextBatch()
  records.request(failed('next'))
  await accepted
  t.match(state.batches, [{ skipped: 150, requests: [{ id: 'next' }] }])
})

t.test('a new subscriber receives the last 200 requests at once', async (t) => {
  const { tail, records } = liveTail(t)
  for (let at = 0; at < 450; at++) records.request(failed(`${at}`))
  const { state } = subscriber(tail, {})
  t.equal(state.batches[0]?.requests.length, 200)
  t.equal(state.batches[0]?.requests.at(-1)?.id, '449')
})

t.test('of more than 20 subscriptions, the oldest one makes room for the new one', async (t) => {
  const { tail } = liveTail(t)
  const replaced: number[] = []
  const subscribe = (id: number) => tail.subscribe({}, { send: () => true, onReplaced: () => void replaced.push(id) })
  const unsubscribes = Array.from({ length: 22 }, (_, id) => subscribe(id))
  t.strictSame(replaced, [0, 1])
  unsubscribes[2]?.()
  subscribe(22)
  t.strictSame(replaced, [0, 1], 'an ended subscription makes room')
  subscribe(23)
  t.strictSame(replaced, [0, 1, 3])
})
