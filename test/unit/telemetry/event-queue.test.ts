import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import type { NodeCallEvent } from '../../../src/core/events.ts'
import { createEdgeEvents } from '../../../src/telemetry/events.ts'
import { requestEvent } from '../../support/request-event.ts'

const BATCH_INTERVAL_MS = 250
const MAX_WAITING = 500

const call = (requestId: string): NodeCallEvent => ({
  ...{ requestId, node: 'master', method: 'GET', route: '/agents', status: 200, ms: 1, queueTime: 0 },
})

t.test('listeners that count get the events in their order when the counts are read, and none twice', async (t) => {
  const { emit, collect, requests } = createEdgeEvents()
  const seen: string[] = []
  collect({
    nodeCall: ({ requestId }) => void seen.push(`call of ${requestId}`),
    request: ({ requestId }) => void seen.push(`request ${requestId}`),
  })
  collect({ request: ({ requestId }) => void seen.push(`also ${requestId}`) })
  emit.nodeCall(call('a'))
  emit.request(requestEvent({ requestId: 'a' }))
  emit.nodeCall(call('b'))
  await new Promise((resolve) => setImmediate(resolve))
  t.strictSame(seen, [], 'no turn of a request runs them')
  requests.drain()
  t.strictSame(seen, ['call of a', 'request a', 'call of b', 'also a'])
  requests.drain()
  t.equal(seen.length, 4)
})

t.test('without a reader they get the events soon, with the time at which each was emitted', async (t) => {
  const { emit, collect } = createEdgeEvents()
  const times: number[] = []
  const before = performance.now()
  const got = new Promise<void>((resolve) =>
    collect({
      nodeCall: (_, at = Number.NaN) => {
        times.push(at)
        resolve()
      },
    }),
  )
  emit.nodeCall(call('a'))
  const after = performance.now()
  await Promise.race([got, wait(100 * BATCH_INTERVAL_MS, undefined, { ref: false })])
  const [at = 0] = times
  t.equal(times.length, 1)
  t.ok(at >= before && at <= after)
})

t.test('at a limit the waiting events are passed on at once', async (t) => {
  const { emit, collect } = createEdgeEvents()
  let count = 0
  collect({
    request: () => {
      count += 1
    },
  })
  for (let at = 1; at < MAX_WAITING; at++) emit.request(requestEvent())
  t.equal(count, 0)
  emit.request(requestEvent())
  t.equal(count, MAX_WAITING)
})

t.test('an error of a listener is reported with its request, and ends nothing', async (t) => {
  const errors: string[] = []
  const { emit, collect, requests } = createEdgeEvents((error, kind, id) => void errors.push(`${kind} ${id}: ${error}`))
  const seen: string[] = []
  const fail = () => {
    throw new Error('failed')
  }
  collect({ request: fail, nodeCall: fail })
  collect({ request: () => void seen.push('request'), nodeCall: () => void seen.push('call') })
  emit.request(requestEvent({ requestId: 'a' }))
  emit.nodeCall(call('a'))
  requests.drain()
  t.strictSame(seen, ['request', 'call'])
  t.strictSame(errors, ['request a: Error: failed', 'nodeCall undefined: Error: failed'])
})

t.test('a listener gets what happened while it was registered', async (t) => {
  const { emit, collect, requests } = createEdgeEvents()
  const seen: string[] = []
  collect({})
  emit.nodeCall(call('a'))
  const off = collect({ nodeCall: ({ requestId }) => void seen.push(requestId) })
  emit.nodeCall(call('b'))
  off()
  emit.nodeCall(call('c'))
  requests.drain()
  t.strictSame(seen, ['b'])
})

t.test('a listener that emits or drains does not change the order of the events for the others', async (t) => {
  const { emit, collect, requests } = createEdgeEvents()
  const seen: string[] = []
  collect({
    nodeCall: ({ requestId }) => {
      if (requestId !== 'a') return
      for (let at = 0; at < MAX_WAITING; at++) emit.nodeCall(call('newer'))
      requests.drain()
    },
  })
  collect({ nodeCall: ({ requestId }) => void seen.push(requestId) })
  emit.nodeCall(call('a'))
  emit.nodeCall(call('b'))
  requests.drain()
  t.strictSame(seen, ['a', 'b'])
  requests.drain()
  t.strictSame(seen.slice(2), Array(MAX_WAITING).fill('newer'))
})

t.test('without a handler, an error of a listener is an uncaught one, and the others get the batch', async (t) => {
  const { emit, collect, requests } = createEdgeEvents()
  const seen: string[] = []
  collect({
    nodeCall: ({ requestId }) => {
      seen.push(requestId)
      if (requestId === 'a') throw new Error('failed')
    },
  })
  collect({ nodeCall: ({ requestId }) => void seen.push(`also ${requestId}`) })
  emit.nodeCall(call('a'))
  emit.nodeCall(call('b'))
  const later = t.capture(globalThis, 'setImmediate', () => {})
  requests.drain()
  t.strictSame(seen, ['a', 'b', 'also a', 'also b'])
  const [thrown] = later().map(({ args }) => (args as unknown[] as [() => void])[0])
  t.throws(() => thrown?.(), { message: 'failed' })
})
