import t from 'tap'
import { basic, startV4 } from './ask.ts'

t.test('a token is good only at the node that issued it, until it expires or is voided', async (t) => {
  let now = new Date('2026-11-22T10:00:00Z')
  const { sim, ask, logIn } = await startV4(t, { now: () => now, v4: { tokenLifetime: 60 } })
  const authorization = `Bearer ${await logIn()}`
  t.match(await ask('GET /agents?limit=1', { authorization }), { status: 200 })
  const refused = { status: 401, json: { title: 'Unauthorized', detail: 'Invalid token' } }
  t.match(await ask('GET /agents?limit=1', { authorization, node: 'worker-1' }), refused)
  t.match(await ask('GET /agents?limit=1', { authorization: 'Bearer garbage' }), refused)

  now = new Date(now.getTime() + 60_000)
  t.match(await ask('GET /agents?limit=1', { authorization }), refused, 'it expired')

  const next = `Bearer ${await logIn()}`
  now = new Date(now.getTime() + 1000)
  t.match(await ask('DELETE /security/user/authenticate', { authorization: next }), { status: 200 })
  t.match(await ask('GET /agents?limit=1', { authorization: next }), refused, 'the user logged out')

  const last = `Bearer ${await logIn()}`
  sim.v4.revokeTokens()
  t.match(await ask('GET /agents?limit=1', { authorization: last }), refused, 'it was voided')
})

t.test('credentials are refused at calls, and wrong ones at the login', async (t) => {
  const { ask } = await startV4(t)
  const none = { status: 401, json: { detail: 'No authorization token provided' } }
  t.match(await ask('GET /agents', { authorization: basic('edge', 'simulated') }), none)
  const wrong = { status: 401, json: { detail: 'Invalid credentials' } }
  t.match(await ask('POST /security/user/authenticate', { authorization: basic('edge', 'wrong') }), wrong)
  t.match(await ask('GET /security/user/authenticate', { authorization: basic('edge', 'simulated') }), {
    status: 200,
    json: { data: { token: String }, error: 0 },
  })
})

t.test('an ended token is good again at the one of two processes that the end does not reach, for 900 s', async (t) => {
  let now = new Date('2026-11-22T10:00:00Z')
  const { ask, logIn } = await startV4(t, {
    now: () => now,
    v4: { tokenLifetime: 3_600, tokenCacheMs: 900_000 },
  })
  const authorization = `Bearer ${await logIn()}`
  const statuses = async (times: number) => {
    const all: number[] = []
    for (let nth = 0; nth < times; nth += 1) all.push((await ask('GET /agents?limit=1', { authorization })).status)
    return all
  }
  t.same(await statuses(2), [200, 200])
  now = new Date(now.getTime() + 1_000)
  t.match(await ask('PUT /security/user/revoke', { authorization }), { status: 200 })
  t.same((await statuses(6)).sort(), [200, 200, 200, 401, 401, 401])
  now = new Date(now.getTime() + 900_000)
  t.same(await statuses(2), [401, 401])
})

t.test('release 5.0: an end of tokens reaches one of two processes, new keys reach both', async (t) => {
  let now = new Date('2026-11-22T10:00:00.200Z')
  const v4 = { tokenLifetime: 3_600, tokenCacheMs: 900_000 }
  const { ask, logIn } = await startV4(t, { version: '5.0.0', now: () => now, v4 })
  const statuses = async (authorization: string, times: number) => {
    const all: number[] = []
    for (let nth = 0; nth < times; nth += 1) all.push((await ask('GET /agents?limit=1', { authorization })).status)
    return all.sort()
  }
  const authorization = `Bearer ${await logIn()}`
  t.same(await statuses(authorization, 2), [200, 200])
  now = new Date(now.getTime() + 100)
  t.match(await ask('DELETE /security/user/authenticate', { authorization }), { status: 200 })
  t.same(await statuses(authorization, 4), [200, 200, 401, 401], 'in the same second too')
  const next = `Bearer ${await logIn()}`
  t.same(await statuses(next, 4), [200, 200, 200, 200], 'a token of the same second is good')
  t.match(await ask('PUT /security/user/revoke', { authorization: next }), { status: 200 })
  t.same(await statuses(next, 4), [401, 401, 401, 401])
})
