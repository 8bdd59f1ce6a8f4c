/**
 * The HTTP server: Fastify with one route for each endpoint of the catalogue. A request runs through admission →
 * validation → pipeline → reply. Repeated cache hits are answered in front of Fastify.
 */

import type { IncomingMessage } from 'node:http'
import caching from '@fastify/caching'
import type { FastifyBaseLogger, FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import Fastify from 'fastify'
import type { Endpoint } from '../contracts/endpoint.ts'
import type { Caller } from '../core/request.ts'
import type { RecordStages } from '../core/trace.ts'
import { hasBody } from '../listener/framing.ts'
import type { Listener } from '../listener/listener.ts'
import { commonHeaders } from '../representation/headers.ts'
import { createAdmission, type RefusalByRights } from './admit.ts'
import type { Authenticator } from './authenticator.ts'
import { registerBodyParser } from './body.ts'
import type { BodyBudget } from './body-budget.ts'
import { type HttpContract, type HttpSettings, handleErrors, NO_STORE, sendError } from './contract.ts'
import type { Values } from './parameters.ts'
import { PreparedHits } from './prepared-hits.ts'
import { type RequestObservers, reportAtEnd } from './report-requests.ts'
import type { EventNames } from './request-events.ts'
import { FaultLog } from './request-log.ts'
import { type RequestStart, RequestState } from './request-state.ts'
import { type RouteOptions, registerRoutes } from './routes.ts'
import { addHeaders } from './send-response.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the first hook of each request. */
    edge: RequestState
  }
  interface FastifyContextConfig {
    endpoint?: Endpoint
    /** Of the endpoint, made once. */
    eventNames?: EventNames
    /** The permission that the route of a plugin needs; `signedIn`: none beside valid credentials. */
    permission?: string
  }
}

export interface HttpOptions extends RequestObservers, RouteOptions, RequestStart {
  /** The options that put Fastify behind a listener. */
  readonly server: Pick<Listener['fastify'], 'serverFactory'> & Partial<Listener['fastify']>
  readonly log: FastifyBaseLogger
  readonly settings: () => HttpSettings
  /** All listeners share it. */
  readonly bodies: BodyBudget
  /** Absent: no stages are recorded. */
  readonly recordStages?: RecordStages
  /** Of the manager, known before the body is read. Absent: the nodes decide. */
  readonly refusalByRights?: RefusalByRights
  /** The version of the manager that `wazuh-app-version` must name; `undefined`: any, or not known yet. */
  managerVersion(): string | undefined
  /** Registers its plugins on the app, once. */
  authentication(app: FastifyInstance): Promise<Authenticator>
  /** Registers plugins behind admission. Resolves to whether they have hooks on the routes of the contract. */
  plugins?(scope: FastifyInstance): Promise<boolean>
}

export interface Http {
  readonly app: FastifyInstance
  /** To be called after a reload of the configuration. */
  forgetUrls(): void
}

export async function createHttp(options: HttpOptions): Promise<Http> {
  const { contract } = options
  const hits = new PreparedHits(options)
  const app = createApp(options, hits)
  handleErrors(app, contract, options.log)
  if (await allowOrigins(app, options)) hits.switchOff()
  beginRequests(app, options)
  const authenticator = await options.authentication(app)
  hits.recogniseBy(authenticator)
  app.addHook('onRequest', createAdmission({ ...options, authenticator, contract }))
  app.addHook('preParsing', (request, reply, _payload, done) => {
    if (!hasBody(request.headers)) return done()
    try {
      checkBeforeBody(request, contract)
      request.edge.countBody = options.bodies.open(reply.raw, request.edge.caller?.name ?? '')
      done()
    } catch (refusal) {
      done(refusal as Error)
    }
  })
  registerBodyParser(app, contract)
  // A separate scope: its hooks run after those of the app, so no plugin in it runs before a 401.
  const routes: FastifyPluginAsync = async (scope) => {
    // The plugin sets it on each response without a `Cache-Control`. It also answers 304 for a tag that was set by its
    // `reply.etag`, whatever the URL and the caller: the edge never calls that function.
    await scope.register(caching, { privacy: NO_STORE })
    registerRoutes(scope, { ...options, hits, charge: authenticator.charge })
    scope.addHook('onRoute', (route) => {
      route.config = { permission: 'signedIn', ...route.config }
    })
    if (await options.plugins?.(scope)) hits.switchOff()
  }
  await app.register(routes)
  return { app, forgetUrls: () => hits.clear() }
}

/**
 * Adds a hook for the headers of CORS if the settings name origins, of which a reload only changes the names. Resolves to
 * whether they do. Preflight requests are answered before the hook that reports requests.
 */
async function allowOrigins(app: FastifyInstance, options: HttpOptions): Promise<boolean> {
  if (options.settings().listen.cors.origins.length === 0) return false
  const { default: cors } = await import('@fastify/cors')
  await app.register(cors, {
    origin: (_origin, callback) => callback(null, [...options.settings().listen.cors.origins]),
    methods: ['GET', 'HEAD', 'PUT', 'POST', 'DELETE'],
  })
  return true
}

/** Begins each request that has a route. */
function beginRequests(app: FastifyInstance, options: HttpOptions): void {
  app.decorateRequest('edge')
  // For plugins, as at the operations listener.
  app.decorateRequest('caller', { getter: callerOf } as never)
  app.addHook('onRequest', (request, reply, done) => {
    const edge = beginRequest(request, reply, options)
    edge.trace = options.recordStages?.(request.id, edge.trace) ?? edge.trace
    try {
      options.contract.checkForm?.(request)
      done(edge.fault)
    } catch (refusal) {
      done(refusal as Error)
    }
  })
}

/** Gives a request its state and its response the common headers, and reports the request at its end. */
function beginRequest(request: FastifyRequest, reply: FastifyReply, options: HttpOptions): RequestState {
  // Absent: a plugin gives the requests of its routes another id.
  request.edge = request.raw.state ?? new RequestState(request.raw, options)
  reportAtEnd(request, reply, options)
  addHeaders(reply, commonHeaders(request.id))
  return request.edge
}

/** Fastify calls it with the request as `this`. */
function callerOf(this: FastifyRequest): Caller | undefined {
  return this.edge.caller
}

/**
 * A client that waits for 100 is not invited to send a body that the rest of its request excludes (RFC 9110 section 10.1.1).
 * For other clients the order of the checks is that of the manager, which reads the body first.
 */
function checkBeforeBody({ headers, params, query, routeOptions }: FastifyRequest, contract: HttpContract): void {
  const { endpoint } = routeOptions.config
  if (headers.expect === undefined || endpoint === undefined) return
  contract.check(endpoint, { params: { ...(params as Values) }, query: { ...(query as Values) }, headers })
}

function createApp(options: HttpOptions, hits: PreparedHits): FastifyInstance {
  const { contract } = options
  return Fastify({
    ...options.server,
    serverFactory: (handle, settings) => options.server.serverFactory(hits.inFrontOf(handle), settings),
    logController: new FaultLog(options.log),
    genReqId: (raw: IncomingMessage) => {
      raw.state ??= new RequestState(raw, options)
      return raw.state.id
    },
    requestIdHeader: false,
    exposeHeadRoutes: false,
    return503OnClosing: false,
    // The registration of each plugin has its own limit (app/plugins.ts).
    pluginTimeout: 0,
    // The contract parses the query.
    routerOptions: { ...contract.router, querystringParser: () => ({}) },
    // Fastify runs no hook for an error of the router.
    frameworkErrors: (error, request, reply) => {
      beginRequest(request, reply, options)
      reply.header('cache-control', NO_STORE)
      sendError(request, reply, contract.errorOf(error), contract)
    },
  })
}
