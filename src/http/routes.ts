/**
 * Each endpoint of the catalogue becomes a route of Fastify, whose handler calls the pipeline and sends its response.
 * `resolveUrl` runs the same steps for a URL alone: the same route patterns, validators and checks, without a request.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import createRouter from 'find-my-way'
import type { Endpoint, ReadEndpoint } from '../catalogue/endpoint.ts'
import { EdgeError } from '../core/errors.ts'
import { type Caller, type EdgeRead, type Handler, newRequestId } from '../core/request.ts'
import { hasBody } from '../listener/framing.ts'
import { type AdmissionTarget, authorise } from './admit.ts'
import type { Charge } from './authenticate.ts'
import { type BodyLimits, completeBody } from './body.ts'
import { requestBody, toEdgeRead, toEdgeRequest, validatedUrl } from './edge-request.ts'
import { type Flags, parseParameters, takeFlags, type Values } from './parameters.ts'
import type { PreparedHits } from './prepared-hits.ts'
import { sendResponse, undecodablePath } from './reply.ts'
import { type JsonSchema, routeSchema, routeUrl } from './schema.ts'
import { createChecks, type Prefixes, type Validator, validationError, validatorOf } from './validation.ts'

export interface RouteOptions {
  readonly catalogue: readonly Endpoint[]
  readonly handle: Handler
  /** Returns the settings in use. */
  readonly settings: () => HttpSettings
}

/** The settings that requests depend on. */
export interface HttpSettings {
  readonly listen: {
    /** `queryParameters`: greatest number of them. */
    readonly limits: BodyLimits & { readonly queryParameters: number }
    readonly cors: { readonly origins: readonly string[] }
  }
  /** `experimental`: whether experimental endpoints are served. */
  readonly cluster: Prefixes & { readonly experimental: boolean }
  /** Shorter bodies are not compressed. */
  readonly cache: { readonly compressionMinBytes: number }
}

/** How paths are matched, for Fastify and for `resolveUrl`. */
export const ROUTER_OPTIONS = {
  caseSensitive: false,
  ignoreTrailingSlash: true,
  ignoreDuplicateSlashes: true,
  // Longer values reach the validation, which rejects them with their own code and not as an unknown path.
  maxParamLength: 16_384,
  // The query is parsed by `queryOf`.
  querystringParser: () => ({}),
}

export function registerRoutes(
  app: FastifyInstance,
  options: RouteOptions,
  { hits, charge }: { readonly hits: PreparedHits; readonly charge: Charge },
): void {
  const check = createChecks(() => options.settings().cluster)
  app.setValidatorCompiler(({ schema }) => validatorOf(schema as JsonSchema))
  for (const endpoint of options.catalogue) {
    app.route({
      method: endpoint.method === 'GET' ? ['GET', 'HEAD'] : endpoint.method,
      url: routeUrl(endpoint),
      schema: routeSchema(endpoint),
      config: { endpoint },
      preValidation: async (request, reply) => {
        if ('body' in endpoint || hasBody(request.headers))
          await completeBody(endpoint, request, reply, () => options.settings().listen.limits)
      },
      preHandler: async ({ raw, query, body, headers }) => {
        // The listener has already sent this error. The request must not have an effect any more.
        if (raw.rejectedWith !== undefined) throw raw.rejectedWith
        check(endpoint, query as Values, body, headers['content-type'])
      },
      handler: async (request, reply) => {
        const { edge, headers, id } = request
        const { caller, clientAddress, trace } = edge
        // Admission has set the caller. Without a caller nothing is served.
        if (caller === undefined) throw new EdgeError(949)
        const body = requestBody(endpoint, request, clientAddress)
        const url = validatedUrl(endpoint, request.params as Values, request.query as Values, edge.flags)
        edge.endStage()
        edge.enteredPipeline = true
        const parts = { caller, headers, id, body, clientAddress, trace, client: { response: reply.raw }, charge }
        edge.response = await options.handle(toEdgeRequest(url, parts))
        hits.remember(request, caller, url, edge.response)
        return sendResponse(request, reply, edge.response, options.settings().cache.compressionMinBytes)
      },
    })
  }
}

/** Returns the target of a request for admission, and stores query and flags in the request. Throws 603 and 604. */
export function admissionTarget(request: FastifyRequest, options: RouteOptions): AdmissionTarget {
  const { query, flags } = queryOf(request.raw.url ?? '', options.settings().listen.limits.queryParameters)
  request.edge.flags = flags
  request.query = query
  return {
    endpoint: served(request.routeOptions.config.endpoint, request.method, request.raw.url ?? '', options),
    query,
  }
}

function queryOf(url: string, maxParameters: number): { readonly query: Values; readonly flags: Flags } {
  const mark = url.indexOf('?')
  const query = parseParameters(mark < 0 ? '' : url.slice(mark + 1), { count: maxParameters, tooMany: 604 })
  return { flags: takeFlags(query), query }
}

/** Returns the endpoint if it is served under this URL; else throws 603. */
function served<E extends Endpoint>(endpoint: E | undefined, method: string, url: string, options: RouteOptions): E {
  if (endpoint === undefined || (endpoint.experimental && !options.settings().cluster.experimental))
    throw new EdgeError(603)
  if (hasEmptySegment(method, url)) throw new EdgeError(603)
  return endpoint
}

/**
 * The router merges slashes. The real API serves nothing for a path that begins with two slashes. In a write, an empty
 * segment is an id that the client did not have: `PUT /agents//restart` must not restart all agents.
 */
function hasEmptySegment(method: string, url: string): boolean {
  const reads = method === 'GET' || method === 'HEAD'
  return reads ? url.startsWith('//') : /^[^?]*\/\//.test(url)
}

/** Returns the EdgeRead that a GET of this URL by this caller leads to, or throws the EdgeError that it is rejected with. */
export type ResolveUrl = (url: string, caller: Caller) => EdgeRead

/** What the listener accepts as a request target: a path and a query of printable ASCII, without a fragment. */
const PATH_AND_QUERY = /^\/[\x21\x22\x24-\x7e]*$/

interface ResolvableRoute {
  readonly endpoint: ReadEndpoint
  /** In the order in which Fastify validates. */
  readonly validators: readonly (readonly [part: 'params' | 'querystring', validate: Validator])[]
}

/** A URL that is no path at all throws 604: it is the value of a parameter where this function is used. */
export function createUrlResolver(options: RouteOptions): ResolveUrl {
  const check = createChecks(() => options.settings().cluster)
  // Fastify does not expose its router with the routes that it finds, so the patterns are registered here again.
  const router = createRouter({ ...ROUTER_OPTIONS, onBadUrl: () => undefined })
  for (const endpoint of options.catalogue) {
    if (endpoint.method === 'GET') router.on('GET', routeUrl(endpoint), () => undefined, resolvableRoute(endpoint))
  }
  return (url, caller) => {
    if (!PATH_AND_QUERY.test(url)) throw new EdgeError(604, '. The url must be a path')
    const found = router.find('GET', url)
    if (found !== null && found.store === null) throw undecodablePath()
    const route: ResolvableRoute | undefined = found?.store
    const { query, flags } = queryOf(url, options.settings().listen.limits.queryParameters)
    const endpoint = served(route?.endpoint, 'GET', url, options)
    authorise(caller, { endpoint, query })
    const params = { ...found?.params } as Values
    for (const [part, validate] of route?.validators ?? []) {
      const first = validate(part === 'params' ? params : query) ? undefined : validate.errors?.[0]
      if (first) throw validationError(endpoint, part, first)
    }
    check(endpoint, query, undefined, undefined)
    const parts = { caller, headers: {}, id: newRequestId(), clientAddress: '' }
    return toEdgeRead(endpoint, validatedUrl(endpoint, params, query, flags), parts)
  }
}

function resolvableRoute(endpoint: ReadEndpoint): ResolvableRoute {
  const { params, querystring } = routeSchema(endpoint)
  const query = ['querystring', validatorOf(querystring)] as const
  return { endpoint, validators: params === undefined ? [query] : [['params', validatorOf(params)], query] }
}
