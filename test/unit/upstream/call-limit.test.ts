/** The limit of calls in flight falls only if more calls at once bring no more answers (`npm run bench:limits`: all rows). */
import t from 'tap'
import { CallLimit } from '../../../src/upstream/call-limit.ts'
import { compare, type Row } from './limit-rows.ts'

const rows: readonly Row[] = [
  { kind: 'steady', time: 5_000, workers: 1 },
  { kind: 'slowed', time: 5_000, workers: 8 },
  { kind: 'pauses', time: 5_000, workers: 4 },
  { kind: 'stuck', time: 5_000, workers: 8 },
  { kind: 'refuses', time: 5_000, workers: 4 },
]

for (const row of rows) {
  t.test(`${row.kind}: ${row.time} ms per call, ${row.workers} at full speed`, async (t) => {
    const { best, rule, passes } = await compare(row, 0.15)
    t.ok(passes, `${rule.rate} answers per second, the best fixed limit ${best.rate}`)
  })
}

t.test('one of three endpoints that hangs or refuses takes no slots from the others', (t) => {
  const limit = new CallLimit(8)
  for (let now = 0; now < 100; now += 1) {
    for (const endpoint of ['agents', 'rules']) limit.recordAnswer(endpoint)
    limit.recordOverload('logs', { start: now, now, inFlight: 8 }, now % 2 === 0 ? 'late' : 'tooMany')
  }
  t.equal(limit.value, 8)
  t.end()
})

t.test('after signs of several endpoints, answers raise the limit, the later the more often it fell', (t) => {
  const limit = new CallLimit(8)
  const answersUntil = (value: number) => {
    let count = 0
    for (; limit.value < value; count += 1) limit.recordAnswer('agents')
    return count
  }
  limit.recordOverload('agents', { start: 0, now: 10, inFlight: 8 }, 'late')
  limit.recordOverload('rules', { start: 5, now: 11, inFlight: 7 }, 'late')
  t.equal(limit.value, 5, 'calls of before the cut do not count')
  const first = answersUntil(8)
  limit.recordOverload('agents', { start: 20, now: 30, inFlight: 8 }, 'late')
  const second = answersUntil(8)
  t.ok(second > first * 2, `${first}, ${second}`)
  t.end()
})
