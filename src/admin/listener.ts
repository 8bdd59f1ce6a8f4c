/** The operations listener, for operators. Bind it to an address that clients cannot reach. */
import { randomUUID } from 'node:crypto'
import Fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyPluginAsync,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
} from 'fastify'
import { EdgeError, SUGGESTION_HEADER } from '../core/errors.ts'
import type { RejectedRequestEvent } from '../core/events.ts'
import type { SignInPages } from '../status/edge-view.ts'
import type { Problem, Problems } from '../status/problem-types.ts'
import { type Degradation, type Readiness, registerProbes } from '../status/readiness.ts'
import { acceptsPage, CONSOLE_HEADER, requireSignIn, type SignIn } from './sign-in.ts'

/** Registers a group of routes. */
export type OperationsPart = (app: FastifyInstance) => void | Promise<void>

interface OperationsOptions {
  readonly ready: () => Readiness
  /** Returns what `/readyz?verbose` lists. */
  readonly degradations: () => readonly Degradation[]
  readonly log: { error(fields: object, message: string): void }
  /** Receives requests that the listener refused after the caller had signed in. */
  readonly onRejected?: (request: RejectedRequestEvent) => void
  /** Create the server with its limits and its certificate. Default: a plain HTTP server of Node. */
  readonly server?: Pick<FastifyServerOptions, 'serverFactory' | 'clientErrorHandler'>
  /** Routes that need no sign-in. */
  readonly openParts?: readonly OperationsPart[]
  /** Routes that need a sign-in. Absent: the listener serves only the probes and the open parts. */
  readonly signedIn?: { readonly signIn: SignIn; readonly parts: readonly OperationsPart[] }
  /** Returns the pages for browsers. Undefined: errors are JSON or text, and a 401 has the challenge of the error. */
  readonly pages?: () => SignInPages | undefined
}

const MAX_BODY_BYTES = 16_384

const securityHeaders = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
} as const

/** Returns the app before it listens. Its `close` ends open connections at once. */
export async function createOperationsListener(options: OperationsOptions): Promise<FastifyInstance> {
  const { ready, degradations, log, onRejected, server, openParts = [], signedIn } = options
  const sendError = errorSender(options)
  const app = Fastify({
    logger: false,
    genReqId: () => randomUUID(),
    forceCloseConnections: true,
    return503OnClosing: false,
    ...server,
    bodyLimit: MAX_BODY_BYTES,
    // The registration of each plugin has its own limit (app/plugins.ts).
    pluginTimeout: 0,
    // Errors of the router run no hooks.
    frameworkErrors: (error, request, reply) => {
      reply.headers(headersOf(request))
      return sendError(request, reply, edgeErrorOf(error))
    },
  })
  // A form of another site can send plain text, but not JSON.
  app.removeContentTypeParser('text/plain')
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(headersOf(request))
  })
  registerProbes(app, ready, degradations)
  for (const part of openParts) await part(app)
  app.setErrorHandler((cause: FastifyError, request, reply) => {
    const error = edgeErrorOf(cause)
    if (error.status === 500) log.error({ err: cause }, 'request to the operations listener failed')
    if (!request.isAuditedByPipeline) onRejected?.(rejectionOf(request, error))
    return sendError(request, reply, error)
  })
  const notFound = (request: FastifyRequest, reply: FastifyReply) => sendError(request, reply, new EdgeError(603))
  if (signedIn === undefined) app.setNotFoundHandler(notFound)
  else {
    const protectedParts: FastifyPluginAsync = async (scope) => {
      await requireSignIn(scope, signedIn.signIn)
      scope.setNotFoundHandler(notFound)
      for (const part of signedIn.parts) await part(scope)
    }
    await app.register(protectedParts)
  }
  return app
}

function headersOf({ id }: FastifyRequest): Record<string, string> {
  return { ...securityHeaders, 'x-request-id': id }
}

export function metricsPart(metrics: { readonly contentType: string; text(): Promise<string> }): OperationsPart {
  return (app) => {
    app.get('/metrics', async (_request, reply) => reply.type(metrics.contentType).send(await metrics.text()))
  }
}

export function problemsPart(problems: () => readonly Problem[]): OperationsPart {
  return (app) => {
    app.get('/api/problems', async (): Promise<Problems> => ({ problems: problems() }))
  }
}

/** Without a console, the start page says so. */
export const noConsolePlugin: FastifyPluginAsync = async (app) => {
  app.get('/', async (_request, reply) =>
    reply
      .code(404)
      .type('text/plain; charset=utf-8')
      .send('No console is installed. This port serves /livez, /readyz, /metrics and /api/problems.\n'),
  )
}

function rejectionOf(
  { id, caller, clientAddress, method, routeOptions }: FastifyRequest,
  error: EdgeError,
): RejectedRequestEvent {
  const { status, code } = error
  const route = routeOptions.url ?? 'unknown'
  return { requestId: id, caller: caller?.name, client: clientAddress, method, route, status, rejectedWith: code }
}

function edgeErrorOf(error: FastifyError | EdgeError): EdgeError {
  if (error instanceof EdgeError) return error
  const status = error.statusCode ?? 500
  if (status >= 500) return new EdgeError(949)
  return new EdgeError(900, error.validation === undefined ? '' : `: ${error.message}`)
}

type SendError = (request: FastifyRequest, reply: FastifyReply, error: EdgeError) => FastifyReply

/**
 * Browsers get a page. As on the public listener, a 401 has the text of the real API otherwise, unless the client accepts
 * JSON by name.
 */
function errorSender({ pages: pagesOf = () => undefined }: OperationsOptions): SendError {
  return (request, reply, error) => {
    const { accept = '' } = request.headers
    reply.code(error.status).headers(error.headers)
    // A challenge for Basic would open the browser's own dialog, over the console or instead of the page.
    const isBrowser = acceptsPage(request) || CONSOLE_HEADER in request.headers || accept === 'text/event-stream'
    const pages = pagesOf()
    if (error.status === 401 && isBrowser && pages?.challenge !== undefined)
      reply.header('www-authenticate', pages.challenge)
    const page = pages?.errorPage(request, error)
    if (page !== undefined) return reply.headers(page.headers).send(page.html)
    const json = accept.split(',').some((range) => /^\s*application\/json\s*(?:;|$)/i.test(range))
    if (error.status === 401 && !json) return reply.type('text/plain; charset=utf-8').send('401 Unauthorized')
    return reply.send({ error: error.code, message: withSuggestion(error) })
  }
}

/** Console and commands show the message, and have no place for headers. */
function withSuggestion({ message, headers }: EdgeError): string {
  const name = headers[SUGGESTION_HEADER]
  return name === undefined ? message : `${message.trimEnd()}; did you mean "${name}"?`
}

/** Returns the content security policy of pages: forbids inline scripts and styles, other hosts, and embedding. `more`: for fonts. */
export function pagePolicy(...more: readonly string[]): string {
  const own = ["script-src 'self'", "style-src 'self'", "img-src 'self' data:", ...more, "connect-src 'self'"]
  return ["default-src 'none'", ...own, "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"].join('; ')
}
