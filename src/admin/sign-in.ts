/**
 * Who may use the operations listener: the users of the public listener, sessions, and protection against requests that a page of
 * another site sends with the browser's credentials.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { allows } from '../core/access.ts'
import { EdgeError } from '../core/errors.ts'
import type { Caller } from '../core/request.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route is served without a sign-in. */
    isOpen?: true
  }
  interface FastifyRequest {
    caller: Caller
    clientAddress: string
    /** The request was passed to the pipeline, which writes the audit record whatever the result is. */
    isAuditedByPipeline: boolean
    /** Returns whether the caller still has the right to read; a long stream ends when the right ends. */
    isStillSignedIn(): Promise<boolean>
  }
}

/** Passwords in a header, tokens, and the cookies of sessions. */
export interface SignIn {
  /** Registers plugins on the app, once. Returns the function that authenticates a request or rejects with an EdgeError. */
  authentication(
    app: FastifyInstance,
  ): Promise<(request: FastifyRequest, reply: FastifyReply) => Caller | Promise<Caller>>
  /** Returns the client's address behind trusted proxies, normalised. Failed logins are counted for this address. */
  clientAddress(request: FastifyRequest): string
}

/** Every page and every route of the console needs it. */
export const READ_PERMISSION = 'operations:read'
/** Rate limit exceeded, keys of the token issuer unreadable: these errors do not mean that the caller lost a right. */
const UNDECIDED_CODES: ReadonlySet<number> = new Set([903, 911])
/** A form cannot send this header. A script of another origin needs a preflight, which this listener does not allow. */
export const CONSOLE_HEADER = 'x-edge-console'

/** A browser that opens an address names `text/html` in `Accept`. Programs send a wildcard or JSON. */
export function acceptsPage({ headers: { accept = '' } }: FastifyRequest): boolean {
  return accept.includes('text/html')
}

/** Adds a hook that requires a signed-in caller with `operations:read`, and refuses requests from pages of other sites. */
export async function requireSignIn(app: FastifyInstance, { authentication, clientAddress }: SignIn): Promise<void> {
  app.decorateRequest('caller')
  app.decorateRequest('clientAddress', '')
  app.decorateRequest('isAuditedByPipeline', false)
  const authenticate = await authentication(app)
  app.decorateRequest('isStillSignedIn')
  app.addHook('onRequest', async (request, reply) => {
    request.clientAddress = clientAddress(request)
    if (request.routeOptions.config?.isOpen) return
    request.isStillSignedIn = async () => {
      try {
        requirePermission(await authenticate(request, reply), READ_PERMISSION)
        return true
      } catch (error) {
        return error instanceof EdgeError && UNDECIDED_CODES.has(error.code)
      }
    }
    request.caller = await authenticate(request, reply)
    requirePermission(request.caller, READ_PERMISSION)
    refuseOtherSites(request)
  })
}

/** Throws error 902, which names the missing permission. */
export function requirePermission({ permissions }: Caller, permission: string): void {
  if (!allows(permissions, permission)) throw new EdgeError(902, `. Permission needed: ${permission}`)
}

/**
 * A browser adds Basic credentials and cookies to every request to this listener, whichever page sends it. So another site may only
 * link here. A request that changes something needs a header that other sites cannot send.
 */
function refuseOtherSites({ method, headers }: FastifyRequest): void {
  const isRead = method === 'GET' || method === 'HEAD'
  const site = headers['sec-fetch-site']
  const isLink = isRead && headers['sec-fetch-mode'] === 'navigate'
  if (site !== undefined && site !== 'same-origin' && site !== 'none' && !isLink) throw otherSiteError()
  if (isRead) return
  if (headers[CONSOLE_HEADER] === undefined) throw new EdgeError(902, `. The header ${CONSOLE_HEADER} is needed`)
  const { origin, host } = headers
  if (origin !== undefined && originHostOf(origin) !== host) throw otherSiteError()
}

export function originHostOf(origin: string): string | undefined {
  return URL.canParse(origin) ? new URL(origin).host : undefined
}

export function otherSiteError(): EdgeError {
  return new EdgeError(902, '. A page of another site sent the request')
}
