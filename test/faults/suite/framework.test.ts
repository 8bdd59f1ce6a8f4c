import { type ChildProcess, spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { chaosFaults, longFaults, worstHourFaults } from './chaos-faults.ts'
import { drawPlan } from './chaos-plan.ts'
import { effect, figure, none, runPromise } from './promise.ts'
import { promises } from './registry.ts'
import { type Watched, watchStarvation } from './starvation.ts'

const options = { scale: 1, rate: 10, seed: 1 }

t.test('a promise whose fault had no effect fails', async (t) => {
  t.match(effect('resets', 0, false), { value: 'fault not effective: 0', pass: false })
  t.match(effect('resets', 3, true), { value: '3', pass: true })
  t.match(none('failures', ['502']), { value: '1: 502', pass: false })
})

t.test('a planted run injects no fault, and every part is closed in reverse order', async (t) => {
  const events: string[] = []
  const promise = {
    id: 'R0',
    title: 'a promise',
    planted: 'the fault is not injected',
    run: async (context: Parameters<(typeof promises)[0]['run']>[0]) => {
      for (const name of ['first', 'second']) context.keep({ close: async () => events.push(name) })
      await context.inject(() => events.push('fault'))
      throw new Error('broken')
    },
  }
  await t.rejects(runPromise(promise, options), /broken/)
  await t.rejects(runPromise(promise, { ...options, planted: true }), /broken/)
  t.strictSame(events, ['fault', 'second', 'first', 'second', 'first'])
})

t.test('limits of time are met with the allowance of the run only', async (t) => {
  const run = (allowance: number) =>
    runPromise(
      { id: 'R0', title: '', planted: '', run: async (context) => [context.within('', 150, 100)] },
      { ...options, allowance },
    )
  t.match(await run(0), [{ pass: false }])
  t.match(await run(60), [{ pass: true, limit: '≤ 360 ms' }])
  t.equal(figure('', 1, '0', false).pass, false)
})

t.test('every promise has a unique id and names its planted defect', async (t) => {
  t.equal(new Set(promises.map(({ id }) => id)).size, promises.length)
  for (const { id, planted, title } of promises) t.ok(planted !== '' && title !== '', id)
})

t.test('the seed reproduces the plan of a chaos run, and the plan draws every fault before any twice', async (t) => {
  const names = Object.keys(chaosFaults)
  const plan = drawPlan(names, 7, 600_000)
  t.strictSame(drawPlan(names, 7, 600_000), plan)
  t.notSame(drawPlan(names, 8, 600_000), plan)
  const long = drawPlan(['outage of minutes'], 7, 600_000, { factors: longFaults })
  t.ok(
    long.every(({ ms }) => ms >= 60_000),
    'an outage takes minutes',
  )
  for (const name of Object.keys(longFaults)) t.ok(names.includes(name), name)
  t.strictSame(new Set(plan.slice(0, names.length).map(({ name }) => name)), new Set(names))
})

t.test(
  'a plan of one minute has every fault of the worst hour, and one with a single fault has only this',
  async (t) => {
    const names = Object.keys(chaosFaults)
    const draw = (of: readonly string[]) => drawPlan(of, 7, 60_000, { always: worstHourFaults }).map(({ name }) => name)
    t.strictSame(new Set(draw(names).slice(0, worstHourFaults.length)), new Set(worstHourFaults))
    for (const name of ['Redis full', 'node slow']) t.strictSame(new Set(draw([name])), new Set([name]))
  },
)

t.test(
  'time in which a process has no processor is measured, and time in which it waits for something is not',
  async (t) => {
    const start = (program: string, ...args: string[]): Watched & ChildProcess => {
      const child = spawn(program, args, { stdio: 'ignore' })
      t.teardown(() => child.kill('SIGKILL'))
      return Object.assign(child, { pid: child.pid ?? 0 })
    }
    const sleeping = watchStarvation([start('sleep', '600')])
    const [first] = Array.from({ length: 2 * availableParallelism() }, () => start(process.execPath, '-e', 'for (;;);'))
    const working = watchStarvation(first ? [first] : [])
    t.teardown(() => Promise.all([sleeping.close(), working.close()]))
    const begin = performance.now()
    await eventually(() => working.within(begin, performance.now()) > 1000)
    const end = performance.now()
    t.ok(working.within(begin, end) <= end - begin, 'never more than the time itself')
    t.ok(sleeping.within(begin, end) < working.within(begin, end) / 2)
    t.equal(working.within(begin, begin), 0)
  },
)
