/**
 * Checks of the manager's tokens over two replicas: few calls for many tokens, and no request with a token that the manager
 * has ended, through the edge or past it.
 */
import t, { type Test } from 'tap'
import { eventually } from '../../support/eventually.ts'
import { twoReplicas, type User } from './two-replicas.ts'

const basic = (user: string, password: string) => `Basic ${btoa(`${user}:${password}`)}`

const issuedAt = (authorization: string): number =>
  JSON.parse(Buffer.from(authorization.split('.')[1] ?? '', 'base64url').toString()).nbf

/** Logs in past the edge, so that the edge knows nothing of these tokens, and stores an answer for all of them. */
async function manyTokens(t: Test, recheckMs: number) {
  // Unchecked tokens count as failed logins until their check ends, and on a busy machine all checks are in progress at once.
  const access = { tokens: { recheck: `${recheckMs}ms` }, limits: { failedLogins: 20 } }
  const { simulator, send, checks, logIn } = await twoReplicas(t, { more: { access } })
  const tokens = await Promise.all(
    Array.from({ length: 12 }, async () => {
      const url = `${simulator.nodes[0]?.url}/security/user/authenticate?raw=true`
      const response = await fetch(url, { method: 'POST', headers: { authorization: basic('eve', 'eve-pw') } })
      return `Bearer ${await response.text()}`
    }),
  )
  t.equal(new Set(tokens).size, 12)
  // The answer is stored, so that no later request is a call with the token.
  t.equal((await send(0, '/agents', await logIn('eve'))).status, 200)
  const before = checks()
  const askAll = async (at: number) => {
    const statuses = await Promise.all(tokens.map(async (token) => (await send(at, '/agents', token)).status))
    t.same([...new Set(statuses)], [200])
  }
  return { tokens, askAll, checks: () => checks() - before }
}

t.test('many tokens of a user cost one check each', async (t) => {
  const { askAll, checks } = await manyTokens(t, 60_000)
  await askAll(0)
  t.equal(checks(), 12, 'the signature of each token is checked once')
  await askAll(1)
  t.equal(checks(), 12, 'all replicas share the answers')
})

t.test('many tokens of a user cost one check together when they are checked again', async (t) => {
  const recheckMs = 1_000
  const { tokens, askAll, checks } = await manyTokens(t, recheckMs)
  const first = performance.now()
  await askAll(0)
  await new Promise((resolve) => setTimeout(resolve, recheckMs + 100))
  await Promise.all([askAll(0), askAll(1)])
  // On a busy machine the tokens are of several seconds, and the requests take longer than the time between two checks.
  const seconds = new Set(tokens.map(issuedAt)).size
  const rounds = Math.ceil((performance.now() - first) / recheckMs)
  const most = 12 + 2 * seconds * rounds
  t.ok(checks() <= most, `${checks()} checks, at most ${most}`)
})

t.test('a login gives an accepted token, and a call with it is a check', async (t) => {
  const { send, logIn, checks } = await twoReplicas(t, { more: { access: { tokens: { recheck: '3s' } } } })
  const token = await logIn('eve')
  for (const at of [0, 1]) t.equal((await send(at, '/agents?limit=1', token)).status, 200)
  t.equal(checks(), 0)
  for (let nth = 0; nth < 8; nth += 1) {
    await new Promise((resolve) => setTimeout(resolve, 450))
    t.equal((await send(0, '/security/users/me', token)).status, 200, 'never from the cache')
  }
  t.equal(checks(), 0)
})

t.test('a client that logs in after its log-out gets a good token', async (t) => {
  const { send, logIn, nextSecond } = await twoReplicas(t)
  const first = await logIn('ann')
  t.equal((await send(0, '/agents', first)).status, 200)
  nextSecond()
  t.equal((await send(0, '/security/user/authenticate', first, 'DELETE')).status, 200)
  t.equal((await send(1, '/agents', first)).status, 401)
  const second = await logIn('ann')
  t.not(second, first)
  for (const at of [0, 1]) t.equal((await send(at, '/agents', second)).status, 200)
  t.equal((await send(0, '/agents', first)).status, 401)
})

t.test('changes of users and roles through the edge end tokens on all replicas at once', async (t) => {
  const { send, logIn, write, nextSecond } = await twoReplicas(t)
  const ann = await logIn('ann')
  const idOf = async (user: User) => {
    const { body } = await send(0, `/security/users?search=${user}`, ann)
    const items = (body.data as { affected_items?: { id: number; username: string }[] } | undefined)?.affected_items
    return items?.find(({ username }) => username === user)?.id
  }
  const [eve, bob] = [await idOf('eve'), await idOf('bob')]
  const changes = [
    ['POST', `/security/users/${eve}/roles?role_ids=5`],
    ['PUT', `/security/users/${eve}`, { password: 'Other-Password-1' }],
    ['DELETE', `/security/users?user_ids=${eve}`],
  ] as const
  let password = 'eve-pw'
  for (const [method, path, body] of changes) {
    const response = await send(0, '/security/user/authenticate', basic('eve', password), 'POST')
    const token = `Bearer ${response.body.data?.token}`
    for (const at of [0, 1]) t.equal((await send(at, '/agents', token)).status, 200)
    nextSecond()
    const changed = await write(method, path, ann, body && { body })
    t.equal(changed.status, 200, `${method} ${path} ${JSON.stringify(changed.body)}`)
    for (const at of [1, 0]) t.equal((await send(at, '/agents', token)).status, 401, `${method} ${path} replica ${at}`)
    if (body !== undefined) password = body.password
  }
  t.type(bob, 'number')
  // A revocation of all tokens ends also that of the administrator.
  const other = await logIn('bob')
  t.equal((await send(1, '/agents', other)).status, 200)
  nextSecond()
  t.equal((await write('PUT', '/security/user/revoke', ann)).status, 200)
  for (const at of [1, 0]) {
    t.equal((await send(at, '/agents', other)).status, 401)
    t.equal((await send(at, '/agents', ann)).status, 401)
  }
  t.equal((await send(1, '/agents', await logIn('bob'))).status, 200)
})

t.test('a change past the edge is noticed after the time between two checks', async (t) => {
  const { send, logIn, write, nextSecond } = await twoReplicas(t, { more: { access: { tokens: { recheck: '1s' } } } })
  const [ann, eve] = [await logIn('ann'), await logIn('eve')]
  for (const at of [0, 1]) t.equal((await send(at, '/agents', eve)).status, 200)
  nextSecond()
  t.equal((await write('DELETE', '/security/user/authenticate', eve, { pastEdge: true })).status, 200)
  for (const at of [1, 0]) {
    await eventually(async () => (await send(at, '/agents', eve)).status === 401)
    t.equal((await send(at, '/agents', ann)).status, 200)
  }
})

t.test('a token with the claims of an accepted one and another signature is refused', async (t) => {
  const { send, logIn } = await twoReplicas(t)
  const token = await logIn('ann')
  for (const at of [0, 1]) t.equal((await send(at, '/agents', token)).status, 200)
  const [header = '', payload = '', signature = ''] = token.split('.')
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
  const later = Buffer.from(JSON.stringify({ ...claims, nbf: claims.nbf + 1, exp: claims.exp + 1 })).toString(
    'base64url',
  )
  const other = `${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`
  for (const forged of [
    `${header}.${payload}.${other}`,
    `${header}.${later}.${signature}`,
    `${header}.${later}.${other}`,
  ])
    for (const at of [0, 1]) t.equal((await send(at, '/agents', forged)).status, 401)
  t.equal((await send(0, '/agents', token)).status, 200)
})

t.test('refused tokens that the manager has issued block no client', async (t) => {
  const { simulator, send, logIn, nextSecond } = await twoReplicas(t)
  const eve = await logIn('eve')
  t.equal((await send(0, '/agents', eve)).status, 200)
  simulator.v4?.revokeTokens({ user: 'eve' })
  const ann = await logIn('ann')
  nextSecond()
  t.equal((await send(0, '/security/user/authenticate', ann, 'DELETE')).status, 200)
  const before = simulator.seen.length
  for (let nth = 0; nth < 30; nth += 1) t.equal((await send(0, '/agents', ann)).status, 401)
  t.ok(simulator.seen.length - before <= 2, 'the refusal is remembered')
  t.equal((await send(0, '/agents', await logIn('ann'))).status, 200)
})

t.test('logins of one user at the same time give tokens that need no check', async (t) => {
  const { send, logIn, checks } = await twoReplicas(t, { more: { access: { tokens: { recheck: '60s' } } } })
  const tokens = await Promise.all(Array.from({ length: 6 }, () => logIn('eve')))
  for (const token of tokens) t.equal((await send(0, '/agents', token)).status, 200)
  t.equal(checks(), 0)
})
