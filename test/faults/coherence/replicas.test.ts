import t, { type Test } from 'tap'
import { IMPATIENT, ofSnapshots, worstHourPlanted } from './planted.ts'
import { describe, type Report, type RunOptions, run } from './run.ts'

const seed = Date.now() % 1_000_000

function assertCoherent(t: Test, report: Report): void {
  t.comment(`seed ${seed}\n${describe(report)}`)
  t.same(report.violations.slice(0, 5), [], `seed ${seed}`)
  t.same(report.wrongWrites, [], 'a refused write was not sent, and no write twice')
}

/** For a run with a planted fault. */
function assertFound(t: Test, report: Report): void {
  t.comment(`seed ${seed}\n${describe(report)}`)
  t.ok(report.violations.length > 0, `seed ${seed}`)
}

t.test('three replicas never return an old value while replicas and Redis are paused and killed', async (t) => {
  const report = await run({ operations: 1000, seconds: 30, seed, chaos: true })
  assertCoherent(t, report)
  t.ok(report.reads > 200, 'reads are answered')
  t.ok(report.hits > 0, 'some reads are cache hits')
})

t.test('no client of either contract gets an old value while replicas and Redis are paused and killed', async (t) => {
  const report = await run({ operations: 1000, seconds: 30, seed, chaos: true, contracts: 'both' })
  assertCoherent(t, report)
  t.ok(report.reads > 200, 'reads are answered')
  t.ok(report.hits > 0, 'some reads are cache hits')
})

t.test('no response that is computed from a snapshot is old', async (t) => {
  const until: RunOptions['until'] = ({ derived }) => derived > 5
  const report = await run({ operations: 1000, seconds: 120, seed, chaos: true, reads: 'snapshots', until })
  assertCoherent(t, report)
  t.ok(report.derived > 5, `${report.derived} of ${report.reads} reads were computed from snapshots`)
})

t.test('two replicas never return an old value while single links have faults', async (t) => {
  const report = await run({ operations: 1000, seconds: 30, seed, replicas: 2, chaos: false, links: true })
  assertCoherent(t, report)
  t.ok(
    report.linkEffects.some(({ affected }) => affected > 0),
    'a link had a fault',
  )
  t.ok(report.hits > 0, 'some reads are cache hits')
})

for (const contracts of ['v3', 'both'] as const) {
  t.test(`only reads marked detail=without-redis are old in the worst hour, contracts: ${contracts}`, async (t) => {
    // The faults are drawn at random, and both kinds of reads must be tried.
    const until: RunOptions['until'] = ({ inOutage, withoutRedis }) => inOutage > 0 && withoutRedis > 0
    const report = await run({ operations: 6000, seconds: 180, seed, chaos: true, worstHour: true, contracts, until })
    assertCoherent(t, report)
    t.ok(report.inOutage > 0, 'reads are served in an outage')
    t.ok(report.withoutRedis > 0, 'and without Redis')
  })
}

t.test(
  'computed reads are marked while Redis is unreachable, and no older than the writes of their replica',
  async (t) => {
    const until: RunOptions['until'] = ({ derivedWithoutRedis }) => derivedWithoutRedis > 5
    const options = { seed, chaos: 'Redis stalled', worstHour: true, reads: 'snapshots', until } as const
    const report = await run({ operations: 500, seconds: 180, ...options })
    assertCoherent(t, report)
    t.ok(report.derivedWithoutRedis > 5, 'some reads are computed without Redis')
  },
)

for (const [fault, where] of Object.entries(worstHourPlanted)) {
  t.test(`the check finds the violations with: ${fault}`, async (t) => {
    const reads = ofSnapshots.includes(fault) ? 'snapshots' : 'registers'
    const options = {
      operations: 50_000,
      seconds: 60,
      seed,
      replicas: 2,
      chaos: false,
      fault,
      reads,
      worstHour: true,
    } as const
    const report = await run({ ...options, ...where })
    assertFound(t, report)
  })
}

for (const withoutRedis of ['call', 'stale'] as const) {
  t.test(`one of two replicas cannot reach Redis: only reads that say so are old, ${withoutRedis}`, async (t) => {
    const until: RunOptions['until'] = (counted) => withoutRedis === 'call' || counted.withoutRedis > 0
    const fault = { links: 'partition', withoutRedis, worstHour: true, chaos: false, until } as const
    const report = await run({ operations: 1000, seconds: 120, seed, replicas: 2, ...fault })
    assertCoherent(t, report)
    t.ok(
      report.linkEffects.every(({ affected }) => affected > 0),
      'each replica lost Redis',
    )
    t.equal(report.withoutRedis > 0, withoutRedis === 'stale', 'reads without Redis')
  })
}

t.test('the check finds a writer that does not wait for Redis over its slow link', async (t) => {
  const options = { replicas: 2, chaos: false, fault: IMPATIENT, links: 'latency' }
  const report = await run({ operations: 50_000, seconds: 60, seed, ...options })
  assertFound(t, report)
  t.ok(
    report.linkEffects.some(({ affected }) => affected > 0),
    'a link was slow',
  )
})

for (const [fault, contracts] of [
  ['no fence', 'v3'],
  ['no fence', 'both'],
  ['no epochs', 'v3'],
  ['no epochs', 'both'],
  ['no bypass', 'v3'],
  ['no snapshot epochs', 'v3'],
] as const) {
  t.test(`the check finds the violations with: ${fault}, contracts: ${contracts}`, async (t) => {
    const reads = ofSnapshots.includes(fault) ? 'snapshots' : 'registers'
    const report = await run({
      operations: 5000,
      seconds: 15,
      seed,
      replicas: 2,
      chaos: false,
      fault,
      reads,
      contracts,
    })
    assertFound(t, report)
  })
}
