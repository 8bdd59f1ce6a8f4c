import t, { type Test } from 'tap'
import { createAccess } from '../../../src/access/index.ts'
import { type EdgeRequest, type Handler, NO_COST } from '../../../src/core/request.ts'
import { createAuthenticator } from '../../../src/http/authenticator.ts'
import type { RateLimit, RateLimits } from '../../../src/http/rate-limit.ts'
import { cachedResponse, repeating, startServer, type TestServer } from './test-server.ts'

const json = Buffer.from('{"error":0,"data":"y"}')
const perMinute = (max: number): RateLimit => ({ max: () => max, windowMs: 60_000 })

/** A server whose pipeline answers from the cache, or charges the request if `isMiss`. */
async function start(t: Test, limits: RateLimits, isRepeated: boolean) {
  const access = await createAccess({
    users: { verify: async () => true, role: 'administrator' },
    roles: {},
    customRoles: {},
    tokens: { lifetime: () => 900, issuers: [] },
    limits: { failedLogins: () => 100 },
    log: () => undefined,
  })
  const state = { isMiss: false, nodeCalls: 0 }
  const handle: Handler = (request: EdgeRequest) => {
    if (state.isMiss) {
      const cost = request.kind === 'read' ? request.cost : NO_COST
      cost.charge()
      cost.charge()
      state.nodeCalls += 1
    }
    return cachedResponse(json, state.isMiss ? { fwd: 'uri-miss' } : undefined)
  }
  const server = await startServer(t, isRepeated ? repeating(handle, () => !state.isMiss) : handle, {
    authentication: (app) => createAuthenticator(app, access, limits),
  })
  return { server, state }
}

async function statuses(server: TestServer, requests: number, headers = {}, method = 'GET'): Promise<number[]> {
  const found: number[] = []
  for (let turn = 0; turn < requests; turn++) found.push((await server.send('/agents', headers, method)).status)
  return found
}

for (const isRepeated of [true, false]) {
  const path = isRepeated ? 'repeated hits' : 'hits of the pipeline'

  t.test(`${path}: hits do not count against the limit on requests that cost`, async (t) => {
    const { server } = await start(t, { perCaller: perMinute(3), perAddress: perMinute(3) }, isRepeated)
    t.ok((await statuses(server, 20)).every((status) => status === 200))
    t.ok((await statuses(server, 20, {}, 'HEAD')).every((status) => status === 200))
    const { etag = '' } = (await server.send('/agents')).headers
    t.ok((await statuses(server, 20, { 'if-none-match': etag })).every((status) => status === 304))
    t.equal(server.requests.length < 61, isRepeated)
  })

  t.test(`${path}: a read that turns out to cost is 903 over the limit, and no node is called`, async (t) => {
    const { server, state } = await start(t, { perCaller: perMinute(3) }, isRepeated)
    await statuses(server, 3)
    state.isMiss = true
    t.strictSame(await statuses(server, 5), [200, 200, 200, 429, 429])
    t.equal(state.nodeCalls, 3)
    const over = await server.send('/agents')
    t.equal(JSON.parse(over.body.toString()).error, 903)
    t.match(over.headers, {
      'retry-after': /^[1-9]\d*$/,
      'ratelimit-limit': '3',
      'ratelimit-remaining': '0',
      'ratelimit-reset': /^[1-9]\d*$/,
    })
    state.isMiss = false
    t.strictSame(await statuses(server, 1), [200], 'hits continue')
  })

  t.test(`${path}: hits have their own limit`, async (t) => {
    const { server } = await start(t, { hitsPerCaller: perMinute(10), perCaller: perMinute(1) }, isRepeated)
    t.strictSame((await statuses(server, 12)).slice(9), [200, 429, 429])
    const over = await server.send('/agents')
    t.equal(JSON.parse(over.body.toString()).error, 903)
    t.match(over.headers, { 'retry-after': /^[1-9]\d*$/, 'ratelimit-limit': '10', 'ratelimit-remaining': '0' })
  })

  t.test(`${path}: reads that cost share the limit of their address`, async (t) => {
    // The verification of the credentials counts as one.
    const { server, state } = await start(t, { perCaller: perMinute(100), perAddress: perMinute(4) }, isRepeated)
    await statuses(server, 1)
    state.isMiss = true
    t.strictSame(await statuses(server, 4), [200, 200, 200, 429])
  })
}

t.test('a write counts before its body is read', async (t) => {
  const { server, state } = await start(t, { perCaller: perMinute(2) }, true)
  const write = async () => (await server.send('/agents/groups/fresh', {}, 'PUT')).status
  t.strictSame([await write(), await write(), await write()], [200, 200, 429])
  t.equal(server.requests.length, 2)
  t.ok(
    server.requests.every((request) => !('cost' in request)),
    'and it is not charged again',
  )
  state.isMiss = true
  t.strictSame(await statuses(server, 1), [429], 'writes and misses share the limit')
})
