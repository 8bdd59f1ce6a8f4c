/**
 * What the HTTP server does in its own way for each of the two contracts, and how each error of a handler, a hook or Fastify
 * becomes one of the contract. `v3.ts` and `v4/` implement it.
 */

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { HTTPMethod } from 'find-my-way'
import createRouter from 'find-my-way'
import type { Config } from '../config/schema.ts'
import type { Body, Endpoint } from '../contracts/endpoint.ts'
import { EdgeError } from '../core/errors.ts'
import type { RequestBody } from '../core/request.ts'
import { METHODS } from '../listener/framing.ts'
import type { ValidatedUrl } from './edge-request.ts'
import type { RequestValues } from './param-checks.ts'
import type { Flags, Values } from './parameters.ts'
import type { RequestLogger } from './report-requests.ts'

/** The settings that requests depend on, as a reload has changed them. */
export type HttpSettings = Pick<Config, 'listen' | 'cluster'>

/** How the router matches paths. */
export interface RouterOptions {
  readonly caseSensitive: boolean
  readonly ignoreTrailingSlash: boolean
  readonly ignoreDuplicateSlashes: boolean
  readonly maxParamLength: number
}

/** A query, and the flags that every endpoint takes. */
export interface ParsedQuery {
  readonly query: Values
  readonly flags: Flags
}

export interface HttpContract {
  readonly catalogue: readonly Endpoint[]
  readonly router: RouterOptions
  readonly findRoute: FindRoute
  /** Whether the endpoint is part of the API that this port serves now. */
  readonly isServed: (endpoint: Endpoint) => boolean
  /** Whether the header `wazuh-app-version` must fit the manager. Releases 4.x ignore it. */
  readonly comparesAppVersion: boolean
  /**
   * Throws for a request whose path, method, or scheme of credentials the contract refuses, whatever the credentials are. It
   * runs before everything that may answer, but prepared hits: for these, see `mayRepeat`. Absent: the contract refuses
   * nothing so early.
   */
  readonly checkForm?: (request: FastifyRequest) => void
  /** Whether `checkForm` would pass for another read of a URL for which it has passed. Absent: always. */
  readonly mayRepeat?: (request: IncomingMessage, endpoint: Endpoint) => boolean
  /** Returns the release of the nodes, which decides what is valid; `undefined`: not known. Absent: it decides nothing. */
  readonly release?: () => string | undefined
  /** Throws for more parameters than the limit. */
  readonly parseQuery: (url: string, endpoint: Endpoint | undefined) => ParsedQuery
  /** Returns the endpoint if it is served under this URL, or throws. */
  readonly served: <E extends Endpoint>(endpoint: E | undefined, method: string, url: string) => E
  /** Checks Content-Type and Content-Encoding before a body is read. */
  readonly checkContentHeaders: (headers: IncomingHttpHeaders, endpoint: Endpoint) => void
  /** Returns the greatest size in bytes of a body of the endpoint. */
  readonly bodyLimitOf: (endpoint: Endpoint | undefined) => number
  /** Returns the contents of the body of an endpoint that takes one. */
  readonly parseBody: (endpoint: Endpoint, type: string, bytes: Buffer) => unknown
  /** Throws for a value that is invalid. */
  readonly check: (endpoint: Endpoint, values: RequestValues) => void
  readonly validatedUrl: (endpoint: Endpoint, params: Values, query: Values, flags: Flags) => ValidatedUrl
  /** Returns the body of a validated request, which the endpoint describes. `clientAddress`: empty if it is not known. */
  readonly requestBody: (body: Body, request: FastifyRequest, clientAddress: string) => RequestBody
  /** Returns the error of the contract for an error of a handler, a hook or Fastify. */
  readonly errorOf: (thrown: unknown) => EdgeError
  readonly notFound: () => EdgeError
  /** Sends the error as the contract writes it. Status and `Cache-Control` are set. */
  readonly sendError: (request: FastifyRequest, reply: FastifyReply, error: EdgeError) => FastifyReply
}

/** Returns the endpoint of a method and a URL with the values of the path; `null`: there is none. */
type FindRoute = (method: string, url: string) => { readonly store: Endpoint | null; readonly params: Values } | null

export function methodsOf({ method }: Endpoint): HTTPMethod[] {
  return method === 'GET' ? ['GET', 'HEAD'] : [method]
}

/** Returns the path of an endpoint as the router takes it: a parameter with a `routePattern` matches only such values. */
export function routeUrl({ path, params }: Pick<Endpoint, 'path' | 'params'>): string {
  return Object.entries(params).reduce(
    (url, [name, { routePattern }]) =>
      routePattern === undefined ? url : url.replace(`:${name}`, () => `:${name}(${routePattern})`),
    path,
  )
}

/**
 * Fastify does not expose its router with the routes that it finds, so the patterns are registered here again, when first needed.
 * For a path that cannot be decoded, `store` is `null`.
 */
export function routeFinder({ catalogue, router }: Pick<HttpContract, 'catalogue' | 'router'>): FindRoute {
  let routes: ReturnType<typeof createRouter> | undefined
  return (method, url) => {
    if (routes === undefined) {
      routes = createRouter({ ...router, onBadUrl: () => undefined })
      for (const endpoint of catalogue) routes.on(methodsOf(endpoint), routeUrl(endpoint), () => undefined, endpoint)
    }
    return routes.find(method as HTTPMethod, url) as ReturnType<FindRoute>
  }
}

export function methodsAt(contract: Pick<HttpContract, 'findRoute' | 'isServed'>, url: string): string[] {
  return METHODS.filter((method) => {
    const endpoint = contract.findRoute(method, url)?.store ?? undefined
    return endpoint !== undefined && contract.isServed(endpoint)
  })
}

/** The `Cache-Control` of everything that no cache may store: secrets, errors, writes. */
export const NO_STORE = 'no-store'

/** Sends an error of the edge in the form of the contract. */
export function sendError(
  request: FastifyRequest,
  reply: FastifyReply,
  error: EdgeError,
  contract: Pick<HttpContract, 'sendError'>,
): FastifyReply {
  const { edge } = request
  edge.nextStage('respond', { error: error.code, ...(error.status >= 500 && { fault: 'error' }) })
  edge.error = error
  reply.code(error.status).header('cache-control', NO_STORE).headers(error.headers)
  return contract.sendError(request, reply, error)
}

/** Turns every error of a handler, a hook or Fastify itself into an error of the contract, in one place. */
export function handleErrors(app: FastifyInstance, contract: HttpContract, log: RequestLogger): void {
  app.setNotFoundHandler((request, reply) => sendError(request, reply, contract.notFound(), contract))
  app.setErrorHandler((thrown, request, reply) => {
    const error = contract.errorOf(thrown)
    // If the client has disconnected, its call was cancelled on purpose. That is no failure to log.
    if (error.status >= 500 && !reply.raw.destroyed) {
      log.warn({ reqId: request.id, code: error.code, err: error.cause }, error.message)
    }
    return sendError(request, reply, error, contract)
  })
}

/** Returns the contract's error for an error of Fastify. Any unexpected error becomes 949, with the original as its cause. */
export function toEdgeError(error: unknown): EdgeError {
  if (error instanceof EdgeError) return error
  // Of the route of a plugin: those of the contract have their own errors.
  const { validation, message } = (error ?? {}) as Partial<FastifyError>
  if (validation !== undefined) return new EdgeError(900, `: ${message}`, { cause: error })
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return new EdgeError(607, '', { cause: error })
  if (code === 'FST_ERR_BAD_URL') return undecodablePath(error)
  return new EdgeError(949, '', { cause: error })
}

export function undecodablePath(cause?: unknown): EdgeError {
  return new EdgeError(614, ' The path cannot be decoded.', { cause })
}
