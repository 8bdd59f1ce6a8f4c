import type { Worker } from 'node:cluster'
import { pino } from 'pino'
import t from 'tap'
import type { ProcessState } from '../../../src/server/messages.ts'
import {
  createSlot,
  isReady,
  killIfSilent,
  MAX_READY_SILENT_SECONDS,
  nextRestartDelay,
  RollingRestart,
  type Slot,
} from '../../../src/server/slot.ts'

t.test('restarts wait longer and longer, up to 30 s, and start over after a minute of service', async (t) => {
  const slot = createSlot(1)
  const delays = Array.from({ length: 11 }, () => nextRestartDelay(slot, 0))
  t.strictSame(delays, [100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000])
  slot.servingSince = 0
  t.equal(nextRestartDelay(slot, 59_999), 30_000)
  t.equal(nextRestartDelay(slot, 60_000), 100)
})

function serving(number: number, pendingRestart: readonly string[], ready = true): Slot {
  return { ...createSlot(number), phase: 'serving', state: { ready, pendingRestart } as unknown as ProcessState }
}

t.test('a rolling restart replaces one process at a time, and only while all are ready', async (t) => {
  const lines: string[] = []
  const log = pino({ base: null }, { write: (line) => void lines.push(JSON.parse(line).msg) })
  const rolling = new RollingRestart()
  const [first, second] = [serving(1, []), serving(2, [])]
  const slots = [first, second]
  const state = (slot: Slot, pendingRestart: readonly string[], ready = true) =>
    Object.assign(slot, serving(slot.number, pendingRestart, ready))
  t.equal(rolling.next(slots, log), undefined)
  state(second, ['listen.processes'])
  t.equal(rolling.next(slots, log), undefined, 'a new number of processes needs a restart of the edge')
  state(first, ['replica.name'], false)
  state(second, ['replica.name'])
  t.equal(rolling.next(slots, log), undefined, 'one process is not ready')
  state(first, ['replica.name'])
  t.equal(rolling.next(slots, log), first)
  first.phase = 'ending'
  t.equal(rolling.next(slots, log), undefined)
  Object.assign(first, createSlot(1), { phase: 'starting', state: undefined })
  t.equal(rolling.next(slots, log), undefined)
  state(first, [], false)
  for (let seconds = 0; seconds < 31; seconds += 1) rolling.tick(slots, log)
  t.equal(rolling.next(slots, log), undefined, 'the new process is not ready yet')
  state(first, [])
  t.equal(rolling.next(slots, log), second)
  state(second, [])
  t.equal(rolling.next(slots, log), undefined)
  t.strictSame(lines, [
    'rolling restart',
    'rolling restart waits until all processes are ready',
    'rolling restart complete',
  ])
})

t.test('a process without a message is killed: after 30 s while it serves, after 120 s while it starts', async (t) => {
  const log = pino({ enabled: false })
  for (const [phase, seconds] of [
    ['serving', 30],
    ['starting', 120],
  ] as const) {
    const signals: string[] = []
    const worker = { process: { kill: (signal: string) => signals.push(signal) } } as unknown as Worker
    const slot: Slot = { ...serving(1, []), phase, worker }
    for (let second = 1; second < seconds; second += 1) killIfSilent(slot, log)
    t.strictSame(signals, [])
    killIfSilent(slot, log)
    t.strictSame(signals, ['SIGKILL'])
    if (phase === 'starting') t.match(slot.failure?.reasons, [/did not open its ports within 120 s; check that/])
  }
  const ending: Slot = { ...serving(1, []), phase: 'ending' }
  for (let second = 1; second < 200; second += 1) killIfSilent(ending, log)
  t.equal(ending.silentSeconds, 0, 'a process that ends has its own limit')
})

t.test('a process that does not respond for some seconds is not ready', async (t) => {
  const slot = serving(1, [])
  slot.silentSeconds = MAX_READY_SILENT_SECONDS - 1
  t.ok(isReady(slot))
  slot.silentSeconds += 1
  t.notOk(isReady(slot))
})
