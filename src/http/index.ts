/**
 * The HTTP server: Fastify with one route for each endpoint of the catalogue. A request runs through admission →
 * validation → pipeline → reply. A hook in front of admission answers repeated cache hits.
 */
import caching from '@fastify/caching'
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyPluginAsync,
  type FastifyRequest,
  type FastifyServerOptions,
} from 'fastify'
import type { Endpoint } from '../catalogue/endpoint.ts'
import { newRequestId } from '../core/request.ts'
import type { RecordStages } from '../core/trace.ts'
import { commonHeaders } from '../representation/represent.ts'
import { createAdmission } from './admit.ts'
import type { Authenticator } from './authenticate.ts'
import { registerBodyParser } from './body.ts'
import type { AddressOf } from './client-address.ts'
import type { CreateContract, HttpContract } from './contract.ts'
import { PreparedHits } from './prepared-hits.ts'
import { addHeaders, handleErrors, NO_STORE, sendError } from './reply.ts'
import { RequestLog, reportAtEnd } from './request-log.ts'
import { type BeginTrace, type RequestEventListener, RequestState } from './request-state.ts'
import { admissionTarget, createUrlResolver, type ResolveUrl, type RouteOptions, registerRoutes } from './routes.ts'

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
  readonly contract: CreateContract
  /** The options that put Fastify behind a listener. */
  readonly server: Pick<FastifyServerOptions, 'serverFactory' | 'clientErrorHandler'>
  readonly log: FastifyBaseLogger
  /** Receives the event of each request when its response was sent or its client has disconnected. */
  readonly observe?: RequestEventListener
  /** Absent: nothing is traced. */
  readonly beginTrace?: BeginTrace
  /** Absent: no stages are recorded. */
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
  const contract = options.contract(options.settings)
  const app = createApp(options, contract)
  app.decorateRequest('edge')
  app.addHook('onRequest', (request, _reply, done) => {
    request.edge = new RequestState(options.clientAddress(request), options.beginTrace?.(request))
    done()
  })
  if (options.settings().listen.cors.origins.length > 0) {
    const { default: cors } = await import('@fastify/cors')
    await app.register(cors, {
      origin: (_origin, callback) => callback(null, [...options.settings().listen.cors.origins]),
      methods: ['GET', 'HEAD', 'PUT', 'POST', 'DELETE'],
    })
  }
  handleErrors(app, contract, options.log)
  const authenticator = await options.authentication(app)
  const hits = new PreparedHits(options, authenticator)
  app.addHook('onRequest', (request, reply, done) =>
    hits.answer(request, reply, (error) => {
      const { edge } = request
      edge.trace = options.recordStages?.(request.id, edge.trace) ?? edge.trace
      reportAtEnd(request, reply, options.log, options.observe)
      addHeaders(reply, commonHeaders(request.id))
      done(error)
    }),
  )
  const targetOf = (request: FastifyRequest) => admissionTarget(request, contract)
  const { managerVersion } = options
  app.addHook('onRequest', createAdmission({ authenticator, managerVersion, contract, targetOf }))
  registerBodyParser(app, contract.parseBody, () => options.settings().listen.limits)
  // A separate scope: its hooks run after those of the app, so no plugin in it runs before a 401.
  const routes: FastifyPluginAsync = async (scope) => {
    // The plugin sets it on each response without a `Cache-Control`. It also answers 304 for a tag that was set by its
    // `reply.etag`, whatever the URL and the caller: the edge never calls that function.
    await scope.register(caching, { privacy: NO_STORE })
    registerRoutes(scope, contract, options, { hits, charge: authenticator.charge })
  }
  await app.register(routes)
  return { app, resolveUrl: createUrlResolver(contract), forgetUrls: () => hits.clear() }
}

function createApp(options: HttpOptions, contract: HttpContract): FastifyInstance {
  return Fastify({
    ...options.server,
    logController: new RequestLog(options.log),
    genReqId: newRequestId,
    requestIdHeader: false,
    exposeHeadRoutes: false,
    return503OnClosing: false,
    // The contract parses the query.
    routerOptions: { ...contract.router, querystringParser: () => ({}) },
    // Fastify runs no hook for an error of the router.
    frameworkErrors: (error, request, reply) => {
      request.edge = new RequestState(options.clientAddress(request), undefined)
      reportAtEnd(request, reply, options.log, options.observe)
      addHeaders(reply, commonHeaders(request.id))
      reply.header('cache-control', NO_STORE)
      sendError(request, reply, contract.errorOf(error, request), contract)
    },
  })
}
