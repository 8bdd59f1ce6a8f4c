import t from 'tap'
import { oneRunAtATime } from '../../../src/core/one-run-at-a-time.ts'
import { withTimeout } from '../../../src/core/timing.ts'

const never = new Promise<never>(() => {})

t.test('a promise that settles in time gives its outcome', async (t) => {
  t.equal(await withTimeout(Promise.resolve('value'), 1000, 'late'), 'value')
  await t.rejects(withTimeout(Promise.reject(new Error('failed')), 1000, 'late'), /failed/)
})

t.test('a promise that is late gives the value for lateness', async (t) => {
  t.equal(await withTimeout(never, 1, 'late'), 'late')
  t.equal(await withTimeout(never, 0, 'late'), 'late')
  t.equal(await withTimeout(never, -5, 'late'), 'late')
})

t.test('an outcome that arrives while the event loop is blocked beyond the time still counts', async (t) => {
  const { port1, port2 } = new MessageChannel()
  t.teardown(() => port1.close())
  const message = new Promise((resolve) => port2.once('message', resolve))
  const outcome = withTimeout(message, 5, 'late')
  port1.postMessage('in time')
  const until = performance.now() + 30
  while (performance.now() < until);
  t.equal(await outcome, 'in time')
})

t.test('an abort rejects with its reason, also without a time limit', async (t) => {
  const client = new AbortController()
  const waiting = withTimeout(never, Number.POSITIVE_INFINITY, 'late', client.signal)
  client.abort(new Error('left'))
  await t.rejects(waiting, /left/)
  await t.rejects(withTimeout(never, 1000, 'late', client.signal), /left/, 'aborted before')
})

t.test('no listener and no unhandled rejection is left', async (t) => {
  const client = new AbortController()
  let listeners = 0
  const { signal } = client
  const add = signal.addEventListener.bind(signal)
  const remove = signal.removeEventListener.bind(signal)
  signal.addEventListener = (...args: Parameters<typeof add>) => {
    listeners += 1
    add(...args)
  }
  signal.removeEventListener = (...args: Parameters<typeof remove>) => {
    listeners -= 1
    remove(...args)
  }
  await withTimeout(Promise.resolve(), 60_000, undefined, signal)
  await withTimeout(never, 1, undefined, signal)
  t.equal(listeners, 0)
  let fail = (_: Error) => {}
  const failing = new Promise((_, reject) => {
    fail = reject
  })
  t.equal(await withTimeout(failing, 1, 'late'), 'late')
  fail(new Error('too late to matter'))
  // Node reports unhandled rejections before the next turn of the event loop.
  await new Promise((resolve) => setImmediate(resolve))
})

t.test('a call waits for one run that begins after it, however many calls follow', async (t) => {
  let begun = 0
  const run = oneRunAtATime(async () => {
    begun += 1
    await new Promise((resolve) => setImmediate(resolve))
  })
  const first = run()
  const second = run()
  t.equal(run(), second, 'calls during a run share the next one')
  // As heartbeats do that come more often than a run takes.
  let isOver = false
  const more = (async () => {
    while (!isOver && begun < 100) {
      void run()
      await new Promise((resolve) => setImmediate(resolve))
    }
  })()
  await first
  await second
  t.ok(begun >= 2 && begun < 10, `${begun} runs`)
  isOver = true
  await more
  await run()
})
