/**
 * A small edge on a real socket: authentication, the token endpoints, and `/who`, which returns the caller. `/miss` does
 * so too, and turns out to cost only in its handler.
 */

import { mkdtemp, rm } from 'node:fs/promises'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify'
import type { Test } from 'tap'
import type { AccessOptions } from '../../../src/access/access.ts'
import { createAccess, createTokenOperations } from '../../../src/access/index.ts'
import { putUser } from '../../../src/access/users-file.ts'
import { EdgeError } from '../../../src/core/errors.ts'
import type { EdgeRequest, Handler } from '../../../src/core/request.ts'
import { createAuthenticator } from '../../../src/http/authenticator.ts'
import type { RateLimits } from '../../../src/http/rate-limit.ts'
import type { CountRequest } from '../../../src/http/request-counts.ts'

export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

export interface Edge {
  readonly access: Awaited<ReturnType<typeof createAccess>>
  readonly users: string
  readonly logged: string[]
  /** Sends header lines unchanged. The `X-Address` line sets the address of the client. */
  ask(lines: readonly string[], request?: string): Promise<Reply>
}

export const passwords = { alice: 'open sesame', bob: 'swordfish', jörg: 'Straße§1!' } as const
export const basic = (name: string, password: string) =>
  `Authorization: Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`
export const bearer = (token: string) => `Authorization: Bearer ${token}`

/** The settings of an external issuer that have defaults (src/config/schema.ts). */
export const issuerDefaults = {
  algorithms: ['RS256', 'ES256', 'EdDSA'],
  lifetime: 3600,
  jti: 'required',
  rolesClaim: 'roles',
} as const

export async function folder(t: Pick<Test, 'teardown'>): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'edge-access-'))
  t.teardown(() => rm(path, { recursive: true, force: true }))
  return path
}

/** Writes a file with the users alice (administrator) and bob (reader), with the lowest bcrypt cost. */
export async function usersFile(t: Pick<Test, 'teardown'>): Promise<string> {
  const users = join(await folder(t), 'users')
  for (const [name, password] of Object.entries(passwords)) await putUser(users, name, password, 4)
  return users
}

interface EdgeOptions extends Partial<AccessOptions> {
  readonly limits?: AccessOptions['limits'] & RateLimits
  readonly count?: CountRequest
  /** Whether `/who` counts as a request that costs; default: true. */
  readonly costs?: boolean
}

export async function startEdge(
  t: Pick<Test, 'teardown'>,
  { count, costs = true, ...settings }: EdgeOptions = {},
): Promise<Edge> {
  const users = settings.users !== undefined && 'file' in settings.users ? settings.users.file : await usersFile(t)
  const logged: string[] = []
  const access = await createAccess({
    users: { file: users },
    roles: { alice: ['administrator'], bob: ['reader'] },
    customRoles: {},
    tokens: { lifetime: () => 900, issuers: [] },
    limits: { failedLogins: () => 5 },
    log: (level, message, facts) => logged.push(JSON.stringify({ level, message, ...facts })),
    ...settings,
  })
  const app = Fastify()
  app.decorateRequest('clientAddress', '')
  app.decorateRequest('caller')
  app.addHook('onRequest', async (request) => {
    request.clientAddress = String(request.headers['x-address'] ?? '127.0.0.1')
  })
  const { authenticate, charge } = await createAuthenticator(app, access, settings.limits ?? {}, count)
  app.addHook('onRequest', async (request, reply) => {
    request.caller = await authenticate(request, reply, request.clientAddress, costs)
  })
  app.setErrorHandler((error, _request, reply) => {
    const { status, headers, code } = error instanceof EdgeError ? error : new EdgeError(949, '', { cause: error })
    return reply.code(status).headers(headers).send({ error: code })
  })
  const { issueToken, revokeTokens } = createTokenOperations({
    issue: ({ caller }) => access.issueToken(caller.name),
    revoke: access.revokeTokens,
  })
  app.get('/who', async (request) => request.caller)
  app.get('/miss', async (request) => {
    charge(request.caller, request.clientAddress)
    return request.caller
  })
  app.post('/security/user/authenticate', answerWith(issueToken))
  app.delete('/security/user/authenticate', answerWith(revokeTokens))
  await app.listen({ host: '127.0.0.1', port: 0 })
  t.teardown(async () => {
    await app.close()
    await access.close()
  })
  const { port } = app.server.address() as AddressInfo
  return { access, users, logged, ask: (lines, request = 'GET /who') => exchange(port, request, lines) }
}

function answerWith(handle: Handler) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const answer = await handle({ caller: request.caller } as EdgeRequest)
    return reply.type('application/json').send(answer.kind === 'envelope' ? answer.body : '')
  }
}

/** Sends one request over a new connection, byte for byte. */
function exchange(port: number, request: string, lines: readonly string[]): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const socket = connect(port, '127.0.0.1', () =>
      socket.write(
        Buffer.from(
          [`${request} HTTP/1.1`, 'Host: edge', 'Connection: close', ...lines, '', ''].join('\r\n'),
          'latin1',
        ),
      ),
    )
    socket.on('data', (chunk) => chunks.push(chunk))
    socket.on('error', reject)
    socket.on('close', () => resolve(readReply(Buffer.concat(chunks).toString('utf8'))))
  })
}

function readReply(text: string): Reply {
  const [head = '', body = ''] = text.split('\r\n\r\n')
  const [first = '', ...lines] = head.split('\r\n')
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  )
  return { status: Number(first.split(' ')[1]), headers, text: body }
}

/** Requests a token of the edge, as a client does. */
export async function tokenOf(edge: Edge, name: keyof typeof passwords): Promise<string> {
  const reply = await edge.ask([basic(name, passwords[name])], 'POST /security/user/authenticate')
  const { data } = JSON.parse(reply.text) as { data: { token: string } }
  return data.token
}
