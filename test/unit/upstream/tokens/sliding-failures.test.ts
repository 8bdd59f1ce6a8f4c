/**
 * Release 5.0 adds up wrong logins for as long as logins come less than 300 s apart, right ones included, and refuses an
 * address after 50. It counts logins that are in flight, so the edge sends one at a time.
 */
import t from 'tap'
import { get } from '../fake-node.ts'
import { as, outcomeOf, problem, startTokenTest } from './v4-node.ts'

t.test('logins of many users are sent one after the other', async (t) => {
  const test = await startTokenTest(t, { mode: 'passthrough' })
  const { node, calls } = test
  test.release = '5.0.0'
  let [open, most] = [0, 0]
  node.answerLogin = (_, response) => {
    open += 1
    most = Math.max(most, open)
    setTimeout(() => {
      open -= 1
      problem(response, 500, { title: 'Internal Server Error', detail: 'busy' })
    }, 10)
  }
  const users = Array.from({ length: 6 }, (_, at) => `user-${at}`)
  await Promise.all(
    users.map((user, at) => calls.call({ ...get('/agents', as(user, 'pass')), clientAddress: `client-${at}` })),
  )
  t.equal(node.logins.length, 6)
  t.equal(most, 1)
})

/** Sends a wrong login each minute, and a right one after each. Returns the highest count of a node that counts as release 5.0. */
async function highestCountIn(minutes: number, release: string): Promise<number> {
  const test = await startTokenTest(t, { mode: 'passthrough' })
  const { node, calls, time } = test
  test.release = release
  for (let minute = 0; minute < minutes; minute += 1) {
    await calls.call({ ...get('/agents', as(`wrong-${minute}`, 'pass')), clientAddress: `client-${minute}` })
    node.passwords.set(`right-${minute}`, 'pass')
    await calls.call({ ...get('/agents', as(`right-${minute}`, 'pass')), clientAddress: `desk-${minute}` })
    time.now += 60_000
  }
  let [count, highest, last] = [0, 0, 0]
  for (const { accepted, at } of node.logins) {
    if (at - last >= 300_000) count = 0
    if (!accepted) count += 1
    highest = Math.max(highest, count)
    last = at
  }
  return highest
}

t.test('wrong logins add up while right ones come, as the node counts them', async (t) => {
  const before = await highestCountIn(60, '4.5.4')
  t.ok(before > 50, `${before}: with the rules of earlier releases the address would be blocked`)
  const highest = await highestCountIn(60, '5.0.0')
  t.ok(highest > 20 && highest < 50, `${highest}`)
})

t.test('without a login for 300 s the count starts again', async (t) => {
  const test = await startTokenTest(t, { mode: 'passthrough' })
  const { node, calls, time } = test
  test.release = '5.0.0'
  const logIn = (at: number) =>
    calls.call({ ...get('/agents', as(`user-${at}`, 'pass')), clientAddress: `client-${at}` })
  let at = 0
  while (outcomeOf(await logIn(at)) !== 'loginsBlocked' || time.now < 0) {
    at += 1
    time.now += 61_000 / 8
    if (at > 100) return void t.fail('never blocked')
  }
  const before = node.logins.length
  time.now += 301_000
  t.equal(outcomeOf(await logIn(200)), 'refusedCredentials')
  t.equal(node.logins.length, before + 1)
})

t.test('at most eight wrong logins a minute are sent', async (t) => {
  const test = await startTokenTest(t, { mode: 'passthrough' })
  const { node, calls } = test
  test.release = '5.0.0'
  for (let at = 0; at < 20; at += 1)
    await calls.call({ ...get('/agents', as(`user-${at}`, 'pass')), clientAddress: `client-${at}` })
  t.equal(node.logins.length, 8)
})
