/** At most one login per account and second, and four of a node at a time. */
import t from 'tap'
import { get } from '../fake-node.ts'
import { as, outcomeOf, problem, startTokenTest } from './v4-node.ts'

function intervals(logins: readonly { readonly at: number }[]): number[] {
  return logins.slice(1).map(({ at }, index) => at - (logins[index]?.at ?? 0))
}

t.test('logins of many users are sent four at a time, without a pause', async (t) => {
  const { node, calls, time } = await startTokenTest(t, { mode: 'passthrough' })
  let [open, most] = [0, 0]
  node.answerLogin = (_, response) => {
    open += 1
    most = Math.max(most, open)
    setTimeout(() => {
      open -= 1
      problem(response, 401, { title: 'Unauthorized', detail: 'Invalid credentials' })
    }, 30)
  }
  const users = Array.from({ length: 12 }, (_, at) => `user-${at}`)
  const work = users.map((user, at) =>
    calls.call({ ...get('/agents', as(user, 'pass')), clientAddress: `client-${at}` }),
  )
  t.same(new Set((await Promise.all(work)).map(outcomeOf)), new Set(['refusedCredentials']))
  t.equal(node.logins.length, 12)
  t.equal(most, 4)
  t.equal(time.now, 0)
})

t.test('tokens that are revoked again and again cause one login a second', async (t) => {
  const { node, calls } = await startTokenTest(t)
  for (let round = 0; round < 5; round += 1) {
    const work = Array.from({ length: 10 }, () => calls.call(get()))
    t.same(new Set((await Promise.all(work)).map(outcomeOf)), new Set([200]))
    node.revoke()
  }
  t.ok(
    intervals(node.logins).every((interval) => interval >= 1000),
    intervals(node.logins).join(' '),
  )
})

t.test('while a node restarts, its answer to the login is that of the calls, with one login a second', async (t) => {
  const { node, calls, time } = await startTokenTest(t)
  const notReady = { title: 'Bad Request', detail: 'Some daemons are not ready yet', error: 1017 }
  node.answerLogin = (_, response) => problem(response, 400, notReady)
  for (let at = 0; at < 30; at += 1) {
    const result = await calls.call(get())
    t.equal(outcomeOf(result), 400)
    if (result.ok) t.match(String(result.response.body), /"error":1017/)
    time.now += 100
  }
  t.equal(node.logins.length, 3)
  t.ok(intervals(node.logins).every((interval) => interval >= 1000))
  node.answerLogin = undefined
  time.now += 1000
  t.equal(outcomeOf(await calls.call(get())), 200)
})

t.test('a node that does not answer a login has failed, not the credentials', async (t) => {
  const { node, calls, time, logged } = await startTokenTest(t)
  node.answerLogin = ({ socket }) => void socket.destroy()
  t.match(await calls.call(get()), { fault: 'unreachable', sent: false })
  t.match(await calls.call(get()), { fault: 'unreachable', sent: false })
  t.equal(node.logins.length, 1)
  t.same(logged, [])
  node.answerLogin = undefined
  time.now += 1001
  t.equal(outcomeOf(await calls.call(get())), 200)
})

t.test('a login whose turn would come after the timeout of its call is rejected at once', async (t) => {
  const { node, calls } = await startTokenTest(t, { mode: 'passthrough' })
  const work = Array.from({ length: 30 }, (_, at) => {
    node.passwords.set(`user-${at}`, 'pass')
    return calls.call({
      ...get('/agents', { ...as(`user-${at}`, 'pass'), timeout: 1_500 }),
      clientAddress: `client-${at}`,
    })
  })
  const results = await Promise.all(work)
  const rejected = results.filter((result) => !result.ok)
  t.ok(rejected.length >= 15, `${rejected.length} rejected`)
  for (const result of rejected) t.match(result, { fault: 'overloaded', sent: false, retryAfter: Number })
})

t.test('a login beyond those that may wait is to come again when these have ended', async (t) => {
  const { node, calls } = await startTokenTest(t, { mode: 'passthrough' })
  const work = Array.from({ length: 100 }, (_, at) => {
    node.passwords.set(`user-${at}`, 'pass')
    return calls.call({ ...get('/agents', as(`user-${at}`, 'pass')), clientAddress: `client-${at}` })
  })
  const rejected = (await Promise.all(work)).flatMap((result) => (result.ok ? [] : [result]))
  t.ok(rejected.length > 0)
  for (const result of rejected) t.match(result, { fault: 'overloaded', reason: 'loginsQueued', retryAfter: 10 })
})
