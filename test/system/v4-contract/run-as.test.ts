/** A login with an authorization context must not give the roles of the user, which may be wider. */
import t from 'tap'
import { simulated } from '../../support/simulated.ts'

t.test('run_as is refused in the words of the manager, and gives no token', async (t) => {
  const settings = { listen: { contract: 'v4' }, cluster: { layout: 'v4' } }
  const { edge } = await simulated(t, { layout: 'v4', workers: 0, agents: 2 }, { settings })
  const response = await fetch(`${edge.url}/security/user/authenticate/run_as?raw=true`, {
    method: 'POST',
    headers: { authorization: edge.authorization('admin'), 'content-type': 'application/json' },
    body: '{"user":"x"}',
  })
  t.equal(response.status, 403)
  t.equal(response.headers.get('content-type'), 'application/problem+json; charset=utf-8')
  t.strictSame(await response.json(), {
    title: 'Permission Denied',
    detail: 'The current user does not have authentication enabled through authorization context',
    error: 6004,
  })
})
