/** A slowdown of the whole node lowers its limit before calls time out; a changing mixture of calls does not. */
import t from 'tap'
import type { Deadline } from '../../../src/core/timing.ts'
import type { LimitedCall } from '../../../src/upstream/limiter.ts'
import { createLimiter } from './limiter-simulation.ts'

const names = ['agents', 'rules', 'logs', 'info', 'sca']
const expectedMs = [200, 300, 400, 250, 1_000]

function simulateNode() {
  let now = 0
  const limiter = createLimiter(
    () => ({ inFlight: 4, queue: 10, perCaller: 4 }),
    () => now,
  )
  const signal = new AbortController().signal
  const deadline: Deadline = {
    signal,
    remaining: () => 60_000,
    fault: () => 'timeout',
    expire: () => undefined,
    end: () => undefined,
  }
  const call = async (endpoint: string, elapsed: number, expect: LimitedCall['expect'] = 'bytes') => {
    const call: LimitedCall = { priority: 'interactive', caller: 'ann', endpoint, expect }
    await limiter.acquire(call, deadline)
    const start = now
    now += elapsed
    limiter.release(call, start, 'success')
  }
  const round = async (factor: number) => {
    for (const [i, name] of names.entries()) await call(name, (expectedMs[i] ?? 0) * factor)
  }
  return { limiter, call, round }
}

t.test('if all calls take 20 times longer, the limit falls to at least 1; it recovers with the latency', async (t) => {
  const { limiter, round } = simulateNode()
  for (let i = 0; i < 10; i += 1) await round(1)
  t.equal(limiter.limit, 4)
  const limits: number[] = []
  for (let i = 0; i < 4; i += 1) {
    await round(20)
    limits.push(limiter.limit)
  }
  t.ok((limits.at(-1) ?? 4) <= 2, limits.join(' '))
  t.ok((limits.at(-1) ?? 0) >= 1)
  for (let i = 0; i < 4; i += 1) await round(1)
  t.equal(limiter.limit, 4)
})

t.test('four calls that share one processor take four times longer: the limit stays', async (t) => {
  const { limiter, round } = simulateNode()
  for (let i = 0; i < 10; i += 1) await round(1)
  for (let i = 0; i < 10; i += 1) await round(3.9)
  t.equal(limiter.limit, 4)
})

t.test('only slow endpoints, then only fast ones: the limit stays', async (t) => {
  const { limiter, call, round } = simulateNode()
  for (let i = 0; i < 4; i += 1) await round(1)
  for (let i = 0; i < 20; i += 1) await call('upgrade result', 16_000)
  for (let i = 0; i < 20; i += 1) await call('agents', 200)
  for (let i = 0; i < 20; i += 1) await call('upgrade result', 16_000)
  t.equal(limiter.limit, 4)
})

t.test('one endpoint that becomes slow, or files for slow clients: the limit stays', async (t) => {
  const { limiter, call, round } = simulateNode()
  for (let i = 0; i < 10; i += 1) await round(1)
  for (let i = 0; i < 40; i += 1) await call('logs', 40_000)
  for (const name of [...names, ...names, ...names]) await call(name, 90_000, 'stream')
  t.equal(limiter.limit, 4)
})
