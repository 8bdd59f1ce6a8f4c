import { readFile, writeFile } from 'node:fs/promises'
import { hash } from '@node-rs/bcrypt'
import t from 'tap'
import { signInWithPassword, startSignInEdge, writeUsers } from './edge.ts'

const api = { accept: 'application/json', 'x-edge-console': '1' }

t.test('an operator signs in with a form, and signs out', async (t) => {
  const edge = await startSignInEdge(t)
  const browser = edge.newBrowser()
  const at = (path: string) => edge.operationsUrl + path

  const first = await browser.open(at('/console/'))
  t.equal(first.status, 401)
  t.match(first.headers['content-type'], 'text/html')
  t.match(first.text, /<form method="post" action="\/sign-in">/, 'a page with a form')
  t.notMatch(first.headers['www-authenticate'], /Basic/, 'the browser opens no dialog')
  t.match(first.headers['content-security-policy'], "form-action 'self'")
  t.equal((await browser.open(at('/sign-in/style.css'))).status, 200)

  const signedIn = await signInWithPassword(edge, browser)
  t.equal(signedIn.status, 303)
  t.equal(signedIn.location, at('/console/'))
  const [name = ''] = browser.cookies.keys()
  t.match(browser.attributes.get(name), /^Path=\/; Max-Age=28\d{3}; HttpOnly; SameSite=Lax$/, 'eight hours')
  t.notMatch(decodeURIComponent([...browser.cookies.values()].join()), 'operator-pw')

  const account = JSON.parse((await browser.open(at('/api/me'), api)).text)
  t.match(account, { user: 'operator', roles: ['operator'], permissions: ['*:read', 'secrets:read'] })
  t.ok(account.session.endsIn > 7 * 3_600_000)

  const stolen = new Map(browser.cookies)
  const signedOut = await browser.send(at('/sign-out'), {})
  t.equal(signedOut.location, at('/sign-in?signedOut=1'))
  t.equal(browser.cookies.size, 0)
  t.match((await browser.open(signedOut.location)).text, 'You are signed out.')
  for (const [key, value] of stolen) browser.cookies.set(key, value)
  t.equal((await browser.open(at('/api/me'), api)).status, 401, 'a copy of the cookie has ended too')
  t.notOk(edge.logged.some((line) => line.includes('operator-pw') || line.includes([...stolen.values()][0] ?? '?')))
})

t.test('a user without operations:read gets a page that says so', async (t) => {
  const edge = await startSignInEdge(t)
  const browser = edge.newBrowser()
  await signInWithPassword(edge, browser, 'reader')
  const page = await browser.open(`${edge.operationsUrl}/console/`)
  t.equal(page.status, 403)
  t.match(page.text, /signed in as <strong>reader<\/strong>/)
  t.match(page.text, /Roles: reader/)
  t.match(page.text, /operations:read/)
  t.match(page.text, /action="\/sign-out"/)
  const basic = edge.newBrowser()
  const header = { authorization: edge.authorization('reader') }
  t.match((await basic.open(`${edge.operationsUrl}/console/`, header)).text, /close all windows of the browser/)
  t.match(JSON.parse((await basic.open(`${edge.operationsUrl}/api/now`, { ...header, ...api })).text), { error: 902 })
})

t.test('wrong passwords are counted, and the page says what is wrong', async (t) => {
  const edge = await startSignInEdge(t, { access: { limits: { failedLogins: 2 } } })
  const browser = edge.newBrowser()
  const send = () =>
    browser.send(`${edge.operationsUrl}/sign-in`, { name: 'operator', password: '"><b>wrong', return: '/console/' })
  const refused = await send()
  t.equal(refused.status, 401)
  t.match(refused.text, 'User name or password is wrong.')
  t.notMatch(refused.text, '<b>')
  t.equal(browser.cookies.size, 0)
  let last = refused
  for (let at = 0; at < 3; at++) last = await send()
  t.equal(last.status, 429)
  t.match(last.text, /Too many failed logins\. Try again in \d+ s\./)
})

t.test('a changed password, a removed user and a removed role end the session at once', async (t) => {
  const edge = await startSignInEdge(t)
  const at = (path: string) => edge.operationsUrl + path
  const [admin, operator] = [edge.newBrowser(), edge.newBrowser()]
  await signInWithPassword(edge, admin, 'admin')
  await signInWithPassword(edge, operator)
  const status = async (browser: typeof admin) => (await browser.open(at('/api/me'), api)).status
  t.strictSame([await status(admin), await status(operator)], [200, 200])

  await writeUsers(edge, [`operator:${await hash('another password', 4)}`])
  const until = async (wanted: number[]): Promise<void> => {
    while ((await status(admin)) !== wanted[0] || (await status(operator)) !== wanted[1])
      await new Promise((resolve) => setTimeout(resolve, 50))
  }
  await until([401, 401])
  const again = await operator.send(at('/sign-in'), { name: 'operator', password: 'another password' })
  t.equal(again.status, 303)
  t.equal(await status(operator), 200)

  const file = `${edge.folder}/edge.yaml`
  await writeFile(file, (await readFile(file, 'utf8')).replace('- operator', '- reader'))
  await edge.edge.reload()
  t.equal(await status(operator), 403, 'the session stays, the right has ended')
})

t.test('mode passthrough has no sessions: the browser asks for the credentials', async (t) => {
  const credentials = { mode: 'passthrough', username: undefined, password: undefined }
  const edge = await startSignInEdge(t, { access: { users: undefined, roles: undefined }, credentials })
  const browser = edge.newBrowser()
  const refused = await browser.open(`${edge.operationsUrl}/console/`)
  t.equal(refused.status, 401)
  t.match(refused.headers['www-authenticate'], /^Basic /)
  t.equal((await browser.send(`${edge.operationsUrl}/sign-in`, { name: 'a', password: 'b' })).status, 401)
  t.equal(browser.cookies.size, 0)
})
