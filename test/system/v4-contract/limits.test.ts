/** The limits of a node are kept by the edge, so that no client suffers from another one. */
import t from 'tap'
import { twoReplicas } from './two-replicas.ts'

const shortTimeout = { cluster: { limits: { timeout: '2s' } } }

t.test('a node at its limit of requests answers no client with 429', async (t) => {
  const { simulator, send, logIn } = await twoReplicas(t, { more: shortTimeout, requestsPerMinute: 12 })
  const ann = await logIn('ann')
  t.equal((await send(0, '/agents?limit=1', ann)).status, 200)
  const statuses = new Set<number>()
  // No response to these reads is stored.
  const responses = await Promise.all(Array.from({ length: 30 }, (_, nth) => send(nth % 2, '/security/users/me', ann)))
  for (const { status, headers, body } of responses) {
    statuses.add(status)
    if (status === 200) continue
    t.match(headers.get('retry-after'), /^[0-9]+$/, JSON.stringify(body))
    t.match(headers.get('content-type'), /^application\/problem\+json/)
  }
  t.same([...statuses].sort(), [200, 503])
  const refused = simulator.v4.refusedRequests('master')
  t.ok(refused <= 8, `${refused} refusals show the limit to the replicas: as many as calls in flight`)
  t.equal((await send(1, '/agents?limit=1', ann)).status, 200, 'a stored response')
})

t.test('a client over its own limit gets 429 with the time to wait', async (t) => {
  const { send, logIn } = await twoReplicas(t, { more: { access: { limits: { requestsPerSecond: 3 } } } })
  const ann = await logIn('ann')
  const responses = await Promise.all(Array.from({ length: 30 }, (_, nth) => send(0, `/agents?limit=${nth + 1}`, ann)))
  const refused = responses.filter(({ status }) => status === 429)
  t.ok(refused.length > 0)
  for (const { headers, body } of refused) {
    t.equal(headers.get('retry-after'), '1')
    t.ok(headers.has('ratelimit') || headers.has('ratelimit-limit') || headers.has('x-ratelimit-limit'))
    t.type(body.title, 'string')
  }
})

t.test('failed logins of one client do not block the address of the edge at the node', async (t) => {
  const { simulator, send, logIn } = await twoReplicas(t, { more: shortTimeout })
  const eve = await logIn('eve')
  t.equal((await send(0, '/agents', eve)).status, 200)
  const wrong = (nth: number) => `Basic ${btoa(`user-${nth}:wrong`)}`
  const before = simulator.seen.length
  const responses = await Promise.all(
    Array.from({ length: 120 }, (_, nth) => send(nth % 2, '/security/user/authenticate', wrong(nth), 'POST')),
  )
  t.notOk(responses.some(({ status }) => status === 200))
  const logins = simulator.seen.slice(before).filter(({ url }) => url.startsWith('/security/user/authenticate')).length
  t.ok(logins < 50, `${logins} logins reached the node, which would block the address after 50`)
  for (const at of [0, 1]) t.equal((await send(at, '/agents?sort=-name', eve)).status, 200, 'others are served')
})
