/** Node time by caller and endpoint. */
import t from 'tap'
import type { NodeCallEvent } from '../../../../src/core/events.ts'
import { requestEvent } from '../../../../test/support/request-event.ts'
import { CallerCounts } from '../../server/caller-counts.ts'
import { ConsoleCosts } from '../../server/costs.ts'

const START = Date.UTC(2026, 0, 1)

function start() {
  let now = START
  let id = 0
  const counts = new CallerCounts(() => now)
  const costs = new ConsoleCosts({ drain: () => undefined }, counts)
  const call = (requestId: string, ms: number, more: Partial<NodeCallEvent> = {}) =>
    counts.nodeCall({
      requestId,
      node: 'master',
      method: 'GET',
      route: '/x',
      ms,
      queueTime: 0,
      status: 200,
      ...more,
    })
  const request = (changes: Parameters<typeof requestEvent>[0] & { readonly calls?: readonly number[] }) => {
    const { calls = [], ...event } = changes
    id += 1
    for (const ms of calls) call(`r${id}`, ms)
    counts.request(requestEvent({ at: now, requestId: `r${id}`, cache: calls.length > 0 ? 'miss' : 'hit', ...event }))
    return `r${id}`
  }
  const pass = (ms: number) => {
    now += ms
  }
  return { costs, call, request, pass }
}

t.test('calls belong to the caller and the endpoint of their request', async (t) => {
  const { costs, call, request, pass } = start()
  request({ caller: 'dashboard', route: '/agents', calls: [100, 50] })
  request({ caller: 'dashboard', route: '/agents' })
  const refreshed = request({ caller: 'report', route: '/rules', cache: 'stale' })
  call(refreshed, 30)
  call('check', 7)
  call('rejected', 0, { fault: 'abandoned', ms: 0 })
  pass(200_000)
  const { total, callers, endpoints, seconds } = costs.read()
  t.equal(seconds, 200)
  t.match(total, { requests: 3, hits: 2, nodeTime: 187 })
  t.match(callers, [
    { caller: 'dashboard', requests: 2, hits: 1, calls: 2, nodeTime: 150 },
    { caller: 'report', requests: 1, hits: 1, calls: 1, nodeTime: 30 },
    { caller: null, nodeTime: 7 },
  ])
  t.match(endpoints[0], { caller: 'dashboard', endpoint: 'GET /agents', calls: 2 })
  pass(900_000)
  t.match(costs.read().total, { requests: 0, calls: 0 }, 'the counts cover ten minutes')
})

t.test('the methods of a route are counted apart, and the same pair in several minutes together', async (t) => {
  const { costs, request, pass } = start()
  for (const method of ['GET', 'PUT', 'GET']) {
    request({ caller: 'dashboard', route: '/agents', method, calls: [10] })
    pass(60_000)
  }
  t.match(costs.read().endpoints, [
    { caller: 'dashboard', endpoint: 'GET /agents', requests: 2, nodeTime: 20 },
    { caller: 'dashboard', endpoint: 'PUT /agents', requests: 1, nodeTime: 10 },
  ])
})

t.test('the counts of other replicas are added, and reports that are not valid are skipped', async (t) => {
  const [here, there] = [start(), start()]
  here.request({ caller: 'scan', calls: [20] })
  there.request({ caller: 'scan', calls: [30] })
  there.request({ caller: 'other', calls: [5] })
  const report = JSON.parse(JSON.stringify(there.costs.report()))
  here.costs.offer([report, undefined, { ...report, callers: [{ caller: 5 }] }])
  t.match(here.costs.read(), {
    replicas: 2,
    total: { calls: 3, nodeTime: 55 },
    callers: [{ caller: 'scan', calls: 2, nodeTime: 50 }, { caller: 'other' }],
  })
  here.costs.offer(undefined)
  t.equal(here.costs.read().replicas, 1)
})

t.test('long names of callers fit in a report', async (t) => {
  const [here, there] = [start(), start()]
  const name = (user: number) => `https://issuer.example/${'r'.repeat(400)}/user-${user}`
  for (let user = 0; user < 40; user += 1) there.request({ caller: name(user), calls: [20 + user] })
  const report = JSON.stringify(there.costs.report())
  t.ok(report.length < 16_384, `${report.length} characters`)
  here.costs.offer([JSON.parse(report)])
  const { replicas, callers } = here.costs.read()
  t.equal(replicas, 2)
  t.match(callers[0], { caller: /^….*\/user-39$/, calls: 1 })
})

t.test('many callers and endpoints cost a limited amount of memory', async (t) => {
  const { costs, request } = start()
  for (let count = 0; count < 3000; count += 1) request({ caller: `caller-${count}`, calls: [1] })
  const { callers, total } = costs.read()
  t.equal(total.calls, 3000)
  t.match(callers[0], { caller: 'others', calls: 1000 })
  t.ok(JSON.stringify(costs.report()).length < 8192)
})
