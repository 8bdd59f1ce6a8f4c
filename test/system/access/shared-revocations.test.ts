import t from 'tap'
import type { RoleAssignment } from '../../../src/access/roles.ts'
import { putUser, removeUser } from '../../../src/access/users-file.ts'
import { eventually } from '../../support/eventually.ts'
import { basic, bearer, passwords, tokenOf } from './edge.ts'
import { replicas } from './shared.ts'

const end = 'DELETE /security/user/authenticate'

t.test('a token that one replica revoked is refused by all replicas: warm, cold, and started later', async (t) => {
  const { start } = await replicas(t)
  const [a, b, cold] = [await start(), await start(), await start()]
  const token = await tokenOf(a, 'bob')
  t.equal((await b.ask([bearer(token)])).status, 200, 'good at another replica, which remembers it')
  t.equal((await a.ask([bearer(token)], end)).status, 200)
  t.equal((await a.ask([bearer(token)])).status, 401, 'at once where it was revoked')
  await eventually(async () => (await b.ask([bearer(token)])).status === 401)
  await eventually(async () => (await cold.ask([bearer(token)])).status === 401)
  const later = await start()
  t.equal((await later.ask([bearer(token)])).status, 401)
  t.equal((await b.ask([bearer(await tokenOf(b, 'bob'))])).status, 200, 'a new one is good')
})

t.test('a revocation made while Redis is down is sent when Redis is back, even if it is empty', async (t) => {
  const { start, redis } = await replicas(t)
  const [a, b] = [await start(), await start()]
  const [before, during] = [await tokenOf(a, 'bob'), await tokenOf(a, 'alice')]
  await a.ask([bearer(before)], end)
  await eventually(async () => (await b.ask([bearer(before)])).status === 401)

  await redis.kill()
  t.equal((await a.ask([bearer(during)], end)).status, 503)
  t.equal((await a.ask([bearer(during)])).status, 401)
  t.equal((await b.ask([bearer(during)])).status, 200, 'revoked at another replica: not known here yet')
  t.match(a.logged.join(), 'revoked tokens are still valid at other replicas')
  t.equal((await b.ask([bearer(before)])).status, 401, 'earlier revocations stay known')

  await redis.restart()
  await eventually(async () => (await b.ask([bearer(during)])).status === 401)
  const later = await start()
  t.equal((await later.ask([bearer(during)])).status, 401)
  t.equal((await later.ask([bearer(before)])).status, 401, 'from the replicas that know it')
})

t.test('a flush of Redis withdraws no revocation', async (t) => {
  const { start, redis } = await replicas(t)
  const a = await start()
  const token = await tokenOf(a, 'bob')
  await a.ask([bearer(token)], end)
  const client = redis.client()
  await client.flushall()
  await eventually(async () => (await client.exists('edge:{a}:revoked')) === 1)
  const later = await start()
  t.equal((await later.ask([bearer(token)])).status, 401)
})

t.test('a user who is removed or gets another password loses tokens and logins on every replica', async (t) => {
  const { start, users } = await replicas(t)
  const edges = [await start(), await start()]
  const [first = edges[0]] = edges
  if (first === undefined) return
  const shown = [bearer(await tokenOf(first, 'bob')), basic('bob', passwords.bob)]
  let asked = 0
  const all = async (status: number) => {
    // Each time from elsewhere: failed logins of one address would be answered by 429.
    const ask = (edge: (typeof edges)[number], line: string) => edge.ask([line, `X-Address: 10.0.${asked++}.1`])
    const replies = await Promise.all(edges.flatMap((edge) => shown.map((line) => ask(edge, line))))
    return replies.every((reply) => reply.status === status)
  }
  t.ok(await all(200), 'warm')
  await removeUser(users, 'bob')
  await eventually(() => all(401))
  await putUser(users, 'bob', 'another', 4)
  await eventually(async () => (await first.ask([basic('bob', 'another')])).status === 200)
  t.ok(await all(401), 'the old token stays revoked')
})

t.test('a role that is removed from the configuration is withdrawn on every replica', async (t) => {
  const { start } = await replicas(t)
  const edges = [await start(), await start()]
  const assign = (roles: RoleAssignment) => {
    for (const { access } of edges) access.prepareReload({ roles })()
  }
  assign({ alice: ['administrator'], bob: ['reader'] })
  const may = async (permissions: readonly string[]) => {
    const replies = await Promise.all(edges.map((edge) => edge.ask([basic('alice', passwords.alice)])))
    return replies.every(({ text }) => JSON.stringify(JSON.parse(text).permissions) === JSON.stringify(permissions))
  }
  t.ok(await may(['*']), 'warm')
  assign({ alice: ['reader'] })
  t.ok(await may(['*:read']))
})
