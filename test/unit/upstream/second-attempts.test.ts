/** A late read that several requests share is sent once more, and the first answer counts. */
import { mock } from 'node:test'
import t from 'tap'
import type { NodeResult } from '../../../src/core/node-call.ts'
import type { UpstreamCall } from '../../../src/upstream/call.ts'
import { sendLateAgain } from '../../../src/upstream/second-attempts.ts'
import { get } from './fake-node.ts'

const answer = (body: string): NodeResult => ({
  ok: true,
  response: { node: 'master', status: 200, type: 'application/json', body: Buffer.from(body) },
})
const failure = { ok: false, node: 'master', fault: 'unreadable', sent: true, reason: 'timedOut' } as const

/** A second attempt begins five seconds after the first one has a slot. */
const LATE_MS = 5_000

mock.timers.enable({ apis: ['setTimeout'] })

/** Each attempt waits until the test ends it. It gets its slot after `queueTime` milliseconds. */
function attempts(queueTime = 0) {
  let now = 0
  const sent: { readonly call: UpstreamCall; readonly end: (result: NodeResult) => void }[] = []
  const send = sendLateAgain({ clock: () => now })(
    (call) =>
      new Promise((end) => {
        sent.push({ call, end })
        now += queueTime
        call.onSlot?.(1)
      }),
  )
  const pass = async (ms: number) => {
    now += ms
    mock.timers.tick(ms)
    for (let turn = 0; turn < 5; turn += 1) await null
  }
  return { send, sent, pass, sentTwice: () => pass(LATE_MS) }
}

const shared = () => get('/agents', { isShared: true })

t.test('the second attempt answers, and the first one ends', async (t) => {
  const { send, sent, sentTwice } = attempts()
  const result = send(shared())
  await sentTwice()
  sent[1]?.end(answer('second'))
  t.same(await result, answer('second'))
  t.ok(sent[0]?.call.signal.aborted)
})

t.test('if one attempt fails, the other one counts; if both do, the first failure', async (t) => {
  for (const [first, second, expected] of [
    [failure, answer('second'), answer('second')],
    [answer('first'), failure, answer('first')],
    [failure, { ...failure, reason: 'notHttp' }, failure],
  ] as const) {
    const { send, sent, sentTwice } = attempts()
    const result = send(shared())
    await sentTwice()
    sent[0]?.end(first)
    await null
    sent[1]?.end(second)
    t.same(await result, expected)
  }
})

t.test('no client waits longer than for the first attempt', async (t) => {
  const { send, sent, sentTwice } = attempts()
  const result = send(shared())
  await sentTwice()
  const late = { ...failure, fault: 'timeout' as const }
  sent[0]?.end(late)
  t.same(await result, late)
  t.ok(sent[1]?.call.signal.aborted)
})

t.test('the second attempt has the time that is left', async (t) => {
  const { send, sent, sentTwice } = attempts(1_000)
  const result = send({ ...shared(), timeout: 20_000 })
  await sentTwice()
  t.equal(sent[1]?.call.timeout, 14_000)
  sent[0]?.end(failure)
  sent[1]?.end(failure)
  await result
})

t.test('a second attempt that is held back does not end the first one', async (t) => {
  for (const fault of ['timeout', 'overloaded', 'ejected'] as const) {
    const { send, sent, sentTwice } = attempts()
    const result = send(shared())
    await sentTwice()
    sent[1]?.end({ ok: false, node: 'master', fault, sent: false, reason: 'closing' })
    await null
    sent[0]?.end(answer('first'))
    t.same(await result, answer('first'), fault)
  }
})

t.test('a client that leaves ends both attempts', async (t) => {
  const { send, sent, sentTwice } = attempts()
  const client = new AbortController()
  const result = send({ ...shared(), signal: client.signal })
  await sentTwice()
  client.abort()
  t.ok(sent.every(({ call }) => call.signal.aborted))
  for (const { end } of sent) end(failure)
  await result
})

t.test('writes, reads of one client and of the database of an agent are sent once', async (t) => {
  for (const call of [get('/agents'), { ...shared(), retryable: false }, { ...shared(), agentData: '001' }]) {
    const { send, sent, pass } = attempts()
    const result = send(call)
    await pass(2 * LATE_MS)
    t.equal(sent.length, 1)
    sent[0]?.end(failure)
    t.same(await result, failure)
  }
})

t.test('at most 2 % of the calls are sent again, after the first one', async (t) => {
  const { send, sent, pass } = attempts()
  for (let count = 0; count < 100; count += 1) {
    const before = sent.length
    const result = send(shared())
    await pass(LATE_MS)
    for (const { end } of sent.slice(before)) end(answer(''))
    await result
  }
  t.ok(sent.length >= 101 && sent.length <= 103, `${sent.length}`)
})
