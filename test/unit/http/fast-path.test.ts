import t from 'tap'
import { createAccess } from '../../../src/access/index.ts'
import type { EdgeResponse } from '../../../src/core/response.ts'
import { createAuthenticator } from '../../../src/http/authenticate.ts'
import { basic, cachedResponse, startServer } from './test-server.ts'

const small = Buffer.from('{"error":0,"data":"y"}')

async function handle(): Promise<EdgeResponse> {
  return cachedResponse(small)
}

t.test('the fast path never mixes up callers, and logs as the regular path does', async (t) => {
  const server = await startServer(t, handle)
  for (const name of ['alice', 'bob', 'alice']) {
    await server.send('/agents', { authorization: basic(name) })
    t.equal(server.requests.at(-1)?.caller.name, name)
  }
  const wrong = await server.send('/agents', { authorization: `Basic ${btoa('alice:bob-pw')}` })
  t.equal(wrong.status, 401)
  t.equal(server.requests.length, 3)
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

t.test('in mode passthrough a hit takes the fast path, with the credentials of the request', async (t) => {
  const access = await createAccess({
    realm: 'Manager Edge',
    users: { verify: async (name, password) => password === `${name}:ü`, role: 'administrator' },
    roles: {},
    customRoles: {},
    tokens: { lifetime: 900, issuer: 'manager-edge', audience: 'manager-edge', issuers: [] },
    limits: { failedLogins: 100 },
    log: () => undefined,
  })
  const fastLines: string[] = []
  const server = await startServer(t, handle, {
    authentication: (app) => createAuthenticator(app, access),
    writeLine: (line) => void fastLines.push(line),
  })
  const authorization = `Basic ${Buffer.from('carol:carol:ü').toString('base64')}`
  for (const taken of [0, 1, 2]) {
    t.equal((await server.send('/agents', { authorization })).status, 200)
    t.equal(fastLines.length, taken)
    t.strictSame(server.requests.at(-1)?.caller.credentials, { username: 'carol', password: 'carol:ü' })
  }
})

t.test('an error on the fast path is logged with its message and its stack', async (t) => {
  let calls = 0
  const observe = () => {
    calls += 1
    if (calls === 2) throw new TypeError('the metrics failed')
  }
  const server = await startServer(t, handle, { observe })
  await server.send('/agents')
  await server.send('/agents')
  const line = server.logLines.map((text) => JSON.parse(text)).find(({ level }) => level === 50)
  t.match(line, {
    msg: 'fast path failed',
    reqId: /^[0-9a-f-]{36}$/,
    err: { type: 'TypeError', message: 'the metrics failed', stack: /fast-path/ },
  })
})
