/** The reports that replicas exchange. */
import t from 'tap'
import { Replicas } from '../../../src/status/replicas.ts'

t.test('oversized report: with 200 nodes and full parts, the others see the replica', async (t) => {
  const names = Array.from({ length: 201 }, (_, at) => `manager-worker-${at}.security`)
  const lastFailure = { fault: 'unreachable', detail: `connect ECONNREFUSED ${'x'.repeat(100)}`, ago: 5 }
  const full = { report: () => 'x'.repeat(4000), offer: () => undefined }
  const self = {
    name: 'one',
    version: '1.0.0',
    ready: () => true,
    draining: () => false,
    contact: () => ({
      failing: names.map((node) => ({ node, ago: 1234.123456789 })),
      answered: names.map((node) => ({ node, ago: 1234.123456789 })),
    }),
    local: () => undefined,
    rates: () => ({ perSecond: 0, callsPerSecond: 0, savedPerSecond: 0, failuresPerSecond: 0 }),
    nodes: () => names.map((name) => ({ name, state: 'ejected' as const, inFlight: 10, limit: 64, lastFailure })),
    joined: () => [{ ago: 0, route: '/agents', ms: 1, nodes: names.map((node) => ({ node, rows: 5 })) }],
    nodeList: { lastRead: () => ({ text: 'x'.repeat(8000) }), offer: () => undefined },
    costs: { ...full, report: () => 'x'.repeat(16_000) },
    events: full,
    settings: { ...full, report: () => 'x'.repeat(8000) },
  }
  let length = 0
  const replicas = new Replicas(async (text) => {
    length = text.length
    return [{ text, ago: 0 }]
  })
  t.teardown(() => replicas.stop())
  replicas.report(self)
  replicas.add(self)
  replicas.publish()
  await new Promise((resolve) => setImmediate(resolve))
  t.ok(length > 32_768 && length <= 65_536, `${length} characters`)
  const [other] = replicas.others() ?? []
  t.equal(other?.nodes.length, 200)
  t.ok(Number(other?.answered?.length) > 100)
})

t.test('the clock of another replica is compared through the time since its report', async (t) => {
  const nothing = { report: () => undefined, offer: () => undefined }
  const self = {
    name: 'one',
    version: '1.0.0',
    ready: () => true,
    draining: () => false,
    contact: () => ({}),
    local: () => undefined,
    rates: () => ({ perSecond: 0, callsPerSecond: 0, savedPerSecond: 0, failuresPerSecond: 0 }),
    nodes: () => [],
    joined: () => [],
    nodeList: { lastRead: () => undefined, offer: () => undefined },
    costs: nothing,
    settings: nothing,
    events: nothing,
  }
  const replicas = new Replicas(async (text) => {
    const report = JSON.parse(text)
    const { wall, ...older } = report
    // Reports of 20 s ago, by the time of Redis: one clock is right, one an hour ahead, and one release reports none.
    return [wall - 20_000, wall + 3_580_000]
      .map((time, at) => ({ text: JSON.stringify({ ...report, name: `${at}`, wall: time }), ago: 20_000 }))
      .concat({ text: JSON.stringify({ ...older, name: '2' }), ago: 0 })
  })
  t.teardown(() => replicas.stop())
  replicas.report(self)
  replicas.add(self)
  replicas.publish()
  await new Promise((resolve) => setImmediate(resolve))
  const [right = 1e9, ahead = 0, none] = (replicas.others() ?? []).map(({ clockAhead }) => clockAhead)
  t.ok(Math.abs(right) < 1_000, `${right} ms`)
  t.ok(Math.abs(ahead - 3_600_000) < 1_000, `${ahead} ms`)
  t.equal(none, undefined)
})
