/** Bulk calls are rejected after half of their timeout also while no call of the node ends, so that nothing moves the queue. */
import { mock } from 'node:test'
import t from 'tap'
import type { LimitedCall } from '../../../src/upstream/flows.ts'
import { Agenda, clientCall, createLimiter, deadlineIn, settled } from './limiter-simulation.ts'

const TIMEOUT_MS = 20_000
/** The usual time of a call. */
const TAKES_MS = 3_000

mock.timers.enable({ apis: ['setTimeout'] })

/** A node that has answered one call of 3 s, and holds the next one for good. */
async function hungNode() {
  let now = 0
  const limits = { inFlight: 1, queue: 256 }
  const clock = () => now
  const limiter = createLimiter(() => limits, clock)
  const agenda = new Agenda()
  const pass = async (ms: number) => {
    now += ms
    mock.timers.tick(ms)
    await settled()
  }
  /** Returns when the call was answered, with what, and after how many milliseconds; none yet: an empty list. */
  const send = (flow: string, more: Partial<LimitedCall> = {}, timeout = TIMEOUT_MS) => {
    const arrival = now
    const ends: (readonly [string, number])[] = []
    const call = clientCall(flow, more)
    void Promise.resolve(limiter.acquire(call, deadlineIn(timeout, clock, agenda))).then((result) => {
      ends.push([result.ok ? 'sent' : result.reason, now - arrival])
    })
    return { call, ends }
  }
  const first = send('bob 10.0.0.1 1')
  await pass(TAKES_MS)
  limiter.release(first.call, 0, 'success')
  send('bob 10.0.0.1 1')
  await settled()
  return { send, pass }
}

t.test('a bulk call that is queued for half of its timeout', async (t) => {
  const { send, pass } = await hungNode()
  const { ends } = send('ann 10.0.0.1 1', { priority: 'bulk' })
  await pass(TIMEOUT_MS / 2)
  t.same(ends, [])
  await pass(1)
  t.match(ends, [['tooMuchBulk', TIMEOUT_MS / 2 + 1]])
})

t.test('a call whose flow becomes bulk after that time', async (t) => {
  const { send, pass } = await hungNode()
  const { ends } = send('ann 10.0.0.1 1')
  await pass(TIMEOUT_MS * 0.6)
  t.same(ends, [], 'it is not bulk')
  // The client ignores that its other calls are rejected.
  for (const _ of [1, 2]) send('ann 10.0.0.1 1', {}, 100)
  await settled()
  t.match(ends, [['tooMuchBulk', TIMEOUT_MS * 0.6]])
})

t.test('a call without a timeout waits', async (t) => {
  const { send, pass } = await hungNode()
  const { ends } = send('ann 10.0.0.1 1', { priority: 'bulk' }, Number.POSITIVE_INFINITY)
  await pass(10 * TIMEOUT_MS)
  t.same(ends, [])
})
