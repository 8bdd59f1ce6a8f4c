import { createPrivateKey } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import t from 'tap'
import { forge } from '../access/forge.ts'
import { keyFolder, signInWithPassword, startSignInEdge } from './edge.ts'

const api = { accept: 'application/json', 'x-edge-console': '1' }

t.test('replicas with the same signing keys and users accept each other’s sessions, other edges do not', async (t) => {
  const keys = await keyFolder(t)
  const one = await startSignInEdge(t, { access: { tokens: { keys } } })
  const two = await startSignInEdge(t, { access: { tokens: { keys }, users: `${one.folder}/users` } })
  const foreign = await startSignInEdge(t, { access: { tokens: { keys: await keyFolder(t) } } })
  const browser = one.newBrowser()
  await signInWithPassword(one, browser)
  const [text = ''] = browser.cookies.values()

  /** The port is part of the name of the cookie. */
  const ask = (edge: typeof one, value: string) =>
    fetch(`${edge.operationsUrl}/api/me`, {
      headers: { ...api, cookie: `edge-session-${new URL(edge.operationsUrl).port}=${value}` },
    })
  t.equal((await ask(one, text)).status, 200)
  t.equal((await ask(two, text)).status, 200, 'another replica')
  t.equal((await ask(foreign, text)).status, 401, 'another edge')

  const [head = '', payload = '', signature = ''] = text.split('.')
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
  const header = JSON.parse(Buffer.from(head, 'base64url').toString())
  const [file = ''] = await readdir(keys)
  const key = createPrivateKey(await readFile(`${keys}/${file}`, 'utf8'))
  t.equal((await ask(one, forge(header, claims, key))).status, 200, 'the forgery of this test is a right session')
  const now = Date.now()
  const forged = {
    'another user': `${head}.${Buffer.from(JSON.stringify({ ...claims, sub: 'admin' })).toString('base64url')}.${signature}`,
    unsigned: forge({ ...header, alg: 'none' }, claims, key),
    'another type': forge({ ...header, typ: 'JWT' }, claims, key),
    expired: forge(header, { ...claims, exp: Math.floor(now / 1000) - 1 }, key),
    'older than a session may be': forge(header, { ...claims, at: now - 9 * 3_600_000 }, key),
    'of a later time': forge(header, { ...claims, at: now + 9 * 3_600_000 }, key),
    'of an issuer that is not configured': forge(
      header,
      { ...claims, iss: 'https://id.example', words: ['administrator'] },
      key,
    ),
    'the password was another': forge(header, { ...claims, version: 'x' }, key),
  }
  for (const [what, value] of Object.entries(forged)) t.equal((await ask(one, value)).status, 401, what)

  const issued = await fetch(`${one.url}/security/user/authenticate`, {
    method: 'POST',
    headers: { authorization: one.authorization('operator') },
  })
  const { data } = (await issued.json()) as { data: { token: string } }
  t.equal((await ask(one, data.token)).status, 401, 'a token is no session')
  const bearer = await fetch(`${one.url}/agents`, { headers: { authorization: `Bearer ${text}` } })
  t.equal(bearer.status, 401, 'a session is no token')
  const revoked = { method: 'DELETE', headers: { authorization: one.authorization('operator') } }
  t.equal((await fetch(`${one.url}/security/user/authenticate`, revoked)).status, 200)
  t.equal((await ask(one, text)).status, 401, 'revoking the tokens of a user ends the sessions')
})

t.test('pages of other sites can neither use a session nor start or end one', async (t) => {
  const edge = await startSignInEdge(t)
  const browser = edge.newBrowser()
  await signInWithPassword(edge, browser)
  const at = (path: string) => edge.operationsUrl + path
  const crossSite = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
  const login = { name: 'operator', password: 'operator-pw' }
  t.equal((await browser.send(at('/sign-in'), login, crossSite)).status, 403, 'no sign-in')
  t.equal((await browser.send(at('/sign-out'), {}, crossSite)).status, 403, 'no sign-out')
  t.equal((await browser.send(at('/sign-out'), {}, { origin: 'null', 'sec-fetch-site': 'same-site' })).status, 403)
  const withoutBoth = await fetch(at('/sign-in'), { method: 'POST', body: new URLSearchParams(login) })
  t.equal(withoutBoth.status, 403, 'a browser names its page')
  t.equal((await browser.send(at('/api/purge'), {}, {})).status, 403, 'a form of the own site writes nothing')
  t.equal((await browser.open(at('/api/me'), { ...api, 'sec-fetch-site': 'cross-site' })).status, 403)
  t.equal((await browser.open(at('/api/me'), api)).status, 200)
})

t.test('the cookie is for HTTPS only where the browser uses it', async (t) => {
  const edge = await startSignInEdge(t)
  const browser = edge.newBrowser()
  const { port } = new URL(edge.operationsUrl)
  const login = { name: 'operator', password: 'operator-pw' }
  // A proxy in front of the edge ends TLS and passes the host on.
  await browser.send(`${edge.operationsUrl}/sign-in`, login, { origin: `https://127.0.0.1:${port}` })
  t.match(browser.attributes.get(`__Host-edge-session-${port}`), /; HttpOnly; SameSite=Lax; Secure$/)
  t.equal((await browser.open(`${edge.operationsUrl}/api/me`, api)).status, 200)
})

t.test('a live stream ends with the session', async (t) => {
  const edge = await startSignInEdge(t)
  const browser = edge.newBrowser()
  await signInWithPassword(edge, browser)
  const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const stream = await fetch(`${edge.operationsUrl}/api/requests`, { headers: { ...api, cookie } })
  t.equal(stream.status, 200)
  await browser.send(`${edge.operationsUrl}/sign-out`, {})
  // Reads until the edge closes the stream.
  t.match(await stream.text(), 'retry')
})
