/** The routes of the operations listener that start and end a session. They need no signed-in caller. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { OperationsPart } from '../../../../src/admin/listener.ts'
import { originHostOf, otherSiteError } from '../../../../src/admin/sign-in.ts'
import { EdgeError } from '../../../../src/core/errors.ts'
import { ownText } from '../../../../src/core/values.ts'
import { type Issuer, type Progress, SignInFault } from './issuer.ts'
import {
  CALLBACK_PATH,
  clearCookie,
  ID_TOKEN_COOKIE,
  originOf,
  pageHeaders,
  pageIssuer,
  readCookie,
  returnPath,
  SESSION_COOKIE,
  type SessionPorts,
  SIGN_IN_COOKIE,
  START_PATH,
  setCookie,
} from './page-parts.ts'
import { STYLE_PATH, signedOutPage, signInPage, style } from './pages.ts'
import type { NewSession } from './sessions.ts'

/** These routes are served before a sign-in. */
const open = { config: { isOpen: true } } as const
const MAX_NAME_LENGTH = 256
const MAX_PASSWORD_LENGTH = 1024
/** The time to sign in at the issuer, in seconds. */
const SIGN_IN_TIME_S = 600

export function sessionPart(ports: SessionPorts): OperationsPart {
  return async (app) => {
    // Its own scope: forms are read by these routes only, because pages of other sites can send forms.
    await app.register(async (scope) => {
      scope.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
        done(null, Object.fromEntries(new URLSearchParams(String(body)))),
      )
      scope.get(STYLE_PATH, open, async (_request, reply) => reply.type('text/css; charset=utf-8').send(style))
      registerPasswordSignIn(scope, ports)
      registerIssuerSignIn(scope, ports)
      registerSignOut(scope, ports)
    })
  }
}

function registerPasswordSignIn(app: FastifyInstance, ports: SessionPorts): void {
  app.get('/sign-in', open, async ({ query }, reply) => {
    const issuer = pageIssuer(ports.issuer(), returnPath(ownText(query, 'return')))
    const message = ownText(query, 'signedOut') === undefined ? {} : { message: 'You are signed out.' }
    const page = signInPage({ returnTo: returnPath(ownText(query, 'return')), ...message, ...(issuer && { issuer }) })
    return reply.headers(pageHeaders).send(page)
  })
  app.post('/sign-in', open, async (request, reply) => {
    requireOwnPage(request)
    const { body } = request
    const name = ownText(body, 'name') ?? ''
    const password = ownText(body, 'password') ?? ''
    if (name === '' || name.length > MAX_NAME_LENGTH || password.length > MAX_PASSWORD_LENGTH) throw new EdgeError(901)
    await ports.authenticate(request, { name, password })
    const session = await ports.startWithPassword(name)
    await startSession(ports, { request, reply, session })
    return reply.redirect(returnPath(ownText(body, 'return')), 303)
  })
}

function registerIssuerSignIn(app: FastifyInstance, ports: SessionPorts): void {
  app.get(START_PATH, open, async (request, reply) => {
    const issuer = requireIssuer(ports)
    await ports.countAddress(request)
    const { url, progress } = await explainFaults(ports, request, issuer, () => issuer.start())
    const value = ports.remember({ ...progress, returnTo: returnPath(ownText(request.query, 'return')) })
    const isSecure = isSecureRedirect(issuer)
    setCookie(request, reply, { ...SIGN_IN_COOKIE, value, isSecure, maxAge: SIGN_IN_TIME_S })
    return reply.redirect(url, 303)
  })
  app.get(CALLBACK_PATH, open, async (request, reply) => {
    const issuer = requireIssuer(ports)
    await ports.countAddress(request)
    const text = readCookie(request, SIGN_IN_COOKIE, isSecureRedirect(issuer))
    clearCookie(request, reply, SIGN_IN_COOKIE)
    const taken = text === undefined ? undefined : ports.take(text)
    const progress = taken && readProgress(taken.progress)
    if (taken === undefined || progress === undefined)
      throw new EdgeError(912, ': it took too long, was completed before, or was started in another window')
    const query = request.url.slice(request.url.indexOf('?') + 1)
    const user = await explainFaults(ports, request, issuer, () => issuer.finish(query, progress))
    await taken.complete()
    const started = await ports.startWithClaims(user.claims)
    if (!started.ok) throw refusal(ports, request, issuer, started.reason)
    await startSession(ports, { request, reply, session: started.session, issuer })
    const { expiresAt } = started.session
    setCookie(request, reply, { ...ID_TOKEN_COOKIE, value: user.idToken, ...cookieOptions(request, expiresAt, issuer) })
    return reply.redirect(returnPath(progress.returnTo), 303)
  })
}

function registerSignOut(app: FastifyInstance, ports: SessionPorts): void {
  app.post('/sign-out', open, async (request, reply) => {
    requireOwnPage(request)
    const text = readCookie(request, SESSION_COOKIE)
    const caller = text === undefined ? undefined : ports.find(text)
    const idToken = readCookie(request, ID_TOKEN_COOKIE)
    for (const kind of [SESSION_COOKIE, ID_TOKEN_COOKIE]) clearCookie(request, reply, kind)
    if (caller !== undefined) {
      ports.log('info', 'operator signed out', { user: caller.name, address: request.clientAddress })
      await ports.end(caller)
    }
    const issuer = caller?.session?.issuer === undefined ? undefined : ports.issuer()
    const endUrl = await issuer?.endSessionUrl(`${originOf(issuer)}/sign-in?signedOut=1`, idToken)
    const next = endUrl ?? '/sign-in?signedOut=1'
    if (request.headers.accept?.includes('application/json')) return { next }
    return endUrl === undefined
      ? reply.redirect(next, 303)
      : reply.headers(pageHeaders).send(signedOutPage({ name: issuer?.name ?? '', url: endUrl }))
  })
}

interface StartedSession {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly session: NewSession
  readonly issuer?: Issuer
}

/**
 * A session that the browser had before ends: its cookie is replaced, and nothing else could end it. If Redis has not stored
 * the end (944), it is sent again later, and the new session starts anyway.
 */
async function startSession(ports: SessionPorts, { request, reply, session, issuer }: StartedSession): Promise<void> {
  const { text, user, expiresAt } = session
  const before = readCookie(request, SESSION_COOKIE)
  const caller = before === undefined ? undefined : ports.find(before)
  if (caller !== undefined) await ports.end(caller).catch(() => undefined)
  setCookie(request, reply, { ...SESSION_COOKIE, value: text, ...cookieOptions(request, expiresAt, issuer) })
  ports.log('info', 'operator signed in', {
    user,
    address: request.clientAddress,
    ...(issuer && { issuer: issuer.settings.issuer }),
  })
}

function cookieOptions({ protocol, headers }: FastifyRequest, expiresAt: number, issuer: Issuer | undefined) {
  // TLS may end at a balancer. The browser names the scheme of the page in `Origin`, or the redirect URL has it.
  const isSecure =
    protocol === 'https' ||
    (issuer === undefined ? headers.origin?.startsWith('https:') === true : isSecureRedirect(issuer))
  return { isSecure, maxAge: Math.max(0, Math.floor((expiresAt - Date.now()) / 1000)) }
}

function isSecureRedirect({ settings }: Issuer): boolean {
  return settings.redirectUrl.startsWith('https:')
}

function requireIssuer(ports: SessionPorts): Issuer {
  const issuer = ports.issuer()
  if (issuer === undefined) throw new EdgeError(603)
  return issuer
}

async function explainFaults<T>(
  ports: SessionPorts,
  request: FastifyRequest,
  issuer: Issuer,
  run: () => Promise<T>,
): Promise<T> {
  try {
    return await run()
  } catch (error) {
    if (!(error instanceof SignInFault)) throw error
    if (error.kind === 'refused') throw refusal(ports, request, issuer, error.message)
    ports.log('warn', 'issuer of sign-ins unreachable', { issuer: issuer.settings.issuer, fault: error.message })
    throw new EdgeError(913, `: ${issuer.name}`)
  }
}

function refusal(ports: SessionPorts, request: FastifyRequest, issuer: Issuer, fault: string): EdgeError {
  const { clientAddress: address } = request
  ports.log('warn', 'sign-in by the issuer refused', { issuer: issuer.settings.issuer, address, fault })
  return new EdgeError(912, `: ${fault}`)
}

function readProgress(
  taken: Readonly<Record<string, unknown>>,
): (Progress & { readonly returnTo: string }) | undefined {
  const [issuer, state, nonce, verifier] = ['issuer', 'state', 'nonce', 'verifier'].map((name) => ownText(taken, name))
  if (issuer === undefined || state === undefined || nonce === undefined || verifier === undefined) return undefined
  return { issuer, state, nonce, verifier, returnTo: returnPath(ownText(taken, 'returnTo')) }
}

/**
 * For forms of the edge's own pages, which cannot add a header: only a page of this listener may send them.
 * All browsers name the page by at least one of the two headers.
 */
function requireOwnPage({ headers: { origin, host, 'sec-fetch-site': site } }: FastifyRequest): void {
  const isOwn = origin === undefined ? site === 'same-origin' : originHostOf(origin) === host
  if (!isOwn || (site !== undefined && site !== 'same-origin')) throw otherSiteError()
}
