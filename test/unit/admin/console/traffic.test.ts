import t from 'tap'
import { createTail } from '../../../../src/admin/console/live-tail.ts'
import { createTraffic } from '../../../../src/admin/console/traffic.ts'
import type { CacheOutcome, RequestEvent } from '../../../../src/core/events.ts'

const answered = (cache: CacheOutcome, ms: number, over: Partial<RequestEvent> = {}): RequestEvent => ({
  requestId: 'id',
  method: 'GET',
  route: '/agents',
  group: 'agents',
  status: 200,
  ms,
  bytes: 100,
  cache,
  fetchTime: undefined,
  caller: 'admin',
  client: '127.0.0.1',
  ...over,
})

t.test('rates, totals and points are what was told', async (t) => {
  let now = 1_000_000
  const traffic = createTraffic(() => now)
  t.strictSame(traffic.rates(), { perSecond: 0, callsPerSecond: 0, savedPerSecond: 0, failuresPerSecond: 0 })
  for (let second = 0; second < 10; second++) {
    for (let at = 0; at < 3; at++) traffic.request(answered('hit', 2, { fetchTime: 300 }))
    traffic.request(answered('miss', 300))
    traffic.nodeCall({ requestId: 'id', node: 'master', method: 'GET', route: '/agents', ms: 290, queueTime: 0 })
    now += 1000
  }
  const rates = traffic.rates()
  t.match(rates, { perSecond: 4, callsPerSecond: 1, failuresPerSecond: 0, hitRatio: 0.75 })
  t.equal(Math.round(rates.savedPerSecond), 3 * 298)
  t.ok(Math.abs((rates.p50 ?? 0) - 2) < 0.5, `p50 ${rates.p50}`)
  t.ok(Math.abs((rates.p99 ?? 0) - 300) < 75, `p99 ${rates.p99}`)
  t.strictSame(traffic.totals(), { requests: 40, hits: 30, cacheable: 40, calls: 10, saved: 30 * 298, failures: 0 })
  t.strictSame(traffic.group('agents'), { hits: 30, misses: 10 })

  now += 60_000
  t.equal(traffic.rates().perSecond, 0, 'what was a minute ago is not now')
  const { at, perSecond, hitRatio } = traffic.history()
  t.equal(at.length, 360)
  t.equal(perSecond.length, 360)
  t.equal(
    perSecond.reduce<number>((sum, value) => sum + (value ?? 0) * 10, 0),
    40,
    'but it is in the last hour',
  )
  t.equal(perSecond[0], null, 'of the time before the start nothing is known')
  t.equal(hitRatio.filter((value) => value !== null).length, 1)
  now += 3_600_000
  t.ok(traffic.history().perSecond.every((value) => value === 0))

  traffic.nodeCall({
    requestId: 'x',
    node: 'worker',
    method: 'GET',
    route: '/agents',
    ms: 50,
    queueTime: 0,
    fault: 'timeout',
  })
  t.match(traffic.node('worker'), { calls: 1, errors: 1 })
  now += 6 * 60_000
  t.match(traffic.node('worker'), { calls: 0, errors: 0, p50: undefined })
})

t.test('who watches gets what matches, and no more than can be taken', async (t) => {
  const tail = createTail(() => 5)
  t.teardown(() => tail.close())
  const seen: string[] = []
  let skipped = 0
  let takes = true
  const end = tail.watch({ status: '5xx', endpoint: '/rules', user: 'ADM', node: 'mas', cache: 'miss' }, (batch) => {
    if (!takes) return false
    seen.push(...batch.lines.map(({ id, node }) => `${id} ${node}`))
    skipped += batch.skipped
    return true
  })
  const good = { route: '/rules', status: 503 }
  tail.called({ requestId: 'a', node: 'master', method: 'GET', route: '/rules', ms: 1, queueTime: 0 })
  tail.request(answered('miss', 1, { ...good, requestId: 'a' }))
  tail.request(answered('miss', 1, { ...good, requestId: 'no node' }))
  tail.called({ requestId: 'b', node: 'master', method: 'GET', route: '/rules', ms: 1, queueTime: 0 })
  tail.request(answered('miss', 1, { ...good, status: 200, requestId: 'b' }))
  await new Promise((resolve) => setTimeout(resolve, 400))
  t.strictSame(seen, ['a master'])

  takes = false
  for (let at = 0; at < 150; at++) {
    tail.called({ requestId: `c${at}`, node: 'master', method: 'GET', route: '/rules', ms: 1, queueTime: 0 })
    tail.request(answered('miss', 1, { ...good, requestId: `c${at}` }))
  }
  await new Promise((resolve) => setTimeout(resolve, 400))
  takes = true
  tail.called({ requestId: 'd', node: 'master', method: 'GET', route: '/rules', ms: 1, queueTime: 0 })
  tail.request(answered('miss', 1, { ...good, requestId: 'd' }))
  await new Promise((resolve) => setTimeout(resolve, 400))
  t.strictSame(seen, ['a master', 'd master'])
  t.equal(skipped, 150, 'what was lost is told')
  end?.()

  const many = Array.from({ length: 30 }, () => tail.watch({}, () => true))
  t.equal(many.filter((each) => each === undefined).length, 10, 'so many watch and no more')
})
