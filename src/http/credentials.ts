/**
 * The credentials of a request: Basic (RFC 7617) and Bearer (RFC 6750). The plugins decode Basic, and verify the
 * edge's own tokens; the choice between the schemes is made here, because @fastify/auth reports only the error of the strategy that it tried last.
 */
import { promisify } from 'node:util'
import fastifyBasicAuth from '@fastify/basic-auth'
import fastifyJwt from '@fastify/jwt'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Access, AuthFailure, AuthResult } from '../access/access.ts'
import { OWN_TOKEN_ALGORITHM } from '../access/signed-texts.ts'
import { EDGE_NAME } from '../core/access.ts'
import { EdgeError, retryAfter } from '../core/errors.ts'
import type { Caller } from '../core/request.ts'
import { CLOCK_TOLERANCE_S } from '../core/timing.ts'
import { ownText, parseBasic } from '../core/values.ts'
import { networkOf } from './rate-limit.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** For the functions that the plugins call with the request. */
    authentication: Authentication
  }
}

interface Authentication {
  readonly clientAddress: string
  /** `undefined` until the credentials are verified. */
  caller: Caller | undefined
  /** Of name and password. Absent until they are checked. */
  result?: AuthResult
  /** The key of the edge (PEM) that its token names. Absent until it is verified. */
  tokenKey?: string
}

/** `text`: base64 for Basic, the token for Bearer. */
type Scheme = (request: FastifyRequest, reply: FastifyReply, text: string) => Promise<AuthResult>

const MAX_HEADER_LENGTH = 8192
/** RFC 9110 section 11.4. Of Basic, the plugin accepts exactly one space, as the real API of releases 3.x does. */
const CREDENTIALS = /^([A-Za-z]+) +([A-Za-z0-9._~+/-]+=*)$/
const WRONG: AuthResult = { ok: false, reason: 'wrong' }
const MALFORMED = 'FST_BASIC_AUTH_MISSING_OR_BAD_AUTHORIZATION_HEADER'

/**
 * Registers the plugins on the app, once. Returns the function that verifies the header `Authorization` of a request
 * whose `authentication` is set. It rejects with 900 if the header is too long.
 */
export async function registerCredentials(app: FastifyInstance, access: Access) {
  app.decorateRequest('authentication')
  const schemes = new Map<string, Scheme>([['basic', await registerBasic(app, access)]])
  if (access.acceptsTokens) schemes.set('bearer', await registerBearer(app, access))
  return async (request: FastifyRequest, reply: FastifyReply): Promise<AuthResult> => {
    const { authorization = '' } = request.headers
    if (authorization.length > MAX_HEADER_LENGTH) throw new EdgeError(900, ': Authorization header too long')
    const [, name = '', text = ''] = CREDENTIALS.exec(authorization) ?? []
    return schemes.get(name.toLowerCase())?.(request, reply, text) ?? WRONG
  }
}

async function registerBasic(app: FastifyInstance, access: Access): Promise<Scheme> {
  await app.register(fastifyBasicAuth, {
    // The plugin decodes UTF-8 only.
    validate: async (_name, _password, { authentication, headers: { authorization = '' } }) => {
      const pair = parseBasic(authorization.slice(authorization.lastIndexOf(' ') + 1))
      const address = networkOf(authentication.clientAddress)
      authentication.result = pair === undefined ? WRONG : await access.authenticatePassword(address, pair)
      if (!authentication.result.ok) throw new Error(authentication.result.reason)
    },
  })
  const checkHeader = promisify(app.basicAuth)
  return async (request, reply) => {
    const { authentication } = request
    // The plugin makes a 401 of each failure, and some of them are a 429 or a 503.
    const failure = await checkHeader(request, reply).catch((error: unknown) => ({ error }))
    if (failure && ownText(failure.error, 'code') === MALFORMED) return WRONG
    if (authentication.result === undefined) throw failure?.error
    return authentication.result
  }
}

async function registerBearer(app: FastifyInstance, access: Access): Promise<Scheme> {
  await app.register(fastifyJwt, {
    secret: async ({ authentication }: FastifyRequest) => authentication.tokenKey ?? '',
    // No cache: admit.ts remembers verified credentials, and sees revoked tokens and removed users.
    // The plugin accepts exactly one space before the token.
    verify: {
      algorithms: [OWN_TOKEN_ALGORITHM],
      cache: false,
      clockTolerance: CLOCK_TOLERANCE_S * 1000,
      extractToken: ({ headers: { authorization = '' } }) => authorization.slice(authorization.lastIndexOf(' ') + 1),
    },
  })
  return (request, _reply, token) => {
    const { authentication } = request
    const verifyOwn = (pem: string): Promise<boolean> => {
      authentication.tokenKey = pem
      return request.jwtVerify().then(
        () => true,
        () => false,
      )
    }
    return access.authenticateToken(token, verifyOwn, networkOf(authentication.clientAddress))
  }
}

const RETRY_LATER_CODES = { blocked: 904, busy: 903, unavailable: 911 } as const

/** Returns the error for credentials that were refused: 901, 903, 904 or 911. */
export function refusal(access: Access, failure: AuthFailure): EdgeError {
  if ('retryAfterMs' in failure) {
    return new EdgeError(RETRY_LATER_CODES[failure.reason], '', { headers: retryAfter(failure.retryAfterMs) })
  }
  return new EdgeError(901, '', { headers: { 'www-authenticate': challenge(access, failure.reason) } })
}

/** Both schemes in one field (RFC 9110 section 11.6.1). Basic comes first: older clients read the first scheme only. */
function challenge({ acceptsTokens }: Access, reason: 'wrong' | 'invalid'): string {
  const basic = `Basic realm="${EDGE_NAME}", charset="UTF-8"`
  if (!acceptsTokens) return basic
  return `${basic}, Bearer ${reason === 'invalid' ? 'error="invalid_token", ' : ''}realm="${EDGE_NAME}"`
}
