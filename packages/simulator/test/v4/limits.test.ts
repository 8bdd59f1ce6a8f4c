import t from 'tap'
import { basic, startV4 } from './ask.ts'

t.test('a node takes its limit of requests in a minute, whatever they are', async (t) => {
  let now = new Date('2026-11-22T10:00:00Z')
  const { ask, logIn } = await startV4(t, { now: () => now, v4: { requestsPerMinute: 4 } })
  const authorization = `Bearer ${await logIn()}`
  t.equal((await ask('GET /nope', { authorization })).status, 404)
  t.equal((await ask('GET /agents', { authorization: 'Bearer wrong' })).status, 401)
  t.equal((await ask('GET /agents?limit=1', { authorization })).status, 200)
  now = new Date(now.getTime() + 59_000)
  const over = await ask('GET /agents?limit=1', { authorization })
  t.match(over, { status: 429, json: { title: 'Too Many Requests', error: 6001 } })
  t.equal(over.headers['retry-after'], undefined)
  t.equal(over.headers['content-type'], 'application/problem+json; charset=utf-8')
  t.equal((await ask('GET /', { authorization, node: 'worker-1' })).status, 401, 'each node counts for itself')
  now = new Date(now.getTime() + 2000)
  t.equal((await ask('GET /agents?limit=1', { authorization })).status, 200, 'a new window')
})

t.test('fifty failed logins block the address with all its tokens for 300 s', async (t) => {
  let now = new Date('2026-11-22T10:00:00Z')
  const { sim, ask, logIn } = await startV4(t, { now: () => now })
  const authorization = `Bearer ${await logIn()}`
  const wrong = { authorization: basic('edge', 'wrong') }
  for (let n = 0; n < 50; n += 1) t.equal((await ask('POST /security/user/authenticate', wrong)).status, 401)
  const blocked = { status: 403, json: { title: 'Permission Denied', error: 6000 } }
  t.match(await ask('POST /security/user/authenticate', wrong), blocked)
  t.match(await ask('GET /agents', { authorization }), blocked)
  now = new Date(now.getTime() + 300_000)
  t.equal((await ask('GET /agents', { authorization })).status, 200)

  sim.v4.blockAddress('master')
  t.match(await ask('GET /agents', { authorization }), blocked, 'a test can block it')
  sim.v4.restartApi('master')
  t.equal((await ask('GET /agents', { authorization })).status, 200, 'the API forgets it when it restarts')
})

t.test('a body over 10 MiB and a URL over 8190 bytes are refused', async (t) => {
  const { ask } = await startV4(t)
  const body = 'x'.repeat(10 * 1024 * 1024 + 1)
  t.match(await ask('PUT /groups/default/configuration', { type: 'application/xml', body }), {
    status: 413,
    json: { title: 'Request Entity Too Large' },
  })
  t.match(await ask(`GET /agents?select=${'id,'.repeat(3000)}id`), { status: 400, json: undefined })
})
