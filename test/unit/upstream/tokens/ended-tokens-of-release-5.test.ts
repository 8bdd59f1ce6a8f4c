/** Release 5.0 answers ten calls a minute whose token has ended. If all tokens end past the edge, few of them are tried. */
import t, { type Test } from 'tap'
import { get } from '../fake-node.ts'
import { as, outcomeOf, startTokenTest } from './v4-node.ts'

const USERS = Array.from({ length: 12 }, (_, at) => `user-${at}`)

async function start(t: Test, release: string) {
  const test = await startTokenTest(t, { mode: 'passthrough' })
  test.release = release
  const { node, calls, time } = test
  for (const user of USERS) node.passwords.set(user, 'pass')
  const read = async (user: string) => outcomeOf(await calls.call({ ...get('/agents', as(user, 'pass')) }))
  for (const user of USERS) t.equal(await read(user), 200)
  time.now += 10_000
  /** Calls with a token that has ended. */
  const refused = () => node.headers.length - node.calls.length
  return { node, time, read, refused }
}

t.test('tokens of all users have ended', async (t) => {
  const { node, read, refused } = await start(t, '5.0.0')
  node.revoke()
  for (const user of USERS) t.equal(await read(user), 200)
  t.equal(refused(), 3)
  t.equal(node.logins.length, 2 * USERS.length)
})

t.test('a few tokens that end one by one end no others', async (t) => {
  const { node, time, read, refused } = await start(t, '5.0.0')
  for (const user of USERS.slice(0, 4)) {
    node.revoke(user)
    t.equal(await read(user), 200)
    time.now += 31_000
  }
  for (const user of USERS) t.equal(await read(user), 200)
  t.equal(refused(), 4)
  t.equal(node.logins.length, USERS.length + 4)
})

t.test('in releases 4, whose limit does not depend on tokens, each token is tried', async (t) => {
  const { node, read, refused } = await start(t, '4.14.7')
  node.revoke()
  for (const user of USERS) t.equal(await read(user), 200)
  t.equal(refused(), USERS.length)
})
