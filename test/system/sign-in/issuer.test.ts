import { readFile, writeFile } from 'node:fs/promises'
import t from 'tap'
import { goToIssuer, signInThroughIssuer, signInWithPassword, startSignInEdge } from './edge.ts'
import { CLIENT_SECRET, startIssuer, TOKEN_FAULTS } from './issuer.ts'

const api = { accept: 'application/json', 'x-edge-console': '1' }

t.test('an operator signs in at an outside issuer, and signs out of both', async (t) => {
  const issuer = await startIssuer(t)
  const edge = await startSignInEdge(t, { issuer })
  const browser = edge.newBrowser()
  const at = (path: string) => edge.operationsUrl + path
  t.strictSame(issuer.requests, [], 'a start asks nothing of the issuer')

  t.match((await browser.open(at('/console/'))).text, `Sign in with ${new URL(issuer.url).host}`)
  const back = await goToIssuer(edge, browser, '/console/#/cache')
  t.match(back, at('/sign-in/callback?code='))
  const signedIn = await browser.open(back)
  t.equal(signedIn.location, at('/console/#/cache'), 'back to the view')
  const account = JSON.parse((await browser.open(at('/api/me'), api)).text)
  t.match(account, { user: 'olga', issuer: new URL(issuer.url).host, roles: ['operator'] })
  t.ok(edge.logged.some((line) => line.includes('operator signed in') && line.includes('olga')))

  const signedOut = await browser.send(at('/sign-out'), {}, api)
  const { next } = JSON.parse(signedOut.text)
  t.equal((await browser.open(next)).location, at('/sign-in?signedOut=1'))
  t.match(Object.fromEntries(issuer.ended[0] ?? []), { client_id: 'console', id_token_hint: /^ey/ })
  t.equal((await browser.open(at('/api/me'), api)).status, 401)
  t.notOk(edge.logged.some((line) => line.includes(CLIENT_SECRET) || line.includes('id_token')))
})

t.test('the code is accepted once, and only from the browser that started the sign-in', async (t) => {
  const issuer = await startIssuer(t)
  const edge = await startSignInEdge(t, { issuer })
  const browser = edge.newBrowser()
  const back = await goToIssuer(edge, browser)
  const tokenRequests = () => issuer.requests.filter((path) => path === '/token').length

  const stranger = await edge.newBrowser().open(back)
  t.equal(stranger.status, 403, 'another browser')
  const kept = new Map(browser.cookies)
  t.equal((await browser.open(back.replace(/state=[^&]+/, 'state=forged'))).status, 403, 'wrong state')
  t.equal(tokenRequests(), 0, 'the issuer is not asked')
  for (const [name, value] of kept) browser.cookies.set(name, value)
  t.equal((await browser.open(back)).status, 403, 'a sign-in ends with its first answer, right or wrong')

  const next = await goToIssuer(edge, browser)
  const cookies = new Map(browser.cookies)
  t.equal((await browser.open(next)).status, 303)
  for (const [name, value] of cookies) browser.cookies.set(name, value)
  const replayed = await browser.open(next)
  t.equal(replayed.status, 403, 'replayed with its cookie')
  t.match(replayed.text, 'completed before')
  t.equal(tokenRequests(), 1)

  // A stolen code, completed by the browser of another user: PKCE binds the code to the browser that asked for it.
  const thief = edge.newBrowser()
  const [stolen, own] = [new URL(await goToIssuer(edge, browser)), new URL(await goToIssuer(edge, thief))]
  own.searchParams.set('code', stolen.searchParams.get('code') ?? '')
  t.match((await thief.open(own.href)).text, 'the issuer responded with invalid_grant')

  const denied = new URL(await goToIssuer(edge, browser))
  denied.searchParams.delete('code')
  denied.searchParams.set('error', 'access_denied')
  t.match((await browser.open(denied.href)).text, 'the issuer responded with access_denied')
})

t.test('ID tokens that another party could have made are refused', async (t) => {
  const issuer = await startIssuer(t)
  const edge = await startSignInEdge(t, { issuer })
  for (const fault of TOKEN_FAULTS) {
    issuer.fault = fault
    const browser = edge.newBrowser()
    const refused = await signInThroughIssuer(edge, browser)
    t.equal(refused.status, 403, fault)
    t.match(refused.text, 'Sign-in by the issuer failed')
    t.equal(browser.cookies.size, 0, 'no session')
  }
  issuer.fault = undefined
  issuer.claims = { sub: 'f3a1', groups: ['soc'] }
  t.match((await signInThroughIssuer(edge, edge.newBrowser())).text, 'no claim preferred_username')
  issuer.claims = { ...issuer.claims, preferred_username: 'olga' }
  t.equal((await signInThroughIssuer(edge, edge.newBrowser())).status, 303, 'a right one is accepted')
  const isLogged = (text: RegExp) =>
    edge.logged.some((line) => line.includes('sign-in by the issuer refused') && text.test(line))
  // A second may end between the token and its check.
  for (const text of [/nonce/, /was issued (?:4999|5000) s in the future/]) t.ok(isLogged(text), `${text}`)
  for (const groups of [['lunch'], [], undefined, 'lunch', { soc: true }]) {
    issuer.claims = { sub: 'f3a1', preferred_username: 'olga', groups }
    const browser = edge.newBrowser()
    const refused = await signInThroughIssuer(edge, browser)
    t.equal(refused.status, 403, `roles ${JSON.stringify(groups)}`)
    t.match(refused.text, 'the claim groups names nothing that operations.signIn.roles maps to a role')
    t.equal(browser.cookies.size, 0, 'no session')
  }
})

t.test('a sign-in leads to pages of the edge only', async (t) => {
  const issuer = await startIssuer(t)
  const edge = await startSignInEdge(t, { issuer })
  for (const target of [
    'https://evil.example/',
    '//evil.example',
    '/\\evil.example',
    '/.//evil.example',
    '/sign-out',
  ]) {
    const browser = edge.newBrowser()
    const { location } = await browser.open(await goToIssuer(edge, browser, target))
    t.equal(location, `${edge.operationsUrl}/console/`, target)
    const login = { name: 'operator', password: 'operator-pw', return: target }
    t.equal((await browser.send(`${edge.operationsUrl}/sign-in`, login)).location, `${edge.operationsUrl}/console/`)
  }
})

t.test('roles follow the settings, not the session', async (t) => {
  const issuer = await startIssuer(t)
  const edge = await startSignInEdge(t, { issuer })
  const browser = edge.newBrowser()
  await signInThroughIssuer(edge, browser)
  const open = () => browser.open(`${edge.operationsUrl}/openapi.json`)
  const file = `${edge.folder}/edge.yaml`
  const change = async (from: RegExp, to: string): Promise<void> => {
    await writeFile(file, (await readFile(file, 'utf8')).replace(from, to))
    await edge.edge.reload()
  }
  t.equal((await open()).status, 200)
  await change(/soc:\n\s+- operator/, 'soc: [reader]')
  const page = await open()
  t.equal(page.status, 403)
  t.match(page.text, /signed in as <strong>olga<\/strong>/)
  await change(/soc: \[reader\]/, 'soc: [administrator]')
  t.equal((await open()).status, 200)
  await change(/issuer: http.*\n/, 'issuer: https://another.example\n')
  t.equal((await open()).status, 401, 'the issuer is no longer accepted')
})

t.test('an issuer that is down gives a page, and users of the edge still sign in', async (t) => {
  const issuer = await startIssuer(t)
  issuer.isUp = false
  const edge = await startSignInEdge(t, { issuer })
  const browser = edge.newBrowser()
  const ready = await (await fetch(`${edge.operationsUrl}/readyz`)).json()
  t.notMatch(JSON.stringify(ready), /issuer/)
  const page = await browser.open(`${edge.operationsUrl}/sign-in/issuer`)
  t.equal(page.status, 503)
  t.match(page.text, `Issuer of sign-ins unreachable: ${new URL(issuer.url).host}`)
  t.match(page.text, /name="password"/)
  t.equal((await signInWithPassword(edge, browser)).status, 303)
  issuer.isUp = true
  const other = edge.newBrowser()
  t.equal((await signInThroughIssuer(edge, other)).status, 303, 'it works again as soon as the issuer does')
  issuer.rotate()
  issuer.isUp = false
  t.equal((await other.open(`${edge.operationsUrl}/api/me`, api)).status, 200, 'a session needs no issuer')
})
