/**
 * Clients of the v4 contract log in as users of the manager, in front of nodes that cut responses to the rights of a
 * user: users with the same roles share responses, others never do, and a token ends everywhere when the manager ends it.
 */
import t from 'tap'
import { type Body, twoReplicas, type User, users } from './two-replicas.ts'

t.test('users with the same roles share responses, and no user gets those of others', async (t) => {
  const { send, logIn } = await twoReplicas(t)
  const tokens = new Map<User, string>()
  for (const user of Object.keys(users) as User[]) tokens.set(user, await logIn(user))
  const totals: Readonly<Record<User, number>> = { ann: 7, amy: 7, bob: 1, eve: 7, nil: 0 }
  for (const at of [0, 1, 0]) {
    for (const [user, token] of tokens) {
      for (const path of ['/agents', '/agents?limit=2', '/agents?sort=-id']) {
        const { status, body } = await send(at, path, token)
        t.equal(status, 200, `${user} ${path}`)
        t.equal(body.data?.total_affected_items, totals[user], `${user} ${path}`)
      }
    }
  }
  const first = await send(0, '/agents/summary/os', tokens.get('ann'))
  t.notMatch(first.cache, /hit/)
  t.match((await send(1, '/agents/summary/os', tokens.get('amy'))).cache, /hit/, 'another user with the same roles')
  t.notMatch((await send(0, '/agents/summary/os', tokens.get('eve'))).cache, /hit/, 'a user with other roles')
})

t.test('a log-out ends the tokens of the user on all replicas at once', async (t) => {
  const { send, logIn, nextSecond } = await twoReplicas(t)
  const [ann, eve] = [await logIn('ann'), await logIn('eve')]
  for (const at of [0, 1]) t.equal((await send(at, '/agents', ann)).status, 200)
  nextSecond()
  t.equal((await send(0, '/security/user/authenticate', ann, 'DELETE')).status, 200)
  for (const at of [1, 0]) {
    const { status, body } = await send(at, '/agents', ann)
    t.equal(status, 401, `replica ${at}`)
    t.strictSame(body, { title: 'Unauthorized', detail: 'Invalid token' })
    t.equal((await send(at, '/agents', eve)).status, 200, 'the token of another user stays good')
  }
})

t.test('tokens that the manager did not issue, and wrong passwords, are refused', async (t) => {
  const { send, logIn } = await twoReplicas(t)
  const token = await logIn('eve')
  const forged = `${token.slice(0, -8)}AAAAAAAA`
  t.equal((await send(0, '/agents', forged)).status, 401)
  t.equal((await send(0, '/agents', 'Bearer abc')).status, 401)
  t.equal((await send(0, '/agents', undefined)).body.detail, 'No authorization token provided')
  const basic = `Basic ${btoa('eve:wrong')}`
  const refused = await send(0, '/security/user/authenticate', basic, 'POST')
  t.equal(refused.status, 401)
  t.equal(refused.body.detail, 'Invalid credentials')
})

t.test('a login with an authorization context gets a token of the node, if the user may', async (t) => {
  const { edges } = await twoReplicas(t)
  const logIn = async (user: User) => {
    const response = await fetch(`${edges[0]?.url}/security/user/authenticate/run_as`, {
      method: 'POST',
      headers: {
        authorization: `Basic ${btoa(`${user}:${users[user].password}`)}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ name: 'x' }),
    })
    return { status: response.status, body: (await response.json()) as Body & { readonly error?: number } }
  }
  const { status, body } = await logIn('ann')
  t.equal(status, 200, JSON.stringify(body))
  const claims = JSON.parse(Buffer.from(body.data?.token?.split('.')[1] ?? '', 'base64url').toString())
  t.match(claims, { sub: 'ann', run_as: true })
  t.match(await logIn('eve'), { status: 403, body: { error: 6004 } })
})

t.test('a client that sends made-up tokens is blocked, and its requests reach no node any more', async (t) => {
  const { simulator, send } = await twoReplicas(t)
  const part = (claims: object) => Buffer.from(JSON.stringify(claims)).toString('base64url')
  const exp = Math.floor(Date.now() / 1000) + 600
  const claims = { sub: 'ann', exp, rbac_roles: [1], rbac_mode: 'white' }
  const forged = (nth: number) => `Bearer ${part({ alg: 'ES512' })}.${part({ ...claims, nth })}.AAAA`
  const statuses = new Set<number>()
  for (let nth = 0; nth < 40; nth += 1) statuses.add((await send(0, '/agents', forged(nth))).status)
  t.same([...statuses].sort(), [401, 429])
  const calls = simulator.seen.length
  t.equal((await send(0, '/agents', forged(40))).status, 429)
  t.equal(simulator.seen.length, calls)
})
