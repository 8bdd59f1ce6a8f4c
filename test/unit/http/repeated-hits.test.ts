import t from 'tap'
import { createAccess } from '../../../src/access/index.ts'
import { createAuthenticator } from '../../../src/http/authenticator.ts'
import { createLatch } from '../../support/edge-requests.ts'
import { eventually } from '../../support/eventually.ts'
import { basic, cachedResponse, repeating, startServer } from './test-server.ts'

const small = Buffer.from('{"error":0,"data":"y"}')

const handle = repeating(() => cachedResponse(small))

t.test('repeated hits never mix up callers, and are logged as other responses are', async (t) => {
  const server = await startServer(t, handle)
  for (const name of ['alice', 'bob', 'alice']) {
    await server.send('/agents', { authorization: basic(name) })
  }
  const wrong = await server.send('/agents', { authorization: `Basic ${btoa('alice:bob-pw')}` })
  t.equal(wrong.status, 401)
  t.equal(server.requests.length, 2, 'the first request of each caller; the other one is a repeated hit')
  const lines = server.logLines
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ msg }) => msg === 'request')
  t.match(
    lines.map(({ caller, status, route, method }) => ({ caller, status, route, method })),
    [
      { caller: 'alice', status: 200, route: '/agents', method: 'GET' },
      { caller: 'bob', status: 200, route: '/agents', method: 'GET' },
      { caller: 'alice', status: 200, route: '/agents', method: 'GET' },
      { caller: undefined, status: 401, route: '/agents', method: 'GET' },
    ],
  )
  const names = lines.map((line) =>
    Object.keys(line)
      .filter((name) => name !== 'caller')
      .sort()
      .join(),
  )
  t.equal(new Set(names).size, 1, 'with the same fields')
})

t.test('in mode passthrough a hit is repeated for each user whose password was verified', async (t) => {
  const access = await createAccess({
    users: { verify: async ({ username, password }) => password === `${username}:ü`, role: 'administrator' },
    roles: {},
    customRoles: {},
    tokens: { lifetime: () => 900, issuers: [] },
    limits: { failedLogins: () => 100 },
    log: () => undefined,
  })
  const server = await startServer(t, handle, {
    authentication: (app) => createAuthenticator(app, access, {}),
  })
  const authorization = `Basic ${Buffer.from('carol:carol:ü').toString('base64')}`
  for (const _ of ['first', 'repeated', 'repeated']) {
    t.equal((await server.send('/agents', { authorization })).status, 200)
    t.equal(server.requests.length, 1)
  }
  const wrong = `Basic ${Buffer.from('carol:carol').toString('base64')}`
  t.equal((await server.send('/agents', { authorization: wrong })).status, 401)
  t.strictSame(
    server.requests.map(({ caller }) => caller.credentials),
    [{ username: 'carol', password: 'carol:ü' }],
  )
})

t.test('a request from before a reload prepares no hit', async (t) => {
  const latch = createLatch()
  let isHeld = true
  const server = await startServer(t, async (request) => {
    if (isHeld) await latch.opened
    return handle(request)
  })
  const early = server.send('/agents')
  await eventually(() => server.requests.length === 1)
  server.forgetUrls()
  isHeld = false
  latch.open()
  await early
  await server.send('/agents')
  t.equal(server.requests.length, 2, 'it is validated with the new settings')
  await server.send('/agents')
  t.equal(server.requests.length, 2)
})

t.test(
  'an error of a listener for requests is logged with its message and its stack, and the response is sent',
  async (t) => {
    let calls = 0
    const observe = () => {
      calls += 1
      if (calls === 2) throw new TypeError('the metrics failed')
    }
    const server = await startServer(t, handle, { observe })
    await server.send('/agents')
    t.equal((await server.send('/agents')).status, 200)
    t.equal((await server.send('/agents')).status, 200)
    const line = server.logLines.map((text) => JSON.parse(text)).find(({ level }) => level === 50)
    t.match(line, {
      msg: 'request not reported',
      reqId: /^[0-9a-f-]{36}$/,
      err: { type: 'TypeError', message: 'the metrics failed', stack: /repeated-hits/ },
    })
  },
)
