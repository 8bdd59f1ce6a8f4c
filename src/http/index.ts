/**
 * The HTTP server: Fastify with one route for each endpoint of the catalogue. On the regular path a request runs
 * through admission → validation → pipeline → reply; the fast path answers cache hits in front of the router.
 */
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyPluginAsync,
  type FastifyRequest,
  type FastifyServerFactory,
} from 'fastify'
import type { Endpoint } from '../catalogue/endpoint.ts'
import { newRequestId } from '../core/request-ids.ts'
import type { RecordStages } from '../core/trace.ts'
import { Admission } from './admit.ts'
import type { Authenticator } from './authenticate.ts'
import { registerBodyParsers } from './body.ts'
import { NO_STORE, registerNoStore } from './cache-headers.ts'
import type { AddressOf } from './client-address.ts'
import { createFastPath, type FastPath } from './fast-path.ts'
import { addHeaders, handleErrors, sendError, toEdgeError } from './reply.ts'
import { commonHeaders } from './representation.ts'
import { logDisconnect, logRouterError, RequestLog, type WriteLine } from './request-log.ts'
import { type BeginTrace, type RequestEventListener, RequestState } from './request-state.ts'
import {
  admissionTarget,
  createUrlResolver,
  type ResolveUrl,
  ROUTER_OPTIONS,
  type RouteOptions,
  registerRoutes,
} from './routes.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the first hook of each request. */
    edge: RequestState
  }
  interface FastifyContextConfig {
    endpoint?: Endpoint
  }
}

export interface HttpOptions extends RouteOptions {
  readonly serverFactory: FastifyServerFactory
  readonly log: FastifyBaseLogger
  /** Writes whole lines of the log at level `info`; absent: all lines go through the logger. */
  readonly writeLine?: WriteLine
  /** Receives the event of each request when its response was sent or its client has disconnected. */
  readonly observe?: RequestEventListener
  /** Absent: nothing is traced. */
  readonly beginTrace?: BeginTrace
  /** Absent: the stages of the regular path are not recorded. */
  readonly recordStages?: RecordStages
  readonly clientAddress: AddressOf
  /** The version of the manager that `wazuh-app-version` must name; `undefined`: any, or not known yet. */
  managerVersion(): string | undefined
  /** Registers its plugins on the app, once. */
  authentication(app: FastifyInstance): Promise<Authenticator>
}

export interface Http {
  readonly app: FastifyInstance
  readonly resolveUrl: ResolveUrl
  /** To be called after a reload of the configuration. */
  forgetUrls(): void
}

export async function createHttp(options: HttpOptions): Promise<Http> {
  const fastPath = createFastPath(options)
  const app = createApp(options, fastPath)
  app.decorateRequest('edge')
  app.addHook('onRequest', async (request) => {
    request.edge = stateOf(request, options, fastPath)
  })
  if (options.corsOrigins.length > 0) {
    const { default: cors } = await import('@fastify/cors')
    await app.register(cors, {
      // Read for each request: the setting may change.
      origin: (_origin, callback) => callback(null, [...options.corsOrigins]),
      methods: ['GET', 'HEAD', 'PUT', 'POST', 'DELETE'],
    })
  }
  handleErrors(app)
  app.addHook('onRequest', async (request, reply) => {
    logDisconnect(request, reply, options.observe)
    addHeaders(reply, commonHeaders(request.id))
  })
  const admission = new Admission(await options.authentication(app), options.managerVersion)
  fastPath.open(admission)
  const targetOf = (request: FastifyRequest) => admissionTarget(request, options)
  app.addHook('onRequest', (request, reply) => admission.admit(request, reply, targetOf))
  registerBodyParsers(app, options.limits)
  // A separate scope: its hooks run after those of the app, so no plugin in it runs before a 401.
  const routes: FastifyPluginAsync = async (scope) => {
    await registerNoStore(scope)
    registerRoutes(scope, options, { fastPath, charge: admission.charge })
  }
  await app.register(routes)
  return { app, resolveUrl: createUrlResolver(options), forgetUrls: fastPath.forgetUrls }
}

function createApp(options: HttpOptions, fastPath: FastPath): FastifyInstance {
  return Fastify({
    serverFactory: (handler, settings) => options.serverFactory(fastPath.wrap(handler), settings),
    loggerInstance: options.log,
    logController: new RequestLog(options.observe),
    genReqId: (raw) => fastPath.handoverOf(raw)?.id ?? newRequestId(),
    requestIdHeader: false,
    exposeHeadRoutes: false,
    return503OnClosing: false,
    routerOptions: ROUTER_OPTIONS,
    // Fastify runs no hook for an error of the router.
    frameworkErrors: (error, request, reply) => {
      request.edge = new RequestState(options.clientAddress(request), undefined, undefined)
      logRouterError(request, reply, options.observe)
      addHeaders(reply, commonHeaders(request.id))
      reply.header('cache-control', NO_STORE)
      sendError(request, reply, toEdgeError(error))
    },
  })
}

function stateOf(request: FastifyRequest, options: HttpOptions, fastPath: FastPath): RequestState {
  const handover = fastPath.handoverOf(request.raw)
  const trace = handover === undefined ? options.beginTrace?.(request) : handover.trace
  const recorded = options.recordStages?.(request.id, trace) ?? trace
  return new RequestState(options.clientAddress(request), handover, recorded)
}
