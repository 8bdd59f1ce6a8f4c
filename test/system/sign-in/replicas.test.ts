import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { startRedis } from '../../support/redis.ts'
import { keyFolder, signInWithPassword, startSignInEdge } from './edge.ts'

t.test('a sign-out on one replica ends copies of the cookie on all replicas that share a Redis', async (t) => {
  const server = await startRedis()
  t.teardown(() => server.close())
  const [keys, redis] = [await keyFolder(t), server.url]
  const one = await startSignInEdge(t, { redis, access: { tokens: { keys } } })
  const two = await startSignInEdge(t, { redis, access: { tokens: { keys }, users: `${one.folder}/users` } })
  const browser = one.newBrowser()
  await signInWithPassword(one, browser)
  const [text = ''] = browser.cookies.values()
  const copy = async () => {
    const cookie = `edge-session-${new URL(two.operationsUrl).port}=${text}`
    return (await fetch(`${two.operationsUrl}/api/me`, { headers: { cookie } })).status
  }
  t.equal(await copy(), 200)
  await browser.send(`${one.operationsUrl}/sign-out`, {})
  await eventually(async () => (await copy()) === 401)
  const [again, other] = [one.newBrowser(), await signInWithPassword(two, two.newBrowser())]
  t.equal((await signInWithPassword(one, again)).status, 303)
  t.equal(other.status, 303, 'the user can sign in again')
})
