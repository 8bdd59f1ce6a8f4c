/** Errors as pages, for people who open an address of the operations listener in a browser. */
import type { FastifyRequest } from 'fastify'
import { allows } from '../../core/access.ts'
import type { EdgeError } from '../../core/errors.ts'
import type { Caller } from '../../core/request.ts'
import { ownText } from '../../core/values.ts'
import { READ_PERMISSION } from '../sign-in.ts'
import { readCookie, SESSION_COOKIE } from './cookies.ts'
import { pageIssuer } from './page-parts.ts'
import { errorPage, noAccessPage, signInPage } from './pages.ts'
import type { SessionPorts } from './ports.ts'
import { returnPath } from './return-path.ts'

/** Returns `undefined` if the request is answered with JSON or text. */
export type ErrorPages = (request: FastifyRequest, error: EdgeError) => string | undefined

/** Wrong password, too many requests, too many failures, refused by the issuer, issuer unreachable. */
const SIGN_IN_CODES: ReadonlySet<number> = new Set([901, 903, 904, 912, 913])

export interface ErrorPageParts {
  /** Absent in mode passthrough, in which browsers ask for name and password themselves. */
  readonly sessions: SessionPorts | undefined
  rolesOf(caller: Caller): readonly string[] | undefined
}

export function createErrorPages({ sessions, rolesOf }: ErrorPageParts): ErrorPages {
  return (request, error) => {
    if (!acceptsPage(request)) return undefined
    const { caller, routeOptions } = request
    if (error.code === 902 && caller !== undefined && !allows(caller.permissions, READ_PERMISSION))
      return noAccess(caller, rolesOf(caller))
    const isSigningIn = caller === undefined || routeOptions.config?.isOpen === true
    if (!isSigningIn || !SIGN_IN_CODES.has(error.code)) return errorPage(`${error.message}.`)
    return sessions === undefined ? undefined : signIn(sessions, request, error)
  }
}

/** A browser that opens an address names `text/html` in `Accept`. Programs send a wildcard or JSON. */
export function acceptsPage({ headers: { accept = '' } }: FastifyRequest): boolean {
  return accept.includes('text/html')
}

function noAccess({ name, session }: Caller, roles: readonly string[] | undefined): string {
  const issuer = session?.issuer
  return noAccessPage({
    user: session?.user ?? name,
    roles,
    canSignOut: session !== undefined,
    ...(issuer !== undefined && { issuer: new URL(issuer).host }),
  })
}

function signIn(ports: SessionPorts, request: FastifyRequest, error: EdgeError): string {
  const returnTo = returnPath(ownText(request.body, 'return') ?? request.url)
  const issuer = pageIssuer(ports.issuer(), returnTo)
  return signInPage({ returnTo, ...messageOf(request, error), ...(issuer && { issuer }) })
}

function messageOf(request: FastifyRequest, { code, message, headers }: EdgeError) {
  if (code !== 901) {
    const wait = ownText(headers, 'retry-after')
    return { message: `${message}.${wait === undefined ? '' : ` Try again in ${wait} s.`}`, isFailure: true }
  }
  if (request.method === 'POST') return { message: 'User name or password is wrong.', isFailure: true }
  const hadSession = readCookie(request, SESSION_COOKIE) !== undefined
  return hadSession ? { message: 'Your session has ended. Sign in again.' } : {}
}
