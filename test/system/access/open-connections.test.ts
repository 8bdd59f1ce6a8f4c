/**
 * Connections that stay open, with remembered hits on them: each change of who may read, from where, under which name of
 * the edge applies to the next response after the change is in use. The event that ends the wait is the log line of the
 * reload, or the response of the request that revokes.
 */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { createKeyFile } from '../../../src/access/signing-keys.ts'
import { putUser, removeUser } from '../../../src/access/users-file.ts'
import { eventually } from '../../support/eventually.ts'
import { openConnection, type RawConnection, statusOf } from '../../unit/http/raw-connection.ts'
import { type Reloadable, reloadable } from '../reload/edge.ts'
import { startProvider } from '../reload/issuer.ts'
import { basic, bearer, folder } from './edge.ts'

const NAMES = ['steady', 'removed', 'password', 'role', 'custom', 'proxied', 'signed', 'revoked', 'host'] as const
type Name = (typeof NAMES)[number] | 'issued'
/** More than the edge needs to answer a request in front of the parser. */
const WARM_UP = 6

interface Row {
  readonly name: Name
  readonly what: string
  /** Resolves when the change is in use. */
  change(edge: Reloadable): Promise<unknown>
  /** Status after the change. */
  readonly status: number
  /** The address of the client in the request log, after the change. */
  readonly client?: string
}

const FORWARDED = '203.0.113.9'

t.test('remembered hits of open connections follow each change at once', async (t) => {
  const provider = await startProvider(t)
  const [keys, users] = [await folder(t), join(await folder(t), 'users')]
  for (const name of NAMES) await putUser(users, name, `${name}-pw`, 4)
  const oldKey = await createKeyFile(keys, () => new Date('2026-01-01'))
  const roles = Object.fromEntries(NAMES.map((name) => [name, [name === 'custom' ? 'desk' : 'reader']]))
  const edge = await reloadable(t, {
    listen: { trustedProxies: ['127.0.0.1'], hosts: ['edge.example', 'other.example'] },
    access: { users, roles, customRoles: { desk: ['agents:read'] }, tokens: { keys, issuers: [provider.settings] } },
    cache: { ttl: { agents: '1h' } },
  })
  /** Runs the change, and resolves after the log line of the reload that it causes. */
  const reloaded = async (line: string, run: () => Promise<unknown>) => {
    const before = edge.logged(line).length
    await run()
    await eventually(() => edge.logged(line).length > before)
  }
  const configured = (changes: Readonly<Record<string, unknown>>) =>
    reloaded('configuration reloaded', () => edge.change(changes))
  const authenticate = (method: 'POST' | 'DELETE', credentials: string) => {
    const [, authorization = ''] = /^Authorization: (.*)$/.exec(credentials) ?? []
    // A name of `Host` is needed, which `fetch` does not set.
    return onConnection(t, edge, `${method} /security/user/authenticate HTTP/1.1`, [`Authorization: ${authorization}`])
  }
  const tokenOf = async (name: Name) => {
    const response = await authenticate('POST', basic(name, `${name}-pw`))
    return bearer(/"token":"([^"]+)"/.exec(response)?.[1] ?? '')
  }

  const rows: readonly Row[] = [
    {
      name: 'removed',
      what: 'a user is removed from the users file',
      change: () => reloaded('users file reloaded', () => removeUser(users, 'removed')),
      status: 401,
    },
    {
      name: 'password',
      what: 'the password of a user is changed',
      change: () => reloaded('users file reloaded', () => putUser(users, 'password', 'another password', 4)),
      status: 401,
    },
    {
      name: 'role',
      what: 'a user gets another role',
      change: () => configured({ 'access.roles': { ...roles, role: [] } }),
      status: 403,
    },
    {
      name: 'custom',
      what: 'a custom role grants less',
      change: () => configured({ 'access.customRoles': { desk: ['rules:read'] } }),
      status: 403,
    },
    {
      name: 'revoked',
      what: 'the tokens of a user are revoked',
      change: async () => t.equal(statusOf(await authenticate('DELETE', basic('revoked', 'revoked-pw'))), 200),
      status: 401,
    },
    {
      name: 'signed',
      what: 'the key of a token is removed',
      change: async () => {
        // The next key signs before the old one is removed: a folder without a private key would not be loaded.
        await reloaded('signing keys reloaded', () => createKeyFile(keys, () => new Date('2026-01-02')))
        await reloaded('signing keys reloaded', () => rm(oldKey))
      },
      status: 401,
    },
    {
      name: 'issued',
      what: 'an outside issuer is no longer accepted',
      change: () => configured({ 'access.tokens.issuers': [] }),
      status: 401,
    },
    {
      name: 'proxied',
      what: 'a proxy is no longer trusted',
      change: () => configured({ 'listen.trustedProxies': [] }),
      status: 200,
      client: '127.0.0.1',
    },
    {
      name: 'host',
      what: 'a name of the edge is removed',
      change: () => configured({ 'listen.hosts': ['edge.example'] }),
      status: 421,
    },
  ]

  const headers: Readonly<Record<Name, readonly string[]>> = {
    steady: [basic('steady', 'steady-pw')],
    removed: [basic('removed', 'removed-pw')],
    password: [basic('password', 'password-pw')],
    role: [basic('role', 'role-pw')],
    custom: [basic('custom', 'custom-pw')],
    revoked: [await tokenOf('revoked')],
    signed: [await tokenOf('signed')],
    issued: [bearer(provider.tokenOf('carol'))],
    proxied: [basic('proxied', 'proxied-pw'), `X-Forwarded-For: ${FORWARDED}`],
    host: [basic('host', 'host-pw')],
  }
  const requests = new Map(
    Object.entries(headers).map(([name, lines]) => [
      name,
      textOf('GET /agents?limit=1 HTTP/1.1', lines, name === 'host' ? 'other.example' : 'edge.example'),
    ]),
  )
  const connections = new Map<string, RawConnection>()
  const ask = async (name: string) => (await connections.get(name)?.ask(requests.get(name) ?? '')) ?? ''
  for (const name of requests.keys()) {
    connections.set(name, await openConnection(t, Number(new URL(edge.edge.url).port)))
    for (let count = 0; count < WARM_UP; count++) await ask(name)
    const warm = await ask(name)
    t.equal(statusOf(warm), 200, name)
    t.match(warm, /cache-status: .*hit/i, `${name}: a hit`)
  }
  const clientOf = async (response: string) => {
    const [, id = 'none'] = /x-request-id: (\S+)/i.exec(response) ?? []
    const find = () => edge.lines().find((line) => line.reqId === id)
    await eventually(() => find() !== undefined)
    return find()?.client
  }
  t.equal(await clientOf(await ask('proxied')), FORWARDED)

  for (const { name, what, change, status, client } of rows) {
    await change(edge)
    const next = await ask(name)
    t.equal(statusOf(next), status, `${what}: the next response is ${status}`)
    if (client !== undefined) t.equal(await clientOf(next), client, what)
    const steady = await ask('steady')
    t.equal(statusOf(steady), 200, `${what}: other connections stay open, with hits`)
    t.match(steady, /cache-status: .*hit/i)
  }
})

const passthrough = {
  cluster: { discover: false, credentials: { mode: 'passthrough', username: undefined, password: undefined } },
  access: { users: undefined, roles: { edge: ['reader'] }, customRoles: { none: ['rules:read'] } },
  cache: { ttl: { agents: '1h' } },
}

t.test('so do those of mode passthrough', async (t) => {
  const edge = await reloadable(t, { ...passthrough, access: { ...passthrough.access, passthroughRole: 'none' } })
  const text = textOf('GET /agents?limit=1 HTTP/1.1', [basic('edge', 'only-for-tests')], 'edge')
  const connection = await openConnection(t, Number(new URL(edge.edge.url).port))
  const warm = async () => {
    for (let count = 0; count < WARM_UP; count++) await connection.ask(text)
    return connection.ask(text)
  }
  t.match(await warm(), /^HTTP\/1.1 200[\s\S]*cache-status: .*hit/i)
  await edge.change({ 'access.roles': {} })
  t.equal(statusOf(await connection.ask(text)), 403, 'a role of a named user is taken back')
  await edge.change({ 'access.passthroughRole': 'passthrough' })
  t.match(await warm(), /^HTTP\/1.1 200[\s\S]*cache-status: .*hit/i)
  await edge.change({ 'access.passthroughRole': 'none' })
  t.equal(statusOf(await connection.ask(text)), 403, 'the role of all users changes')
})

function textOf(line: string, headers: readonly string[], host: string): string {
  return `${[line, `Host: ${host}`, 'Accept-Encoding: identity', ...headers].join('\r\n')}\r\n\r\n`
}

/** Sends one request on a new connection, and returns its response. */
async function onConnection(
  t: { teardown(end: () => unknown): unknown },
  { edge }: Reloadable,
  line: string,
  headers: readonly string[],
): Promise<string> {
  const connection = await openConnection(t, Number(new URL(edge.url).port))
  return connection.ask(textOf(line, headers, 'edge.example'))
}
