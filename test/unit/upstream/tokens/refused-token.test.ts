/** A token that its node refuses: one login, one repeated call. */
import t from 'tap'
import { get, put } from '../fake-node.ts'
import { json, outcomeOf, startTokenTest } from './v4-node.ts'

t.test('after a revocation all calls succeed, writes too, with one login for all of them', async (t) => {
  const { node, calls } = await startTokenTest(t)
  await calls.call(get())
  node.revoke()
  const work = Array.from({ length: 20 }, (_, at) => calls.call(at % 2 === 0 ? get() : put()))
  t.same(new Set((await Promise.all(work)).map(outcomeOf)), new Set([200]))
  t.equal(node.logins.length, 2)
  t.equal(node.calls.filter(({ method }) => method === 'PUT').length, 10, 'each write was carried out once')
})

t.test('if the node refuses the new token too, the call fails and the following calls send nothing', async (t) => {
  const { node, calls, time } = await startTokenTest(t)
  await calls.call(get())
  node.answerLogin = (_, response) => json(response, { data: { token: foreignToken() }, error: 0 })
  node.revoke()
  t.match(await calls.call(put()), { ok: false, fault: 'refusedCredentials' })
  t.equal(node.logins.length, 2)
  const sent = node.headers.length
  t.match(await calls.call(put()), { ok: false, fault: 'refusedCredentials', sent: false })
  t.equal(node.headers.length, sent)
  node.answerLogin = undefined
  time.now += 5_001
  t.equal(outcomeOf(await calls.call(put())), 200)
})

t.test('a refused token does not count as refused credentials', async (t) => {
  const { node, calls, logged } = await startTokenTest(t)
  await calls.call(get())
  node.revoke()
  await calls.call(get())
  t.same(logged, [])
})

function foreignToken(): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${part({})}.${part({ nbf: 1, exp: 901 })}.x`
}
