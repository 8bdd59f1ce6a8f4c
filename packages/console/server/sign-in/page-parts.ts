/**
 * What the pages and the routes of a sign-in share: cookies, headers, paths, the link to the issuer, and errors as pages for
 * people.
 */
import { isDeepStrictEqual } from 'node:util'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { acceptsPage, READ_PERMISSION } from '../../../../src/admin/sign-in.ts'
import { allows, EDGE_NAME } from '../../../../src/core/access.ts'
import type { EdgeError } from '../../../../src/core/errors.ts'
import type { Caller } from '../../../../src/core/request.ts'
import { ownText } from '../../../../src/core/values.ts'
import type { EdgeView, SessionsView, SignInPages } from '../../../../src/status/edge-view.ts'
import { createIssuer, type Issuer } from './issuer.ts'
import { errorPage, noAccessPage, type PageIssuer, signInPage } from './pages.ts'
import { createSessions, createSignIns } from './sessions.ts'

/** A cookie of the console (RFC 6265): never readable by scripts, never sent with requests of other sites' forms and scripts. */
interface CookieKind {
  readonly name: string
  /** Absent: all paths. */
  readonly path?: string
}

export const SESSION_COOKIE: CookieKind = { name: 'edge-session' }
export const SIGN_IN_COOKIE: CookieKind = { name: 'edge-sign-in' }
/** The ID token. The sign-out sends it to the issuer to end its session. No other request needs it. */
export const ID_TOKEN_COOKIE: CookieKind = { name: 'edge-id-token', path: '/sign-out' }

/** Browsers refuse more than 4096 bytes, name and attributes included. */
const MAX_VALUE_LENGTH = 3800

interface CookieOptions {
  /** Whether the browser uses HTTPS. The cookie is then never sent without it. */
  readonly isSecure: boolean
  /** Seconds. */
  readonly maxAge: number
}

/** Adds a cookie to the response. A value that browsers would refuse is left out. */
export function setCookie(
  request: FastifyRequest,
  reply: FastifyReply,
  cookie: CookieKind & CookieOptions & { readonly value: string },
): void {
  const { path = '/', isSecure, maxAge, value } = cookie
  if (value.length > MAX_VALUE_LENGTH) return
  const attributes = `Path=${path}; Max-Age=${maxAge}; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`
  addHeader(reply, `${nameOf(cookie, request, isSecure)}=${value}; ${attributes}`)
}

/** Removes the cookie from the browser, whichever form it has. */
export function clearCookie(request: FastifyRequest, reply: FastifyReply, kind: CookieKind): void {
  setCookie(request, reply, { ...kind, value: '', maxAge: 0, isSecure: false })
  setCookie(request, reply, { ...kind, value: '', maxAge: 0, isSecure: true })
}

/**
 * Returns the value of the cookie; the protected form comes first. If the browser certainly uses TLS, only that form
 * counts: another host of the domain can set the other one, and so sign the browser in as another user.
 */
export function readCookie(
  request: FastifyRequest,
  kind: CookieKind,
  usesTls = request.protocol === 'https',
): string | undefined {
  const { cookie = '' } = request.headers
  const pairs = cookie.split(';').map((pair) => pair.trim())
  for (const isSecure of usesTls ? [true] : [true, false]) {
    const start = `${nameOf(kind, request, isSecure)}=`
    const value = pairs.find((pair) => pair.startsWith(start))?.slice(start.length)
    if (value !== undefined && value !== '') return value
  }
  return undefined
}

/**
 * A name with `__Host-` is accepted from this host only, over HTTPS, for all paths; one with `__Secure-` over HTTPS. The
 * port is part of the name, because browsers share cookies between all ports of a host: two edges on one machine would
 * sign each other's users out.
 */
function nameOf({ name, path }: CookieKind, { headers: { host = '' } }: FastifyRequest, isSecure: boolean): string {
  const prefix = path === undefined ? '__Host-' : '__Secure-'
  const port = /:(\d+)$/.exec(host)?.[1]
  return `${isSecure ? prefix : ''}${name}${port === undefined ? '' : `-${port}`}`
}

function addHeader(reply: FastifyReply, cookie: string): void {
  // Fastify collects several values of this header in a list.
  reply.header('set-cookie', cookie)
}

export const START_PATH = '/sign-in/issuer'
export const CALLBACK_PATH = '/sign-in/callback'

export const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  // With `no-referrer`, browsers send forms with `Origin: null`, which does not prove that the page is the edge's own.
  'referrer-policy': 'same-origin',
} as const

/**
 * The link leads to the host of the redirect URL, even if the page was opened by another name: only that host receives
 * the cookie that completes the sign-in.
 */
export function pageIssuer(issuer: Issuer | undefined, returnTo: string): PageIssuer | undefined {
  if (issuer === undefined) return undefined
  const startUrl = `${originOf(issuer)}${START_PATH}?return=${encodeURIComponent(returnTo)}`
  return { name: issuer.name, startUrl }
}

export function originOf({ settings }: Issuer): string {
  return new URL(settings.redirectUrl).origin
}

const CONSOLE_PATH = '/console/'

/** Pages that people open: the console with its view behind `#`, the API reference, the metrics. */
const PAGE = /^\/(?:console\/|docs\/?|metrics|openapi(?:-v4)?\.json)(?:#[\w/.~!$&'()*+,;=:@%?-]{0,1000})?$/

/** Returns the path if it is a page of this listener, else the console. So no link can lead to another site. */
export function returnPath(text: unknown): string {
  return typeof text === 'string' && PAGE.test(text) ? text : CONSOLE_PATH
}

type RolesOf = EdgeView['access']['rolesOf']

/** Wrong password, too many requests, too many failures, refused by the issuer, issuer unreachable. */
const SIGN_IN_CODES: ReadonlySet<number> = new Set([901, 903, 904, 912, 913])

function errorPageOf(
  ports: SessionPorts | undefined,
  rolesOf: RolesOf,
  request: FastifyRequest,
  error: EdgeError,
): string | undefined {
  if (!acceptsPage(request)) return undefined
  const { caller, routeOptions } = request
  if (error.code === 902 && caller !== undefined && !allows(caller.permissions, READ_PERMISSION))
    return noAccess(caller, rolesOf(caller))
  const isSigningIn = caller === undefined || routeOptions.config?.isOpen === true
  if (!isSigningIn || !SIGN_IN_CODES.has(error.code)) return errorPage(`${error.message}.`)
  return ports === undefined ? undefined : signIn(ports, request, error)
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
  const name = ownText(request.body, 'name')
  return signInPage({ returnTo, ...messageOf(request, error), ...(issuer && { issuer }), ...(name && { name }) })
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

export type SessionPorts = ReturnType<typeof createSessionPorts>

/** What sign-ins need: of the edge, the sessions, and the outside issuer, which a reload may change. */
export function createSessionPorts(edge: SessionsView) {
  let issuer: Issuer | undefined
  const { log, authenticate, countAddress } = edge
  return {
    ...{ log, authenticate, countAddress },
    ...createSessions(edge),
    ...createSignIns(edge),
    issuer: (): Issuer | undefined => {
      const settings = edge.settings().issuer
      if (!isDeepStrictEqual(issuer?.settings, settings)) issuer = settings && createIssuer(settings)
      return issuer
    },
  }
}

/** `ports`: absent in mode passthrough, in which browsers ask for name and password themselves. */
export function createSignInPages(ports: SessionPorts | undefined, rolesOf: RolesOf): SignInPages {
  return {
    ...(ports && { challenge: `Bearer realm="${EDGE_NAME}"` }),
    // A session takes precedence over a password that the browser remembers: the user has signed in on purpose.
    findCaller: (request) => {
      const text = readCookie(request, SESSION_COOKIE)
      return text === undefined ? undefined : ports?.find(text)
    },
    errorPage: (request, error) => {
      const html = errorPageOf(ports, rolesOf, request, error)
      return html === undefined ? undefined : { html, headers: pageHeaders }
    },
  }
}
