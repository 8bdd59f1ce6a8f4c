import t from 'tap'
import { createHitRing } from '../../../../src/admin/console/hit-ring.ts'
import type { RequestEvent } from '../../../../src/core/events.ts'

const CAPACITY = 10_000

function hit(at: number): Required<RequestEvent> {
  return {
    requestId: `id ${at}`,
    at,
    endedAt: at + 0.25,
    method: at % 2 === 0 ? 'GET' : 'HEAD',
    route: `/route/${at}`,
    path: `/path/${at}`,
    group: `group ${at}`,
    status: 200 + at,
    ms: at / 8,
    bytes: at,
    cache: at % 2 === 0 ? 'hit' : 'stale',
    fetchTime: at + 0.5,
    cacheStatus: { hit: true, ttl: at },
    errorCode: at + 1,
    caller: `caller ${at}`,
    client: `client ${at}`,
    traceId: `trace ${at}`,
    rejectedWith: at + 2,
  }
}

t.test('a hit has all its fields, also in a slot that another one had', async (t) => {
  const ring = createHitRing()
  for (let at = 0; at < 2 * CAPACITY + 5; at++) ring.add(hit(at))
  const newest = [...ring.newest(0)]
  t.equal(newest.length, CAPACITY)
  for (const [step, at] of [
    [0, 2 * CAPACITY + 4],
    [CAPACITY - 1, CAPACITY + 5],
  ] as const) {
    t.strictSame(newest[step], hit(at))
    t.strictSame(ring.find(`id ${at}`), hit(at))
  }
  t.equal(ring.find(`id ${CAPACITY + 4}`), undefined)
})

t.test('a hit that was found keeps its fields when its slot is used again', async (t) => {
  const ring = createHitRing()
  ring.add(hit(0))
  const found = ring.find('id 0')
  for (let at = 1; at <= CAPACITY; at++) ring.add(hit(at))
  t.strictSame(found, hit(0))
})

t.test('fields that a hit does not have are not those of the hit before', async (t) => {
  const ring = createHitRing()
  for (let at = 0; at < CAPACITY; at++) ring.add(hit(at))
  const { path, cacheStatus, errorCode, traceId, rejectedWith, ...bare } = hit(1)
  ring.add(bare)
  const [newest] = ring.newest(0)
  t.match(newest, { ...bare, path: undefined, cacheStatus: undefined, errorCode: undefined })
  t.match(newest, { traceId: undefined, rejectedWith: undefined })
})

t.test('old hits are released', async (t) => {
  const ring = createHitRing()
  const times = () => [...ring.newest(0)].map(({ at }) => at)
  for (let at = 0; at < 10; at++) ring.add(hit(at))
  ring.forget(8)
  t.strictSame(times(), [9, 8])
  ring.add(hit(11))
  t.strictSame(times(), [11, 9, 8])
})
