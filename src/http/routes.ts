/**
 * Each endpoint of the catalogue becomes a route of Fastify, whose handler calls the pipeline and sends its response.
 * `resolveUrl` runs the same steps for a URL alone: the same route patterns, validators and checks, without a request.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import createRouter from 'find-my-way'
import type { ReadEndpoint } from '../catalogue/endpoint.ts'
import { EdgeError } from '../core/errors.ts'
import { type Caller, type EdgeRead, type Handler, newRequestId } from '../core/request.ts'
import { hasBody } from '../listener/framing.ts'
import { type AdmissionTarget, authorise } from './admit.ts'
import type { Charge } from './authenticate.ts'
import { completeBody } from './body.ts'
import type { HttpContract, HttpSettings } from './contract.ts'
import { toEdgeRead, toEdgeRequest } from './edge-request.ts'
import type { Values } from './parameters.ts'
import type { PreparedHits } from './prepared-hits.ts'
import { sendResponse, undecodablePath } from './reply.ts'
import { type JsonSchema, routeUrl } from './schema.ts'
import { validatorOf } from './validation.ts'

export interface RouteOptions {
  readonly handle: Handler
  /** Returns the settings in use. */
  readonly settings: () => HttpSettings
}

export function registerRoutes(
  app: FastifyInstance,
  contract: HttpContract,
  { handle, settings }: RouteOptions,
  { hits, charge }: { readonly hits: PreparedHits; readonly charge: Charge },
): void {
  const bodies = { parse: contract.parseBody, limits: () => settings().listen.limits }
  app.setValidatorCompiler(({ schema }) => validatorOf(schema as JsonSchema))
  for (const endpoint of contract.catalogue) {
    app.route({
      method: contract.methodsOf(endpoint),
      url: routeUrl(endpoint),
      ...(contract.schemaOf && { schema: contract.schemaOf(endpoint) }),
      config: { endpoint },
      preValidation: async (request, reply) => {
        if ('body' in endpoint || hasBody(request.headers)) await completeBody(endpoint, request, reply, bodies)
      },
      preHandler: async (request) => {
        // The listener has already sent this error. The request must not have an effect any more.
        if (request.raw.rejectedWith !== undefined) throw request.raw.rejectedWith
        contract.check(endpoint, request)
      },
      handler: async (request, reply) => {
        const { edge, headers, id } = request
        const { caller, clientAddress, trace } = edge
        // Admission has set the caller. Without a caller nothing is served.
        if (caller === undefined) throw new EdgeError(949)
        const body = contract.requestBody(endpoint, request, clientAddress)
        const url = contract.validatedUrl(endpoint, request.params as Values, request.query as Values, edge.flags)
        edge.endStage()
        edge.enteredPipeline = true
        const parts = { caller, headers, id, body, clientAddress, trace, client: { response: reply.raw }, charge }
        edge.response = await handle(toEdgeRequest(url, parts))
        hits.remember(request, caller, url, edge.response)
        return sendResponse(request, reply, edge.response, settings().cache.compressionMinBytes)
      },
    })
  }
}

/** Returns the target of a request for admission, and stores query and flags in the request. Throws 603 and 604. */
export function admissionTarget(request: FastifyRequest, contract: HttpContract): AdmissionTarget {
  const { url = '' } = request.raw
  const { endpoint } = request.routeOptions.config
  const { query, flags } = contract.parseQuery(url, endpoint)
  request.edge.flags = flags
  request.query = query
  return { endpoint: contract.served(endpoint, request.method, url), query }
}

/** Returns the EdgeRead that a GET of this URL by this caller leads to, or throws the EdgeError that it is rejected with. */
export type ResolveUrl = (url: string, caller: Caller) => EdgeRead

/** What the listener accepts as a request target: a path and a query of printable ASCII, without a fragment. */
const PATH_AND_QUERY = /^\/[\x21\x22\x24-\x7e]*$/

/** A URL that is no path at all throws 604: it is the value of a parameter where this function is used. */
export function createUrlResolver(contract: HttpContract): ResolveUrl {
  let router: ReturnType<typeof createRouter> | undefined
  return (url, caller) => {
    if (!PATH_AND_QUERY.test(url)) throw new EdgeError(604, '. The url must be a path')
    router ??= routerOfReads(contract)
    const found = router.find('GET', url)
    if (found !== null && found.store === null) throw undecodablePath()
    const { query, flags } = contract.parseQuery(url, found?.store)
    const endpoint = contract.served<ReadEndpoint>(found?.store, 'GET', url)
    authorise(caller, { endpoint, query })
    const params = { ...found?.params } as Values
    contract.checkUrl(endpoint, params, query)
    const parts = { caller, headers: {}, id: newRequestId(), clientAddress: '' }
    return toEdgeRead(endpoint, contract.validatedUrl(endpoint, params, query, flags), parts)
  }
}

/** Fastify does not expose its router with the routes that it finds, so the patterns are registered here again, when first needed. */
function routerOfReads(contract: HttpContract) {
  const router = createRouter({ ...contract.router, onBadUrl: () => undefined })
  for (const endpoint of contract.catalogue) {
    if (endpoint.method === 'GET') router.on('GET', routeUrl(endpoint), () => undefined, endpoint)
  }
  return router
}
