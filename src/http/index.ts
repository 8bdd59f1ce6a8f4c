import { randomUUID } from 'node:crypto'
import type { Endpoint } from '../catalogue/endpoint.ts'
import { EdgeError } from '../core/errors.ts'
import type { Caller, EdgeRequest } from '../core/request.ts'
import type { EdgeResponse } from '../core/response.ts'
import type { Span } from '../core/trace.ts'
import { parseQuery } from '../query/grammar.ts'
import { authorise, checkAppVersion } from './admit.ts'
import type { Authenticate } from './authenticate.ts'
import { checkBodyType, registerBodyParsers } from './body.ts'
import { NO_STORE, notKeptHeaders } from './cache-headers.ts'
import type { AddressOf } from './client-address.ts'
import { createHitRoad, type HitRoad } from './fast-path.ts'
import { type Flags, noFlags, parseParameters, takeFlags } from './parameters.ts'
import { Questions } from './questions.ts'
import { addHeaders, everyAnswer, handleErrors, sendError, toEdgeError } from './reply.ts'
import { logDeparture, RequestLog, tellOfRefusal, type WriteLine } from './request-log.ts'
import { type BeginTrace, nextStage, type Observe } from './request-state.ts'
import { type RouteOptions, registerRoutes } from './routes.ts'

/**
 * All that knows Fastify, put together: each record of the catalogue becomes a route, and each request runs
 * authenticate → authorise → validate → handle → reply.
 */

import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyPluginAsync,
  type FastifyRequest,
  type FastifyServerFactory,
} from 'fastify'

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller
    flags: Flags
    /** The client behind trusted proxies, normalised. */
    clientAddress: string
    /** It went on to the pipeline: whatever comes of it now is told from there. */
    asked: boolean
    /** The error that it was answered with. */
    refused: EdgeError | undefined
    /** What it was answered with; absent: an error, or nothing yet. */
    answered: EdgeResponse | undefined
    /** It is not to be told of (any more). */
    told: boolean
    /** Bytes that its connection had sent before an answer of unknown length. */
    sentBefore: number | undefined
    /** Absent: nobody traces it. `stage`: the one under way, where that is the framework's. */
    trace: Span | undefined
    stage: Span | undefined
  }
  interface FastifyContextConfig {
    endpoint?: Endpoint
  }
}

export interface HttpOptions extends RouteOptions {
  readonly serverFactory: FastifyServerFactory
  readonly log: FastifyBaseLogger
  /** Takes whole lines of the log at level `info`; absent: all go through the logger. */
  readonly writeLine?: WriteLine
  readonly experimental: boolean
  /** Hears of each request once its answer has left, or its client has. */
  readonly observe?: Observe
  /** Absent: nothing is traced. */
  readonly beginTrace?: BeginTrace
  readonly clientAddress: AddressOf
  managerVersion(): string | undefined
  /** Registers what it needs on the app, once; gives the function that runs for each request. */
  authentication(app: FastifyInstance): Promise<Authenticate>
}

export interface Http {
  readonly app: FastifyInstance
  /** What a GET of a URL would ask, for that caller; throws the EdgeError that it would answer. */
  askOf(url: string, caller: Caller): Promise<EdgeRequest>
}

export async function createHttp(options: HttpOptions): Promise<Http> {
  const questions = new Questions()
  const road = createHitRoad(options)
  const app: FastifyInstance = Fastify({
    serverFactory: (handler, settings) => options.serverFactory(road.inFront(handler), settings),
    loggerInstance: options.log,
    logController: new RequestLog((raw) => road.decided(raw)?.waited ?? 0, options.observe),
    genReqId: (raw) => road.decided(raw)?.id ?? randomUUID(),
    requestIdHeader: false,
    exposeHeadRoutes: false,
    return503OnClosing: false,
    bodyLimit: options.limits.fields,
    ajv: {
      customOptions: {
        removeAdditional: false,
        coerceTypes: false,
        useDefaults: false,
        allErrors: false,
        formats: { query: { type: 'string', validate: (text: string) => parseQuery(text).ok } },
      },
    },
    routerOptions: {
      caseSensitive: false,
      ignoreTrailingSlash: true,
      ignoreDuplicateSlashes: true,
      // Longer values are refused by their own pattern, with their own code, not as an unknown path.
      maxParamLength: 16_384,
      querystringParser: () => ({}),
    },
    frameworkErrors: (error, request, reply) => {
      request.flags = noFlags
      request.clientAddress = options.clientAddress(request)
      request.told = questions.find(request) !== undefined
      tellOfRefusal(request, reply, options.observe)
      addHeaders(reply, everyAnswer(request.id))
      reply.header('cache-control', NO_STORE)
      sendError(request, reply, toEdgeError(error))
    },
  })
  if (options.corsOrigins.length > 0) {
    const { default: cors } = await import('@fastify/cors')
    await app.register(cors, { origin: [...options.corsOrigins], methods: ['GET', 'HEAD', 'PUT', 'POST', 'DELETE'] })
  }
  handleErrors(app)
  await enter(app, options, road, questions)
  registerBodyParsers(app)
  // In a scope of their own, after the hooks that decide who may enter: nothing of the plugin runs before a 401.
  const routes: FastifyPluginAsync = async (scope) => {
    await notKeptHeaders(scope)
    registerRoutes(scope, options, { road, questions })
  }
  await app.register(routes)
  return { app, askOf: (url, caller) => questions.askOf(app, url, caller) }
}

/** Who asks, and for what: no byte of an answer before both are known. */
async function enter(app: FastifyInstance, options: HttpOptions, road: HitRoad, questions: Questions): Promise<void> {
  app.decorateRequest('caller')
  app.decorateRequest('flags')
  app.decorateRequest('clientAddress', '')
  app.decorateRequest('asked', false)
  app.decorateRequest('refused')
  app.decorateRequest('answered')
  app.decorateRequest('told', false)
  app.decorateRequest('sentBefore')
  app.decorateRequest('trace')
  app.decorateRequest('stage')
  app.addHook('onRequest', async (request, reply) => {
    request.flags = noFlags
    request.clientAddress = options.clientAddress(request)
    // A question is no request of a client.
    request.told = questions.find(request) !== undefined
    const before = road.decided(request.raw)
    request.trace = before !== undefined || request.told ? before?.trace : options.beginTrace?.(request)
    logDeparture(request, reply, options.observe)
    addHeaders(reply, everyAnswer(request.id))
  })
  const authenticate = await options.authentication(app)
  road.open(authenticate)
  app.addHook('onRequest', async (request) => {
    nextStage(request, 'authenticate')
    const known = road.decided(request.raw)?.caller ?? questions.find(request)?.caller
    request.caller = await (known ?? authenticate(request))
    nextStage(request, 'authorise')
    const endpoint = request.routeOptions.config.endpoint
    const query = parseParameters(queryText(request), { count: options.limits.query, tooMany: 604 })
    request.flags = takeFlags(query)
    request.query = query
    if (endpoint === undefined || (endpoint.experimental && !options.experimental)) throw new EdgeError(603)
    if (isFoldedTooFar(request)) throw new EdgeError(603)
    checkAppVersion(request.headers['wazuh-app-version'], options.managerVersion())
    authorise(request.caller, endpoint, query)
    checkBodyType(request, endpoint)
    nextStage(request, 'validate')
  })
}

/**
 * The router folds slashes. For the real API slashes alone are no path (contract, wire.md); and in a write an empty
 * segment is an id that the client did not have: `PUT /agents//restart` must not restart all agents.
 */
function isFoldedTooFar({ method, raw: { url = '' } }: FastifyRequest): boolean {
  const reads = method === 'GET' || method === 'HEAD'
  return (reads ? /^\/\/+(?:\?|$)/ : /^[^?]*\/\//).test(url)
}

function queryText(request: FastifyRequest): string {
  const url = request.raw.url ?? ''
  const mark = url.indexOf('?')
  return mark < 0 ? '' : url.slice(mark + 1)
}
