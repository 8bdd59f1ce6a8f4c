/**
 * Attacks on the sign-in of operators through an outside issuer, which runs as a process beside two replicas of the edge:
 * forged and mixed-up responses, fixed sessions, replays, other browsers, other pages, and sessions that should have ended.
 */
import { readFile, writeFile } from 'node:fs/promises'
import t from 'tap'
import { eventually } from '../../support/eventually.ts'
import { startRedis } from '../../support/redis.ts'
import type { TestBrowser } from '../sign-in/browser.ts'
import { goToIssuer, keyFolder, signInWithPassword, startSignInEdge } from '../sign-in/edge.ts'
import { TOKEN_FAULTS } from '../sign-in/issuer.ts'
import { forkIssuer } from '../sign-in/issuer-process.ts'

const api = { accept: 'application/json', 'x-edge-console': '1' }

t.test('sign-in through a live issuer, behind two replicas', async (t) => {
  const [issuer, other, redis] = [await forkIssuer(t), await forkIssuer(t), await startRedis()]
  t.teardown(() => redis.close())
  const shared = { redis: redis.url, issuer, access: { tokens: { keys: await keyFolder(t) } } }
  const edge = await startSignInEdge(t, shared)
  const replica = await startSignInEdge(t, {
    ...shared,
    access: { ...shared.access, users: `${edge.folder}/users` },
    signIn: { redirectUrl: `${edge.operationsUrl}/sign-in/callback` },
  })
  const at = (path: string) => edge.operationsUrl + path
  const host = new URL(edge.operationsUrl).host
  const tokenRequests = async (of = issuer) => (await of.received()).requests.filter((path) => path === '/token').length
  const isSignedIn = async (browser: TestBrowser) => (await browser.open(at('/api/me'), api)).status === 200
  /** Requests of the browser that a balancer sends to the other replica. */
  const atReplica = (browser: TestBrowser, url: string, headers = {}) => {
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    return edge.newBrowser().open(url.replace(edge.operationsUrl, replica.operationsUrl), { host, cookie, ...headers })
  }
  const copy = (browser: TestBrowser): TestBrowser => {
    const copied = edge.newBrowser()
    for (const [name, value] of browser.cookies) copied.cookies.set(name, value)
    return copied
  }

  t.test('each request for authorisation has fresh secrets, and shows none of those that the edge keeps', async (t) => {
    const seen = new Set<string>()
    for (let count = 0; count < 3; count++) {
      const browser = edge.newBrowser()
      const { location } = await browser.open(at('/sign-in/issuer'))
      const { searchParams: query } = new URL(location)
      t.match(Object.fromEntries(query), {
        response_type: 'code',
        code_challenge_method: 'S256',
        redirect_uri: at('/sign-in/callback'),
      })
      for (const name of ['state', 'nonce', 'code_challenge']) {
        t.match(query.get(name), /^[\w-]{43}$/, `${name} has 256 bits`)
        seen.add(query.get(name) ?? '')
      }
      t.notOk(query.has('code_verifier') || query.has('client_secret'))
      const [[name = '', attributes = ''] = []] = [...browser.attributes]
      t.match(name, /^edge-sign-in-/)
      t.match(attributes, /^Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/)
    }
    t.equal(seen.size, 9, 'nothing repeats')
  })

  t.test('responses that were changed on their way are refused, before the issuer is asked for a token', async (t) => {
    const before = await tokenRequests()
    const changes: Readonly<Record<string, (url: URL) => void>> = {
      'another state': ({ searchParams }) => searchParams.set('state', 'x'.repeat(43)),
      'no state': ({ searchParams }) => searchParams.delete('state'),
      'two states': ({ searchParams }) => searchParams.append('state', searchParams.get('state') ?? ''),
      'two codes': ({ searchParams }) => searchParams.append('code', 'another'),
      'no code': ({ searchParams }) => searchParams.delete('code'),
      'another issuer': ({ searchParams }) => searchParams.set('iss', other.url),
      'two issuers': ({ searchParams }) => {
        searchParams.append('iss', issuer.url)
        searchParams.append('iss', other.url)
      },
      'an ID token beside the code': ({ searchParams }) => searchParams.set('id_token', 'e30.e30.e30'),
      'a signed response (JARM)': ({ searchParams }) => searchParams.set('response', 'e30.e30.e30'),
      'an error beside the code': ({ searchParams }) => searchParams.set('error', '<script>alert(1)</script>'),
    }
    for (const [what, change] of Object.entries(changes)) {
      const browser = edge.newBrowser()
      const url = new URL(await goToIssuer(edge, browser))
      change(url)
      const refused = await browser.open(url.href)
      t.equal(refused.status, 403, what)
      t.notMatch(refused.text, '<script>', `${what}: nothing of the query becomes part of the page`)
      t.equal(browser.cookies.size, 0, `${what}: no session, and no second attempt`)
    }
    t.equal(await tokenRequests(), before)
  })

  t.test('an issuer that promises its name in responses must send it', async (t) => {
    const [strict] = [await forkIssuer(t)]
    await strict.set({ promisesIssuer: true })
    const strictEdge = await startSignInEdge(t, { issuer: strict })
    const without = strictEdge.newBrowser()
    t.equal((await without.open(await goToIssuer(strictEdge, without))).status, 403)
    await strict.set({ responseIssuer: other.url })
    const mixedUp = strictEdge.newBrowser()
    t.equal((await mixedUp.open(await goToIssuer(strictEdge, mixedUp))).status, 403)
    t.equal(await tokenRequests(strict), 0)
    await strict.set({ responseIssuer: strict.url })
    const right = strictEdge.newBrowser()
    t.equal((await right.open(await goToIssuer(strictEdge, right))).status, 303)
  })

  t.test('a code of one issuer is never sent to another one', async (t) => {
    const file = `${edge.folder}/edge.yaml`
    const text = await readFile(file, 'utf8')
    const browser = edge.newBrowser()
    const back = await goToIssuer(edge, browser)
    await writeFile(file, text.replaceAll(issuer.url, other.url))
    await edge.edge.reload()
    const refused = await browser.open(back)
    t.equal(refused.status, 403)
    t.match(refused.text, 'started at another issuer')
    t.same(
      (await other.received()).requests.filter((path) => path === '/token'),
      [],
      'the other issuer gets neither code nor verifier',
    )
    await writeFile(file, text)
    await edge.edge.reload()
  })

  t.test('ID tokens with any fault are refused', async (t) => {
    for (const fault of TOKEN_FAULTS) {
      await issuer.set({ fault })
      const browser = edge.newBrowser()
      t.equal((await browser.open(await goToIssuer(edge, browser))).status, 403, fault)
      t.equal(browser.cookies.size, 0, `${fault}: no session`)
    }
    await issuer.set({ fault: null })
  })

  t.test('a code is accepted once, over all replicas, and in the browser that started', async (t) => {
    const browser = edge.newBrowser()
    const back = await goToIssuer(edge, browser)
    t.equal((await edge.newBrowser().open(back)).status, 403, 'another browser')
    const stolen = copy(browser)
    const completed = await atReplica(browser, back)
    t.equal(completed.status, 303, 'another replica completes the sign-in')
    t.equal((await atReplica(stolen, back)).status, 403, 'replayed with its cookie, there')
    t.equal((await stolen.open(back)).status, 403, 'and at the replica that started it')
  })

  t.test('a session that was planted before the sign-in does not become the session of the user', async (t) => {
    const attacker = edge.newBrowser()
    await signInWithPassword(edge, attacker, 'reader')
    const [[name = '', planted = ''] = []] = [...attacker.cookies]
    const victim = edge.newBrowser()
    victim.cookies.set(name, planted)
    t.equal((await victim.open(await goToIssuer(edge, victim))).status, 303)
    t.not(victim.cookies.get(name), planted, 'a new session')
    t.match(JSON.parse((await victim.open(at('/api/me'), api)).text), { user: 'olga' })
    await eventually(async () => (await atReplica(attacker, at('/api/me'), api)).status === 401)
    t.equal(await isSignedIn(attacker), false, 'the planted session has ended')
  })

  t.test('a sign-in that another host of the domain has planted is not completed over HTTPS', async (t) => {
    // TLS ends at a balancer, so the edge itself is asked without it.
    const redirectUrl = 'https://console.example/sign-in/callback'
    const secure = await startSignInEdge(t, { issuer, signIn: { redirectUrl } })
    const attacker = secure.newBrowser()
    const back = (await goToIssuer(secure, attacker)).replace('https://console.example', secure.operationsUrl)
    const [[name = '', value = ''] = []] = [...attacker.cookies]
    t.match(name, /^__Host-edge-sign-in/)
    t.match(attacker.attributes.get(name), /; Secure$/)
    const victim = secure.newBrowser()
    // Another host cannot set a cookie with this prefix, only one without it.
    victim.cookies.set(name.replace('__Host-', ''), value)
    t.equal((await victim.open(back)).status, 403)
    t.equal((await attacker.open(back)).status, 303, 'the browser that started is signed in')
    for (const [cookie, attributes] of attacker.attributes) {
      t.match(cookie, /^__(?:Host|Secure)-/)
      t.match(attributes, /; HttpOnly; SameSite=Lax; Secure$/, cookie)
    }
  })

  t.test('no page of another site is reached through a sign-in or a sign-out', async (t) => {
    for (const target of [
      'https://evil.example',
      '//evil.example',
      '/\\evil',
      '/console/%00',
      '/console/@evil',
      'x:y',
    ]) {
      const browser = edge.newBrowser()
      const { location } = await browser.open(await goToIssuer(edge, browser, target))
      t.equal(location, at('/console/'), target)
      const next = await browser.send(at(`/sign-out?return=${encodeURIComponent(target)}`), {}, api)
      t.equal(new URL(JSON.parse(next.text).next).origin, issuer.url, 'only the issuer')
    }
    for (const query of (await issuer.received()).ended) {
      t.equal(new URLSearchParams(query).get('post_logout_redirect_uri'), at('/sign-in?signedOut=1'))
    }
  })

  t.test('a sign-out ends the session everywhere', async (t) => {
    const browser = edge.newBrowser()
    t.equal((await browser.open(await goToIssuer(edge, browser))).status, 303)
    const stolen = copy(browser)
    t.equal((await atReplica(stolen, at('/api/me'), api)).status, 200)
    t.equal((await browser.open(at('/sign-out'))).status, 404, 'a link of another site signs nobody out')
    t.equal(await isSignedIn(browser), true)
    const { next } = JSON.parse((await browser.send(at('/sign-out'), {}, api)).text)
    t.match(Object.fromEntries(new URL(next).searchParams), { client_id: 'console', id_token_hint: /^ey/ })
    t.equal(browser.cookies.size, 0, 'neither session nor ID token stays in the browser')
    t.equal(await isSignedIn(stolen), false, 'a stolen copy has ended')
    await eventually(async () => (await atReplica(stolen, at('/api/me'), api)).status === 401)
    t.equal((await browser.open(next)).location, at('/sign-in?signedOut=1'))
  })
})
