/** A node that is slower than usual altogether gets less at once, before calls time out; a mixture that shifts does not. */
import t from 'tap'
import type { Deadline } from '../../../src/core/timing.ts'
import { Gate, type Visitor } from '../../../src/upstream/limiter.ts'

const names = ['agents', 'rules', 'logs', 'info', 'sca']
const usual = [200, 300, 400, 250, 1_000]

function node() {
  let now = 0
  const gate = new Gate({ inFlight: 4, queue: 10, perCaller: 4 }, () => now)
  const signal = new AbortController().signal
  const deadline: Deadline = { signal, remaining: () => 60_000, fault: () => 'timeout', end: () => undefined }
  const call = async (endpoint: string, took: number, expect: Visitor['expect'] = 'bytes') => {
    const visitor: Visitor = { priority: 'interactive', caller: 'ann', endpoint, expect }
    await gate.enter(visitor, deadline)
    const began = now
    now += took
    gate.leave(visitor, began, 'answered')
  }
  const round = async (factor: number) => {
    for (const [i, name] of names.entries()) await call(name, (usual[i] ?? 0) * factor)
  }
  return { gate, call, round }
}

t.test('everything twenty times slower: less and less at once, never none; usual again: all of it', async (t) => {
  const { gate, round } = node()
  for (let i = 0; i < 10; i += 1) await round(1)
  t.equal(gate.limit, 4)
  const limits: number[] = []
  for (let i = 0; i < 4; i += 1) {
    await round(20)
    limits.push(gate.limit)
  }
  t.ok((limits.at(-1) ?? 4) <= 2, limits.join(' '))
  t.ok((limits.at(-1) ?? 0) >= 1)
  for (let i = 0; i < 4; i += 1) await round(1)
  t.equal(gate.limit, 4)
})

t.test('four calls that share one processor take four times as long each: nothing is cut', async (t) => {
  const { gate, round } = node()
  for (let i = 0; i < 10; i += 1) await round(1)
  for (let i = 0; i < 10; i += 1) await round(3.9)
  t.equal(gate.limit, 4)
})

t.test('now only slow endpoints, then only quick ones: nothing is cut', async (t) => {
  const { gate, call, round } = node()
  for (let i = 0; i < 4; i += 1) await round(1)
  for (let i = 0; i < 20; i += 1) await call('upgrade result', 16_000)
  for (let i = 0; i < 20; i += 1) await call('agents', 200)
  for (let i = 0; i < 20; i += 1) await call('upgrade result', 16_000)
  t.equal(gate.limit, 4)
})

t.test('one endpoint that becomes slow, or files that slow clients take, say nothing of the node', async (t) => {
  const { gate, call, round } = node()
  for (let i = 0; i < 10; i += 1) await round(1)
  for (let i = 0; i < 40; i += 1) await call('logs', 40_000)
  for (const name of [...names, ...names, ...names]) await call(name, 90_000, 'stream')
  t.equal(gate.limit, 4)
})
