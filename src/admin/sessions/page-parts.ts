/**
 * What the pages and the routes of a sign-in share: cookies, headers, paths, the link to the issuer, and errors as pages for
 * people.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { allows } from '../../core/access.ts'
import type { EdgeError } from '../../core/errors.ts'
import type { Caller } from '../../core/request.ts'
import { ownText } from '../../core/values.ts'
import { READ_PERMISSION } from '../sign-in.ts'
import type { Issuer } from './issuer.ts'
import { errorPage, noAccessPage, type PageIssuer, signInPage } from './pages.ts'

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

/** Returns `undefined` if the request is answered with JSON or text. */
export type ErrorPages = (request: FastifyRequest, error: EdgeError) => string | undefined

/** Wrong password, too many requests, too many failures, refused by the issuer, issuer unreachable. */
const SIGN_IN_CODES: ReadonlySet<number> = new Set([901, 903, 904, 912, 913])

interface ErrorPageParts {
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

export interface NewSession {
  /** The value of the cookie. */
  readonly text: string
  readonly user: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

/** What sign-ins to the console need of the rest of the edge. The composition root provides it. */
export interface SessionPorts {
  /** Sent to browsers with 401 instead of a challenge for Basic, which opens the browser's own dialog. */
  readonly challenge: string
  /** Rejects with 901, 903 or 904. */
  startWithPassword(
    request: FastifyRequest,
    login: { readonly name: string; readonly password: string },
  ): Promise<NewSession>
  /** `claims`: verified claims of an outside issuer. */
  startWithClaims(
    claims: Readonly<Record<string, unknown>>,
  ): Promise<{ readonly ok: true; readonly session: NewSession } | { readonly ok: false; readonly reason: string }>
  find(text: string): Caller | undefined
  /** Ends the session on all replicas. Rejects with 944 if only this replica refuses it so far. */
  end(caller: Caller): Promise<void>
  /** Returns a signed text for a cookie. */
  remember(progress: Readonly<Record<string, unknown>>): string
  /** Returns what `remember` got, once. `complete` takes it on all replicas. */
  take(text: string): { readonly progress: Readonly<Record<string, unknown>>; complete(): Promise<void> } | undefined
  /** The outside issuer. Read for each request: a reload may change it. */
  issuer(): Issuer | undefined
  /** Counts a request without a caller against its address. Rejects with 903. */
  countAddress(request: FastifyRequest): Promise<void>
  log(level: 'info' | 'warn', message: string, fields: object): void
}
