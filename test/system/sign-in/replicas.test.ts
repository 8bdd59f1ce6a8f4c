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

  await t.test('one that Redis does not store is an error, and holds on all replicas when Redis is back', async (t) => {
    const cookieOf = (edge: typeof one) => `edge-session-${new URL(edge.operationsUrl).port}=${session}`
    const [session = ''] = again.cookies.values()
    const isSignedIn = async (edge: typeof one) =>
      (await fetch(`${edge.operationsUrl}/api/me`, { headers: { cookie: cookieOf(edge) } })).status === 200
    t.ok(await isSignedIn(two))
    await server.kill()
    const reply = await again.send(`${one.operationsUrl}/sign-out`, {}, { accept: 'application/json' })
    t.match(reply, { status: 503, headers: { 'retry-after': /^[1-9]/ } })
    t.match(JSON.parse(reply.text), { error: 944 })
    t.strictSame([...again.cookies], [], 'the browser is signed out')
    t.notOk(await isSignedIn(one), 'refused at once where the user signed out')
    await server.restart()
    await eventually(async () => !(await isSignedIn(two)))
    t.equal((await signInWithPassword(one, again)).status, 303)
  })
})
