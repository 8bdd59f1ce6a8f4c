import t from 'tap'
import type { RequestEvent } from '../../../src/core/events.ts'
import { EventQueue } from '../../../src/telemetry/event-queue.ts'
import { RequestRing } from '../../../src/telemetry/request-ring.ts'
import { requestEvent } from '../../support/request-event.ts'

/** Requests that are remembered, and those that wait for the listeners at the most. */
const RING_SIZE = 10_000
const MAX_WAITING = 500

/** Each field has a value that the other requests lack. */
function request(at: number): RequestEvent {
  const values = Object.keys(requestEvent()).map((name) => [name, `${name} ${at}`])
  return { ...requestEvent(), ...Object.fromEntries(values), at, requestId: `id ${at}` }
}

const NO_QUEUE = { add: () => undefined, drain: () => undefined }

const fail = (error: unknown) => {
  throw error
}

const newRing = (onError: (error: unknown, kind: string, event: unknown) => void = fail) =>
  new RequestRing(new EventQueue(onError, setImmediate), NO_QUEUE)

t.test('a request has all its fields, also in a slot that another one had', async (t) => {
  const ring = newRing()
  for (let at = 0; at < 2 * RING_SIZE + 5; at++) ring.add(request(at))
  const newest = [...ring.newest(0)]
  t.equal(newest.length, RING_SIZE)
  for (const [step, at] of [
    [0, 2 * RING_SIZE + 4],
    [RING_SIZE - 1, RING_SIZE + 5],
  ] as const) {
    t.strictSame(newest[step], request(at))
    t.strictSame(ring.find(`id ${at}`), request(at))
  }
  t.equal(ring.find(`id ${RING_SIZE + 4}`), undefined)
})

t.test('a request that was found keeps its fields when its slot is used again', async (t) => {
  const ring = newRing()
  ring.add(request(0))
  const found = ring.find('id 0')
  for (let at = 1; at <= RING_SIZE; at++) ring.add(request(at))
  t.strictSame(found, request(0))
})

t.test('old requests are released, after the listeners got them', async (t) => {
  const ring = newRing()
  const seen: number[] = []
  ring.on(({ at }) => void seen.push(at))
  const times = () => [...ring.newest(0)].map(({ at }) => at)
  for (let at = 0; at < 10; at++) ring.add(request(at))
  ring.forget(8)
  t.strictSame(times(), [9, 8])
  t.equal(seen.length, 10)
  ring.add(request(11))
  t.strictSame(times(), [11, 9, 8])
})

t.test(
  'each listener gets each request once and in order, at the end of the turn or when it is asked for',
  async (t) => {
    const ring = newRing()
    const seen: string[] = []
    ring.on(({ at }) => void seen.push(`first ${at}`))
    ring.on(({ at }) => void seen.push(`second ${at}`))
    ring.add(request(1))
    ring.add(request(2))
    t.strictSame(seen, [], 'later in this turn')
    ring.drain()
    t.strictSame(seen, ['first 1', 'first 2', 'second 1', 'second 2'])
    ring.add(request(3))
    await new Promise((resolve) => setImmediate(resolve))
    t.strictSame(seen.slice(4), ['first 3', 'second 3'])
    ring.drain()
    t.equal(seen.length, 6, 'none a second time')
  },
)

t.test('no request is lost when more of them end in one turn than may wait, or than the ring has slots', async (t) => {
  const ring = newRing()
  const seen: number[] = []
  ring.on(({ at }) => void seen.push(at))
  const count = RING_SIZE + MAX_WAITING + 1
  let mostWaiting = 0
  for (let at = 0; at < count; at++) {
    ring.add(request(at))
    mostWaiting = Math.max(mostWaiting, at + 1 - seen.length)
  }
  t.equal(mostWaiting, MAX_WAITING - 1)
  ring.drain()
  t.strictSame(
    seen,
    Array.from({ length: count }, (_, at) => at),
  )
})

t.test('an error of a listener is reported with its request, and ends nothing', async (t) => {
  const reported: unknown[] = []
  const ring = newRing((error, _, event) => void reported.push([String(error), (event as RequestEvent).at]))
  const seen: number[] = []
  ring.on(({ at }) => {
    if (at === 1) throw new TypeError('the metrics failed')
  })
  ring.on(({ at }) => void seen.push(at))
  for (const at of [0, 1, 2]) ring.add(request(at))
  ring.drain()
  t.strictSame(seen, [0, 1, 2])
  t.strictSame(reported, [['TypeError: the metrics failed', 1]])
})

t.test('a listener that drains the ring, as a log line does, gets no request twice', async (t) => {
  const ring = newRing()
  const seen: number[] = []
  ring.on(({ at }) => {
    ring.drain()
    seen.push(at)
  })
  for (const at of [0, 1]) ring.add(request(at))
  ring.drain()
  t.strictSame(seen, [0, 1])
})

t.test('a listener gets what ended while it was registered', async (t) => {
  const ring = newRing()
  const seen: number[] = []
  ring.add(request(0))
  const off = ring.on(({ at }) => void seen.push(at))
  ring.add(request(1))
  off()
  ring.add(request(2))
  ring.drain()
  t.strictSame(seen, [1])
})
