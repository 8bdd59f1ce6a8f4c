/** The second listener, for those who run the edge. Bind it to an address that clients cannot reach. */
import { randomUUID } from 'node:crypto'
import Fastify, {
  type FastifyError,
  type FastifyInstance,
  type FastifyPluginAsync,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerFactory,
} from 'fastify'
import { EdgeError } from '../core/errors.ts'
import type { RefusedRequestEvent } from '../core/events.ts'
import { type Readiness, registerProbes } from './probes.ts'
import { type SignIn, signIn } from './sign-in.ts'

export type { Readiness } from './probes.ts'

/** Registers routes of its own; whoever asks for them has signed in and may look. */
export type OperationsPart = (app: FastifyInstance) => void | Promise<void>

export interface OperationsOptions {
  readonly ready: () => Readiness
  readonly log: { error(fields: object, message: string): void }
  /** Hears of what was refused to somebody who had signed in. */
  readonly refused?: (request: RefusedRequestEvent) => void
  /** Makes the server, with its limits and its certificate; absent: a plain one of Node. */
  readonly serverFactory?: FastifyServerFactory
  /** Asked for without a sign-in, as the probes are. */
  readonly open?: readonly OperationsPart[]
  /** All else; absent: there is nothing else. */
  readonly signedIn?: { readonly signIn: SignIn; readonly parts: readonly OperationsPart[] }
}

const everyAnswer = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
} as const

/** Makes the app; it listens when it is told to. Its `close` waits for nobody. */
export async function createOperations({
  ready,
  log,
  refused,
  serverFactory,
  open = [],
  signedIn,
}: OperationsOptions): Promise<FastifyInstance> {
  const app = Fastify({
    logger: false,
    genReqId: () => randomUUID(),
    forceCloseConnections: true,
    return503OnClosing: false,
    ...(serverFactory && { serverFactory }),
    bodyLimit: 16_384,
    // What is not known is refused, not taken out; numbers of a query come as text.
    ajv: { customOptions: { removeAdditional: false, coerceTypes: true } },
    // What the router itself refuses runs through no hook.
    frameworkErrors: (fault, request, reply) => {
      reply.headers(headersOf(request))
      return sendError(request, reply, edgeErrorOf(fault))
    },
  })
  // Only JSON: a form of another site could send plain text.
  app.removeContentTypeParser('text/plain')
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(headersOf(request))
  })
  registerProbes(app, ready)
  for (const part of open) await part(app)
  app.setErrorHandler((fault: FastifyError, request, reply) => {
    const error = edgeErrorOf(fault)
    if (error.status === 500) log.error({ fault: fault.message }, 'the operations listener failed')
    if (!request.asked) refused?.(refusalOf(request, error))
    return sendError(request, reply, error)
  })
  const notFound = (request: FastifyRequest, reply: FastifyReply) => sendError(request, reply, new EdgeError(603))
  if (signedIn === undefined) app.setNotFoundHandler(notFound)
  else {
    const behind: FastifyPluginAsync = async (scope) => {
      await signIn(scope, signedIn.signIn)
      scope.setNotFoundHandler(notFound)
      for (const part of signedIn.parts) await part(scope)
    }
    await app.register(behind)
  }
  return app
}

function headersOf({ id }: FastifyRequest): Record<string, string> {
  return { ...everyAnswer, 'x-request-id': id }
}

/** The metrics in the text format of Prometheus. */
export function metricsPart(metrics: { readonly contentType: string; text(): Promise<string> }): OperationsPart {
  return (app) => {
    app.get('/metrics', async (_request, reply) => reply.type(metrics.contentType).send(await metrics.text()))
  }
}

function refusalOf(
  { id, caller, clientAddress, method, routeOptions }: FastifyRequest,
  error: EdgeError,
): RefusedRequestEvent {
  const { status, code } = error
  const route = routeOptions.url ?? 'unknown'
  return { requestId: id, caller: caller?.name, client: clientAddress, method, route, status, refusal: code }
}

function edgeErrorOf(fault: FastifyError | EdgeError): EdgeError {
  if (fault instanceof EdgeError) return fault
  const status = fault.statusCode ?? 500
  if (status >= 500) return new EdgeError(949)
  return new EdgeError(900, fault.validation === undefined ? '' : `: ${fault.message}`)
}

/** As on the public listener: 401 is the real API's text, unless JSON is asked for by name. */
function sendError({ headers }: FastifyRequest, reply: FastifyReply, error: EdgeError): FastifyReply {
  reply.code(error.status).headers(error.headers)
  const json = headers.accept?.split(',').some((range) => /^\s*application\/json\s*(?:;|$)/i.test(range)) ?? false
  if (error.status === 401 && !json) return reply.type('text/plain; charset=utf-8').send('401 Unauthorized')
  return reply.send({ error: error.code, message: error.message })
}
