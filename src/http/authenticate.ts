/**
 * Who asks: Basic and Bearer on the wire (RFC 7617, RFC 6750). The plugins read and verify, the dispatch between them
 * is ours: @fastify/auth reports only what the last of several strategies found.
 */
import { isUtf8 } from 'node:buffer'
import { hash, randomBytes } from 'node:crypto'
import fastifyBasicAuth from '@fastify/basic-auth'
import fastifyJwt from '@fastify/jwt'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Access, AuthFailure, AuthResult } from '../access/access.ts'
import { CLOCK_TOLERANCE_S } from '../access/tokens.ts'
import { EdgeError } from '../core/errors.ts'
import { RecentlyUsed } from '../core/recently-used.ts'
import type { Caller } from '../core/request.ts'
import { OWN_TOKEN_ALGORITHM, TOKEN_ALGORITHMS } from '../core/token-algorithms.ts'
import type { Head } from '../listener/request-head.ts'
import { addressOf, type CountRequest, requestLimits } from './rate-limit.ts'

/** What of a request says who asks: a request of the framework, or what stands for it in front of it. */
export type Arrival = Pick<FastifyRequest, 'raw' | 'headers' | 'clientAddress'> & {
  readonly routeOptions: object
  /** There in front of the framework, where requests of one connection may share it. */
  readonly head?: Head
  readonly jwtVerify?: FastifyRequest['jwtVerify']
}

/** Who asks. At once where the same credentials were shown lately; throws as the promise rejects. */
export type Authenticate = (arrival: Arrival) => Caller | Promise<Caller>

/** The signature of a new token can be verified only once the framework has the request. */
export class NotHere extends Error {}

/** All that the Basic plugin reads of a request, and what it found. */
type Shown = Pick<FastifyRequest, 'headers'> & { pair?: readonly [name: string, password: string] }

type Enter = (request: Arrival, credentials: string) => Promise<AuthResult>

const AUTHORIZATION = 'authorization'
const LONGEST_HEADER = 8192
/** Remembered by their credentials, twice. */
const CALLERS = 5000
/** RFC 9110 section 11.4; one blank, as every client writes it. */
const CREDENTIALS = /^([A-Za-z]+) ([A-Za-z0-9._~+/-]+=*)$/
/** The plugin writes to the reply only to challenge, and here it does not. */
const noReply = {} as FastifyReply

/** Registers what it needs on the app, once; gives the function that runs for each request. It rejects with 900, 901, 903, 904 or 911. `count`: requests are limited over all replicas. */
export async function authentication(
  app: FastifyInstance,
  access: Access,
  count?: CountRequest,
): Promise<Authenticate> {
  const limits = await requestLimits(app, access.limits, count)
  const schemes = new Map<string, Enter>([['basic', await basic(app, access)]])
  if (access.acceptsTokens) schemes.set('bearer', await bearer(app, access))
  // Those that come a second time, since their token could not be verified in front of the framework.
  const counted = new WeakSet<Arrival['raw']>()
  // Nothing of the credentials stays in the key; what it leads to is asked each time whether it still holds.
  const salt = randomBytes(32).toString('base64')
  const lately = new RecentlyUsed<() => Caller | undefined>(CALLERS)
  const keyOf = (request: Arrival) =>
    hash('sha256', `${salt} ${request.clientAddress} ${authorizationOf(request)}`, 'base64')
  const enter = async (request: Arrival, authorization: string): Promise<AuthResult> => {
    const [, scheme, credentials] = CREDENTIALS.exec(authorization) ?? []
    const by = schemes.get(scheme?.toLowerCase() ?? '')
    if (by === undefined || credentials === undefined) return { ok: false, reason: 'wrong' }
    return by(request, credentials).catch((fault: unknown) => {
      if (fault instanceof NotHere) counted.add(request.raw)
      throw fault
    })
  }
  const find = async (request: Arrival, authorization: string, key: string): Promise<Caller> => {
    const entry = await enter(request, authorization)
    if (entry.ok && entry.recheck !== undefined) lately.set(key, entry.recheck)
    else lately.delete(key)
    if (!entry.ok) throw refuse(access, entry)
    await limits.caller(entry.caller)
    return entry.caller
  }
  const decide = (request: Arrival): Caller | Promise<Caller> => {
    const key = request.head?.credentials ?? keyOf(request)
    const caller = lately.get(key)?.()
    if (caller === undefined) return find(request, authorizationOf(request), key)
    if (request.head !== undefined) request.head.credentials = key
    const limited = limits.caller(caller)
    return limited === undefined ? caller : limited.then(() => caller)
  }
  return (request) => {
    const limited = counted.has(request.raw) ? undefined : limits.address(request.clientAddress)
    return limited === undefined ? decide(request) : limited.then(() => decide(request))
  }
}

/** Signs a new token for a user; to be called after `authentication` has registered on the same app. */
export function tokenIssuer(app: FastifyInstance, access: Access): (name: string) => Promise<string> {
  return async (name) => {
    const { claims, kid, pem } = await access.prepareToken(name)
    return app.jwt.sign(claims, { algorithm: OWN_TOKEN_ALGORITHM, kid, key: pem })
  }
}

async function basic(app: FastifyInstance, access: Access): Promise<Enter> {
  await app.register(fastifyBasicAuth, {
    // Decided afterwards: the plugin knows no answer but 401.
    validate: async (name, password, request) => {
      const shown: Shown = request
      shown.pair = [name, password]
    },
  })
  const parse = (shown: Shown) =>
    new Promise<void>((resolve) => app.basicAuth.call(app, shown as FastifyRequest, noReply, () => resolve()))
  return async ({ headers, clientAddress }, credentials) => {
    // One spelling for each pair: no spare bits, no URL alphabet, no bytes that are no text.
    const bytes = Buffer.from(credentials, 'base64')
    const shown: Shown = { headers }
    if (bytes.toString('base64') === credentials && isUtf8(bytes)) await parse(shown)
    const [name = '', password = ''] = shown.pair ?? []
    if (name === '') return { ok: false, reason: 'wrong' }
    return access.authenticatePassword(addressOf(clientAddress), name, password)
  }
}

async function bearer(app: FastifyInstance, access: Access): Promise<Enter> {
  const keys = new WeakMap<object, string>()
  await app.register(fastifyJwt, {
    secret: {
      public: async (request: FastifyRequest) => keys.get(request) ?? '',
      // The plugin wants one to sign at all; each token names its own.
      private: async () => '',
    },
    sign: { algorithm: OWN_TOKEN_ALGORITHM },
    // No cache of its own: what is good is remembered by `auth`, which also sees keys and users go.
    verify: { algorithms: [...TOKEN_ALGORITHMS], cache: false, clockTolerance: CLOCK_TOLERANCE_S * 1000 },
  })
  return (request, token) =>
    access.authenticateToken(token, async (pem) => {
      if (request.jwtVerify === undefined) throw new NotHere()
      keys.set(request, pem)
      // Without options, and with a PEM text: else the verifier is built anew for each request.
      return request.jwtVerify().then(
        () => true,
        () => false,
      )
    })
}

/** The one Authorization header. Node keeps the first of several, other software the last: refused rather than chosen. */
function authorizationOf({ raw, headers }: Arrival): string {
  const { rawHeaders } = raw
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? ''
    // Most names are told apart by their length, without a copy in lower case of each.
    if (name.length === AUTHORIZATION.length && name.toLowerCase() === AUTHORIZATION) count++
  }
  if (count > 1) throw new EdgeError(900, ': more than one Authorization header')
  const { authorization = '' } = headers
  if (authorization.length > LONGEST_HEADER) throw new EdgeError(900, ': Authorization header too long')
  return authorization
}

function refuse(access: Access, refusal: AuthFailure): EdgeError {
  switch (refusal.reason) {
    case 'wrong':
    case 'invalid':
      return new EdgeError(901, '', { headers: { 'www-authenticate': challenge(access, refusal.reason) } })
    case 'blocked':
      return new EdgeError(904, '', { headers: later(refusal.retryAfterMs) })
    case 'busy':
      return new EdgeError(903, '', { headers: later(refusal.retryAfterMs) })
    case 'unavailable':
      return new EdgeError(911, '', { headers: later(refusal.retryAfterMs) })
  }
}

/** Both schemes in one field (RFC 9110 section 11.6.1), Basic first: older clients read no further. */
function challenge({ realm, acceptsTokens: takesTokens }: Access, reason: 'wrong' | 'invalid'): string {
  const basic = `Basic realm="${realm}", charset="UTF-8"`
  if (!takesTokens) return basic
  return `${basic}, Bearer ${reason === 'invalid' ? 'error="invalid_token", ' : ''}realm="${realm}"`
}

function later(milliseconds: number): Record<string, string> {
  return { 'retry-after': String(Math.max(1, Math.ceil(milliseconds / 1000))) }
}
