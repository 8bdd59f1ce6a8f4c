/** Cookies of the console (RFC 6265): never readable by scripts, never sent with requests of other sites' forms and scripts. */
import type { FastifyReply, FastifyRequest } from 'fastify'

export interface CookieKind {
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

export interface CookieOptions {
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
