/** Mode passthrough: whether the credentials of a caller are right, with as few logins and calls as possible. */
import t from 'tap'
import { get } from '../fake-node.ts'
import { as, startTokenTest } from './v4-node.ts'

t.test('the login is the check, and the calls that follow use its token', async (t) => {
  const { node, calls } = await startTokenTest(t, { mode: 'passthrough' })
  const check = get('/', as('edge', 'pass'))
  t.match(await calls.verify(check), { ok: true })
  t.match(await calls.call(get('/agents', as('edge', 'pass'))), { ok: true })
  t.match(await calls.verify(check), { ok: true })
  t.equal(node.logins.length, 1)
  t.same(
    node.calls.map(({ url }) => url),
    ['/agents'],
  )
  t.match(await calls.verify(get('/', as('edge', 'wrong'))), { ok: false, fault: 'refusedCredentials' })
})

t.test('after half a minute without a call, the node checks the token by one call', async (t) => {
  const { node, calls, time } = await startTokenTest(t, { mode: 'passthrough' })
  const check = get('/', as('edge', 'pass'))
  await calls.verify(check)
  time.now += 30_000
  t.match(await calls.verify(check), { ok: true })
  t.match(await calls.verify(check), { ok: true })
  t.equal(node.logins.length, 1)
  t.equal(node.calls.length, 1)
})

t.test('after a change of the password the old one is refused', async (t) => {
  const { node, calls, time } = await startTokenTest(t, { mode: 'passthrough' })
  await calls.verify(get('/', as('edge', 'pass')))
  node.passwords.set('edge', 'changed')
  node.revoke()
  time.now += 30_000
  t.match(await calls.verify(get('/', as('edge', 'pass'))), { ok: false, fault: 'refusedCredentials' })
  t.match(await calls.verify(get('/', as('edge', 'changed'))), { ok: true })
})
