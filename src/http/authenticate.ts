/**
 * Authentication: Basic (RFC 7617) and Bearer (RFC 6750). The plugins decode and verify the credentials; the choice
 * between the schemes is made here, because @fastify/auth reports only the error of the strategy that it tried last.
 */
import { promisify } from 'node:util'
import fastifyBasicAuth from '@fastify/basic-auth'
import fastifyJwt from '@fastify/jwt'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Access, AuthFailure, AuthResult, Recheck } from '../access/access.ts'
import { CLOCK_TOLERANCE_S, type VerifySignature } from '../access/tokens.ts'
import { OWN_TOKEN_ALGORITHM } from '../core/access.ts'
import { EdgeError } from '../core/errors.ts'
import { MAX_IN_USE, RecentlyUsed } from '../core/recently-used.ts'
import type { Caller } from '../core/request.ts'
import { ownText } from '../core/values.ts'
import { type CountRequest, networkOf, registerRateLimiters } from './rate-limit.ts'

export interface Authenticator {
  /**
   * Returns the caller of credentials that were verified before, with its present permissions; `undefined`: they must be
   * verified again. That they still hold is asked each time (`Recheck` in access/): the user and its password in the users
   * file, the end and the revocation of a token, the block of an address.
   */
  recall(authorization: string | undefined, clientAddress: string): Caller | undefined
  /** Counts a hit; returns `false` if the limit is exceeded. `authenticate` then counts the request again, and rejects it. */
  countHit(caller: Caller): boolean
  /**
   * Counts the request against its rate limits and returns its caller. Rejects with 900, 901, 903, 904 or
   * 911. `costs`: the request certainly costs, so it counts against the limits on such requests too.
   */
  authenticate(request: FastifyRequest, reply: FastifyReply, clientAddress: string, costs: boolean): Promise<Caller>
  /** Pipeline: counts a request that turns out to cost. Throws 903. */
  readonly charge: Charge
}

/** For the operations listener, which has sign-ins beside the header `Authorization`. */
export interface OperatorAuthenticator extends Authenticator {
  /**
   * As `authenticate`, for a name and a password that are not in a header. Rejects with 901, 903, 904
   * or 920.
   */
  authenticatePassword(
    request: FastifyRequest,
    clientAddress: string,
    login: { readonly name: string; readonly password: string },
  ): Promise<Caller>
  /** Counts a request of a caller that was recognised by a session. Rejects with 903. */
  countCaller(request: FastifyRequest, clientAddress: string, caller: Caller): Promise<void>
  /** Counts a request without a caller. Rejects with 903. */
  countAddress(request: FastifyRequest, clientAddress: string): Promise<void>
}

export type Charge = (caller: Caller, clientAddress: string) => void

declare module 'fastify' {
  interface FastifyRequest {
    /** For the functions that the plugins call with the request. */
    authentication: Authentication
  }
}

interface Authentication {
  readonly clientAddress: string
  /** Absent until the credentials are verified. */
  caller?: Caller
  /** Of name and password. Absent until they are checked. */
  result?: AuthResult
  /** The public key (PEM) of the token. */
  tokenKey: string
}

/** `text`: base64 for Basic, the token for Bearer. */
type Scheme = (request: FastifyRequest, reply: FastifyReply, text: string) => Promise<AuthResult>

const MAX_HEADER_LENGTH = 8192
/** RFC 9110 section 11.4, with exactly one space, as all clients send it. */
const CREDENTIALS = /^([A-Za-z]+) ([A-Za-z0-9._~+/-]+=*)$/
const WRONG: AuthResult = { ok: false, reason: 'wrong' }
/** After one to two times as long without use, credentials are no longer in memory. */
const FORGET_AFTER_MS = 60_000
const MALFORMED = 'FST_BASIC_AUTH_MISSING_OR_BAD_AUTHORIZATION_HEADER'

/** Registers the plugins on the app, once. `count`: rate limits are counted over all replicas. */
export async function createAuthenticator(
  app: FastifyInstance,
  access: Access,
  count?: CountRequest,
): Promise<OperatorAuthenticator> {
  app.decorateRequest('authentication')
  const limits = await registerRateLimiters(app, access.limits, count)
  const schemes = new Map<string, Scheme>([['basic', await registerBasic(app, access)]])
  if (access.acceptsTokens) schemes.set('bearer', await registerBearer(app, access))
  // By the text of the header: a digest of it costs as much as the lookup of a response. The function checks on each call
  // whether the credentials still hold. Credentials that are not used any more are forgotten.
  const remembered = new RecentlyUsed<Recheck>(MAX_IN_USE)
  const forgetting = setInterval(() => remembered.beginGeneration(), FORGET_AFTER_MS).unref()
  app.addHook('onClose', async () => clearInterval(forgetting))

  const recall = (authorization: string | undefined, clientAddress: string): Caller | undefined => {
    if (authorization === undefined) return undefined
    return remembered.get(authorization)?.(authorization, networkOf(clientAddress))
  }
  const verify = async (request: FastifyRequest, reply: FastifyReply): Promise<Caller> => {
    const { authorization = '' } = request.headers
    if (authorization.length > MAX_HEADER_LENGTH) throw new EdgeError(900, ': Authorization header too long')
    const [, name = '', text = ''] = CREDENTIALS.exec(authorization) ?? []
    const scheme = schemes.get(name.toLowerCase())
    const result = scheme === undefined ? WRONG : await scheme(request, reply, text)
    if (!result.ok) {
      remembered.delete(authorization)
      throw toEdgeError(access, result)
    }
    remembered.set(authorization, result.recheck)
    return result.caller
  }
  const begin = (request: FastifyRequest, clientAddress: string, caller?: Caller): Authentication => {
    request.authentication = { clientAddress, tokenKey: '', ...(caller && { caller }) }
    return request.authentication
  }
  return {
    recall,
    countHit: (caller) => limits.hits.count(caller),
    authenticate: async (request, reply, clientAddress, costs) => {
      const known = recall(request.headers.authorization, clientAddress)
      const authentication = begin(request, clientAddress, known)
      if (costs || known === undefined) await limits.address.check(request)
      const caller = known ?? (await verify(request, reply))
      authentication.caller = caller
      await limits.hits.check(request)
      if (costs) await limits.caller.check(request)
      return caller
    },
    authenticatePassword: async (request, clientAddress, { name, password }) => {
      begin(request, clientAddress)
      await limits.address.check(request)
      const result = await access.authenticatePassword(networkOf(clientAddress), name, password)
      if (!result.ok) throw toEdgeError(access, result)
      return result.caller
    },
    countCaller: async (request, clientAddress, caller) => {
      begin(request, clientAddress, caller)
      await limits.hits.check(request)
      await limits.caller.check(request)
    },
    countAddress: (request, clientAddress) => {
      begin(request, clientAddress)
      return limits.address.check(request)
    },
    charge: (caller, clientAddress) => {
      limits.address.charge(clientAddress)
      limits.caller.charge(caller)
    },
  }
}

/** Signs new tokens; to be called after `createAuthenticator` for the same app. */
export function tokenIssuer(app: FastifyInstance, access: Access): (name: string) => Promise<string> {
  return async (name) => {
    const { claims, kid, pem } = await access.prepareToken(name)
    return app.jwt.sign(claims, { algorithm: OWN_TOKEN_ALGORITHM, kid, key: pem })
  }
}

async function registerBasic(app: FastifyInstance, access: Access): Promise<Scheme> {
  await app.register(fastifyBasicAuth, {
    validate: async (name, password, { authentication, headers }) => {
      // Each pair has one spelling only: standard alphabet, no unused bits, valid UTF-8.
      const spelling = Buffer.from(`${name}:${password}`).toString('base64')
      const isCanonical = name !== '' && headers.authorization?.endsWith(` ${spelling}`)
      const address = networkOf(authentication.clientAddress)
      authentication.result = isCanonical ? await access.authenticatePassword(address, name, password) : WRONG
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
    // Each token has the key of its issuer. New tokens are signed outside of a request, with a key for each call.
    secret: async ({ authentication }: FastifyRequest) => authentication.tokenKey,
    sign: { algorithm: OWN_TOKEN_ALGORITHM },
    // No cache: verified credentials are remembered above, where revoked tokens and removed users are also seen.
    verify: { cache: false, clockTolerance: CLOCK_TOLERANCE_S * 1000 },
  })
  return (request, _reply, token) => {
    const verifySignature: VerifySignature = async (pem, algorithm) => {
      request.authentication.tokenKey = pem
      try {
        await request.jwtVerify({ algorithms: [algorithm] })
        return true
      } catch {
        return false
      }
    }
    return access.authenticateToken(token, verifySignature, networkOf(request.authentication.clientAddress))
  }
}

const RETRY_LATER_CODES = { blocked: 904, busy: 903, unavailable: 911 } as const

function toEdgeError(access: Access, failure: AuthFailure): EdgeError {
  if ('retryAfterMs' in failure) {
    return new EdgeError(RETRY_LATER_CODES[failure.reason], '', { headers: retryAfter(failure.retryAfterMs) })
  }
  return new EdgeError(901, '', { headers: { 'www-authenticate': challenge(access, failure.reason) } })
}

/** Both schemes in one field (RFC 9110 section 11.6.1). Basic comes first: older clients read the first scheme only. */
function challenge({ realm, acceptsTokens }: Access, reason: 'wrong' | 'invalid'): string {
  const basic = `Basic realm="${realm}", charset="UTF-8"`
  if (!acceptsTokens) return basic
  return `${basic}, Bearer ${reason === 'invalid' ? 'error="invalid_token", ' : ''}realm="${realm}"`
}

/** RFC 9110 section 10.2.3: whole seconds, at least one. */
function retryAfter(milliseconds: number): Record<string, string> {
  return { 'retry-after': String(Math.max(1, Math.ceil(milliseconds / 1000))) }
}
