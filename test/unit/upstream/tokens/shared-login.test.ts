/** Calls share a token, and the login that gets it. */
import t from 'tap'
import { get, put } from '../fake-node.ts'
import { outcomeOf, startTokenTest } from './v4-node.ts'

t.test('many calls at once cause one login, and later calls none', async (t) => {
  const { node, calls } = await startTokenTest(t)
  const outcomes = await Promise.all(Array.from({ length: 100 }, () => calls.call(get())))
  t.same(new Set(outcomes.map(outcomeOf)), new Set([200]))
  t.equal(outcomeOf(await calls.call(put())), 200)
  t.equal(node.logins.length, 1)
  t.equal(new Set(node.calls.map(({ token }) => token)).size, 1)
})

t.test('a login sends Basic by POST, a call sends the token and nothing for the cache of the v3 layout', async (t) => {
  const { node, calls } = await startTokenTest(t)
  await calls.call(get())
  t.match(node.logins, [{ method: 'POST', header: `Basic ${Buffer.from('edge:pass').toString('base64')}` }])
  t.match(node.headers[0], { authorization: /^Bearer [^ ]+$/, accept: 'application/json, application/problem+json' })
  t.notOk(Object.hasOwn(node.headers[0] ?? {}, 'x-apicache-bypass'))
})

t.test('a release without a login by POST is asked by GET, from the second login on at once', async (t) => {
  const { node, calls } = await startTokenTest(t)
  node.answerLogin = ({ method }, response) => {
    node.answerLogin = undefined
    response.writeHead(method === 'POST' ? 405 : 500, {
      'content-type': 'application/problem+json',
      'content-length': 2,
    })
    response.end('{}')
  }
  t.equal(outcomeOf(await calls.call(get())), 200)
  node.revoke()
  t.equal(outcomeOf(await calls.call(get())), 200)
  t.same(
    node.logins.map(({ method }) => method),
    ['POST', 'GET', 'GET'],
  )
})

t.test('changed credentials are used from the next call on', async (t) => {
  const { node, calls, use } = await startTokenTest(t)
  t.equal(outcomeOf(await calls.call(get())), 200)
  node.passwords.set('other', 'word')
  use({ mode: 'service', username: 'other', password: 'word' })
  t.equal(outcomeOf(await calls.call(get())), 200)
  t.match(node.logins, [{ header: /^Basic / }, { header: `Basic ${Buffer.from('other:word').toString('base64')}` }])
  t.equal(new Set(node.calls.map(({ token }) => token)).size, 2)
})

t.test('a call without credentials is sent without a token and causes no login', async (t) => {
  const { node, calls } = await startTokenTest(t, { mode: 'passthrough' })
  t.equal(outcomeOf(await calls.call(get())), 'refusedCredentials')
  t.equal(node.logins.length, 0)
})

t.test('a call that its client left does not end the login of the others', async (t) => {
  const { node, calls } = await startTokenTest(t)
  const client = new AbortController()
  const left = calls.call(get('/agents', { signal: client.signal }))
  const stays = calls.call(get())
  client.abort()
  t.equal(outcomeOf(await left), 'abandoned')
  t.equal(outcomeOf(await stays), 200)
  t.equal(node.logins.length, 1)
})

t.test('a call that waits for a login ends at its timeout', async (t) => {
  const { node, calls } = await startTokenTest(t)
  node.answerLogin = () => undefined
  t.match(await calls.call(get('/agents', { timeout: 50 })), { ok: false, fault: 'timeout', sent: false })
})
