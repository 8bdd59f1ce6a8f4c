/** Connects sign-ins to the operations listener with users, sessions, rate limits and the outside issuer. */
import { isDeepStrictEqual } from 'node:util'
import type { FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { Access } from '../access/access.ts'
import { createIssuer, type Issuer, type IssuerSettings } from '../admin/sessions/issuer.ts'
import { createErrorPages, readCookie, SESSION_COOKIE, type SessionPorts } from '../admin/sessions/page-parts.ts'
import type { SignIn } from '../admin/sign-in.ts'
import type { ReloadableConfig } from '../config/reloadable.ts'
import type { Config } from '../config/schema.ts'
import type { Caller } from '../core/request.ts'
import { createAuthenticator, type OperatorAuthenticator } from '../http/admit.ts'
import { type CountRequest, rateLimitsOf } from '../http/rate-limit.ts'
import { addressOfRequests, clientAddress } from '../http/request-state.ts'
import { toLog } from './log.ts'

interface SignInParts {
  readonly access: Access
  readonly log: Logger
  /** Counts requests over all replicas. Absent: in this process. */
  readonly count: CountRequest | undefined
}

/** `sessions`: absent in mode passthrough, where only the header `Authorization` signs in. */
export function buildSignIn(settings: ReloadableConfig, { access, log, count }: SignInParts) {
  let authenticator: OperatorAuthenticator | undefined
  const readAuthenticator = (): OperatorAuthenticator => {
    if (authenticator === undefined) throw new Error('the operations listener has no authentication yet')
    return authenticator
  }
  const sessions = buildSessions(settings, { access, log, readAuthenticator })
  const signIn: SignIn = {
    authentication: async (app) => {
      const created = await createAuthenticator(app, access, rateLimitsOf(settings.derive), count)
      authenticator = created
      return async (request, reply) => {
        const caller = sessions && findSession(sessions, request)
        if (caller === undefined) return created.authenticate(request, reply, request.clientAddress, true)
        await created.countCaller(request, request.clientAddress, caller)
        return caller
      }
    },
    clientAddress: addressOfRequests(settings.derive(({ listen }) => clientAddress(listen.trustedProxies))),
  }
  const errorPages = createErrorPages({ sessions, rolesOf: access.rolesOf })
  return { signIn, errorPages, sessions }
}

/** A session takes precedence over a password that the browser remembers: the user has signed in on purpose. */
function findSession(sessions: SessionPorts, request: FastifyRequest): Caller | undefined {
  const text = readCookie(request, SESSION_COOKIE)
  return text === undefined ? undefined : sessions.find(text)
}

interface SessionParts extends Pick<SignInParts, 'access' | 'log'> {
  readAuthenticator(): OperatorAuthenticator
}

function buildSessions(
  settings: ReloadableConfig,
  { access, log, readAuthenticator }: SessionParts,
): SessionPorts | undefined {
  const { sessions, signIns } = access
  if (sessions === undefined || signIns === undefined) return undefined
  let issuer = createIssuerOf(settings.initial)
  settings.onReload((next) => {
    const isSame = isDeepStrictEqual(issuer?.settings, issuerSettings(next))
    const replacement = isSame ? issuer : createIssuerOf(next)
    return () => {
      issuer = replacement
    }
  })
  return {
    challenge: `Bearer realm="${access.realm}"`,
    startWithPassword: async (request, login) => {
      const { name } = await readAuthenticator().authenticatePassword(request, request.clientAddress, login)
      return sessions.startWithPassword(name)
    },
    startWithClaims: sessions.startWithClaims,
    find: sessions.find,
    end: sessions.end,
    remember: signIns.remember,
    take: signIns.take,
    issuer: () => issuer,
    countAddress: (request) => readAuthenticator().countAddress(request, request.clientAddress),
    log: toLog(log),
  }
}

function createIssuerOf(config: Config): Issuer | undefined {
  const settings = issuerSettings(config)
  return settings && createIssuer(settings)
}

/** Returns `undefined` if no issuer is configured. */
export function issuerSettings({ operations: { signIn } }: Config): IssuerSettings | undefined {
  const { issuer, clientId, clientSecret, redirectUrl, scopes } = signIn
  if (issuer === undefined || clientId === undefined || redirectUrl === undefined) return undefined
  return { issuer, clientId, redirectUrl, scopes, ...(clientSecret !== undefined && { clientSecret }) }
}
