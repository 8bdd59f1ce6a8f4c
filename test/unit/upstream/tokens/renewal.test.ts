/** A token is renewed before it ends, and calls never wait for that. */
import t from 'tap'
import { eventually } from '../../../support/eventually.ts'
import { get } from '../fake-node.ts'
import { outcomeOf, startTokenTest } from './v4-node.ts'

t.test('after 80 % of its lifetime a token is renewed while calls use the old one', async (t) => {
  const { node, calls, time } = await startTokenTest(t)
  await calls.call(get())
  time.now = 719_999
  await calls.call(get())
  t.equal(node.logins.length, 1)
  time.now = 720_001
  const answer: { send?: () => void } = {}
  node.answerLogin = (_, response) => {
    answer.send = () => response.destroy()
  }
  t.equal(outcomeOf(await calls.call(get())), 200, 'while the login hangs')
  await eventually(() => answer.send !== undefined)
  node.answerLogin = undefined
  answer.send?.()
  await eventually(async () => {
    time.now += 1_000
    await calls.call(get())
    return new Set(node.calls.map(({ token }) => token)).size === 2
  })
  t.equal(node.logins.filter(({ accepted }) => accepted).length, 2)
})

t.test('after its lifetime a token is not sent any more', async (t) => {
  const { node, calls, time } = await startTokenTest(t)
  await calls.call(get())
  time.now = 900_001
  t.equal(outcomeOf(await calls.call(get())), 200)
  t.equal(node.logins.length, 2)
  t.equal(node.headers.length, 2, 'no call was refused')
})

t.test('the lifetime is that of the clock of the node, whatever the time is here', async (t) => {
  const { node, calls, time } = await startTokenTest(t)
  node.clockOffset = -86_400
  for (const now of [0, 100_000, 700_000]) {
    time.now = now
    t.equal(outcomeOf(await calls.call(get())), 200)
  }
  t.equal(node.logins.length, 1)
})

t.test('a renewal that the node refuses ends the old token', async (t) => {
  const { node, calls, time } = await startTokenTest(t)
  await calls.call(get())
  node.passwords.set('edge', 'changed')
  time.now = 800_000
  await calls.call(get())
  await eventually(async () => outcomeOf(await calls.call(get())) === 'refusedCredentials')
  t.equal(node.logins.length, 2)
})
