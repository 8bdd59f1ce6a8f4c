/** A prepared hit answers exactly the requests that the regular path answers, with the same status, headers and bytes. */
import { isDeepStrictEqual } from 'node:util'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { createAccess } from '../../../src/access/index.ts'
import { LoginAttempts } from '../../../src/access/login-attempts.ts'
import { createManagerTokenAccess } from '../../../src/access/manager-token-access.ts'
import type { VerifyPassword } from '../../../src/access/passwords.ts'
import { putUser } from '../../../src/access/users-file.ts'
import { catalogue } from '../../../src/contracts/index.ts'
import { v4Contract as v4Records } from '../../../src/contracts/v4/index.ts'
import { createCounters } from '../../../src/core/counters.ts'
import { createAuthenticator } from '../../../src/http/authenticator.ts'
import { v3Contract } from '../../../src/http/v3.ts'
import { v4Contract } from '../../../src/http/v4/contract.ts'
import { basic, cachedResponse, repeating, startServer, type TestServer, uncachedResponse } from './test-server.ts'

const body = Buffer.from(JSON.stringify({ error: 0, data: 'x'.repeat(2000) }))
// One stored response, as in a cache: it keeps its encoded forms.
const stored = cachedResponse(body)
const handle = repeating(({ kind }) => (kind === 'read' ? stored : uncachedResponse(body)))
const URLS = ['/agents', '/agents?pretty=true'] as const
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

const HEADERS: readonly Readonly<Record<string, string>>[] = [
  {},
  { 'if-none-match': '*' },
  { 'accept-encoding': 'br, gzip' },
  { accept: 'application/problem+json' },
  { 'wazuh-app-version': '9.0.0' },
  { 'content-type': 'text/nonsense' },
  { 'content-encoding': 'gzip' },
  { 'content-length': '0' },
  { 'cache-control': 'no-cache' },
  { prefer: 'return=minimal' },
  { upgrade: 'h2c', connection: 'upgrade' },
]

let release = '4.5.4'
const CONTRACTS = {
  v3: v3Contract(catalogue),
  v4: v4Contract({ catalogue: v4Records, releases: () => ({ lowest: release }) }),
} as const
type Contract = keyof typeof CONTRACTS
const MODES = ['service', 'passthrough'] as const
type Mode = (typeof MODES)[number]

/** A server of one contract and mode, and a token of alice. */
async function start(t: Test, contract: Contract, mode: Mode) {
  const users = `${t.testdir()}/users`
  for (const name of ['alice', 'bob']) await putUser(users, name, `${name}-pw`, 4)
  const verify: VerifyPassword = async ({ username, password }) => password === `${username}-pw`
  const own = await createAccess({
    users: mode === 'service' ? { file: users } : { verify, role: 'administrator' },
    roles: { alice: ['administrator'], bob: ['reader'] },
    customRoles: {},
    tokens: { lifetime: () => 900, issuers: [] },
    limits: { failedLogins: () => 100_000 },
    log: () => undefined,
  })
  t.teardown(() => own.close())
  const acceptance = { noteAnswer: () => undefined, current: () => () => undefined }
  const access =
    mode === 'service' || contract === 'v3'
      ? own
      : createManagerTokenAccess(own, {
          node: () => 'master',
          check: async ({ user }) => (user === 'alice' ? acceptance : undefined),
          attempts: new LoginAttempts({ failedLogins: () => 100_000, counters: createCounters(() => 0) }),
          permissionsOf: (name) => own.permissionsOf?.(name) ?? [],
        })
  const server = await startServer(t, handle, {
    contract: CONTRACTS[contract],
    authentication: (app: FastifyInstance) => createAuthenticator(app, access, {}),
  })
  return { server, token: mode === 'service' ? await own.issueToken('alice') : managerToken('alice') }
}

/** A token as the manager issues them. Its signature is checked by the node only. */
function managerToken(name: string): string {
  const part = (value: object | string) =>
    Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
  const now = Math.floor(Date.now() / 1000)
  const claims = { iss: 'manager', nbf: now, exp: now + 900, sub: name, rbac_roles: [1], rbac_mode: 'white' }
  return `${part({ alg: 'ES512', typ: 'JWT' })}.${part(claims)}.${part('x'.repeat(132))}`
}

const authorizations = (token: string): readonly string[] => [
  '',
  basic('alice'),
  basic('bob'),
  basic('alice').replace('Basic', 'BASIC'),
  basic('alice').replace(' ', '  '),
  `Basic ${btoa('alice:wrong')}`,
  'Basic !!!',
  `Bearer ${token}`,
  `bearer ${token}`,
  `Bearer  ${token}`,
  `Bearer ${token}x`,
  'Digest x',
]

interface Form {
  readonly method: string
  readonly url: string
  readonly authorization: string
  readonly headers: Readonly<Record<string, string>>
}

/** Reads with each set of headers, all other methods with each scheme. */
function formsOf(token: string): readonly Form[] {
  const formsOfMethod = (method: string): readonly Form[] => {
    const isRead = method === 'GET' || method === 'HEAD'
    return (isRead ? URLS : URLS.slice(0, 1)).flatMap((url) =>
      authorizations(token).flatMap((authorization) =>
        (isRead ? HEADERS : [{}]).map((headers) => ({ method, url, authorization, headers })),
      ),
    )
  }
  return METHODS.flatMap(formsOfMethod)
}

async function shown(server: TestServer, { method, url, authorization, headers }: Form) {
  const before = server.requests.length
  const response = await server.send(url, { authorization, ...headers }, method)
  const { date: _1, 'x-request-id': _2, ...others } = response.headers
  const wasPrepared = response.status < 400 && server.requests.length === before
  return { wasPrepared, answer: { status: response.status, headers: others, body: response.body.toString('latin1') } }
}

for (const contract of Object.keys(CONTRACTS) as Contract[]) {
  for (const mode of MODES) {
    t.test(`${contract} contract, mode ${mode}`, { timeout: 300_000 }, async (t) => {
      const { server, token } = await start(t, contract, mode)
      const forms = formsOf(token)
      // From now on the edge knows these credentials, and has each encoded form of the response.
      for (const name of ['alice', 'bob'])
        await server.send('/security/user/authenticate', { authorization: basic(name) }, 'POST')
      const prepare = async (): Promise<void> => {
        for (const authorization of [`Bearer ${token}`, basic('alice')])
          for (const path of URLS) await server.send(path, { authorization, 'accept-encoding': 'br, gzip' })
      }
      await prepare()
      const cold: object[] = []
      for (const form of forms) {
        server.forgetUrls()
        cold.push((await shown(server, form)).answer)
      }
      await prepare()
      const differences: object[] = []
      let prepared = 0
      for (const [nth, form] of forms.entries()) {
        const { answer, wasPrepared } = await shown(server, form)
        if (wasPrepared) prepared += 1
        if (!isDeepStrictEqual(answer, cold[nth])) differences.push({ ...form, cold: cold[nth], prepared: answer })
      }
      t.strictSame(differences.slice(0, 5), [], `${differences.length} of ${forms.length} forms differ`)
      t.ok(prepared > 10, `${prepared} of them are prepared hits`)
      if (contract === 'v3' && mode === 'passthrough') return
      t.equal((await server.send('/rules', { authorization: `Bearer  ${token}` })).status, 200, 'two spaces')
      const nodeToken = server.requests.at(-1)?.caller.nodeToken
      if (mode === 'passthrough') t.equal(nodeToken?.header(), `Bearer ${token}`)
    })
  }
}

t.test('v4 contract: a prepared hit ends when nodes of another release validate its URL', async (t) => {
  const { server, token } = await start(t, 'v4', 'service')
  t.teardown(() => {
    release = '4.5.4'
  })
  const read = () => server.send('/groups?distinct=true', { authorization: `Bearer ${token}` })
  release = '4.7.0'
  for (const _ of ['first', 'prepared']) t.equal((await read()).status, 200)
  t.equal(server.requests.length, 1)
  release = '4.5.4'
  t.equal((await read()).status, 400, 'the parameter is one of later releases')
})
