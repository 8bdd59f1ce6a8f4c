/** A refused login is remembered for some seconds, so that it is not repeated at the node. The creation of its user ends that. */
import t from 'tap'
import { twoReplicas } from './two-replicas.ts'

t.test('a user that is created after a refused login logs in at once, at each replica', async (t) => {
  const { send, logIn, write } = await twoReplicas(t)
  const admin = await logIn('amy')
  const basic = `Basic ${btoa('later:Some-Password-1')}`
  const statusesOfLogins = async () => {
    const answers = [0, 1].map((at) => send(at, '/security/user/authenticate', basic, 'POST'))
    return (await Promise.all(answers)).map(({ status }) => status)
  }
  t.strictSame(await statusesOfLogins(), [401, 401])
  const created = await write('POST', '/security/users', admin, {
    body: { username: 'later', password: 'Some-Password-1' },
  })
  t.equal(created.status, 200)
  t.strictSame(await statusesOfLogins(), [200, 200])
})
