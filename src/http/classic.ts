/** The classic contract: paths in any case, texts as values, and errors as `{error, message}` with a code for each fault. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Endpoint } from '../catalogue/endpoint.ts'
import { EdgeError } from '../core/errors.ts'
import { pretty } from '../representation/pretty.ts'
import { JSON_TYPE } from '../representation/represent.ts'
import { checkContentHeaders, parseBody } from './body.ts'
import type { HttpContract, HttpSettings, RouterOptions } from './contract.ts'
import { requestBody, validatedUrl } from './edge-request.ts'
import { parseParameters, takeFlags, type Values } from './parameters.ts'
import { toEdgeError } from './reply.ts'
import { routeSchema } from './schema.ts'
import { createChecks, type SchemaError, validationError, validatorOf } from './validation.ts'

const router: RouterOptions = {
  caseSensitive: false,
  ignoreTrailingSlash: true,
  ignoreDuplicateSlashes: true,
  // Longer values reach the validation, which rejects them with their own code and not as an unknown path.
  maxParamLength: 16_384,
  // The query is parsed by `parseQuery`.
  querystringParser: () => ({}),
}

export function classicContract(catalogue: readonly Endpoint[]): (settings: () => HttpSettings) => HttpContract {
  return (settings) => createClassicContract(catalogue, settings)
}

function createClassicContract(catalogue: readonly Endpoint[], settings: () => HttpSettings): HttpContract {
  const check = createChecks(() => settings().cluster)
  return {
    catalogue,
    router,
    comparesAppVersion: true,
    methodsOf: ({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]),
    parseQuery: (url) => {
      const limits = { count: settings().listen.limits.queryParameters, tooMany: 604 } as const
      const mark = url.indexOf('?')
      const query = parseParameters(mark < 0 ? '' : url.slice(mark + 1), limits)
      return { flags: takeFlags(query), query }
    },
    served: (endpoint, method, url) => {
      const isHidden = endpoint?.experimental === true && !settings().cluster.experimental
      if (endpoint === undefined || isHidden || hasEmptySegment(method, url)) throw new EdgeError(603)
      return endpoint
    },
    schemaOf: routeSchema,
    checkContentHeaders,
    parseBody,
    check: (endpoint, { query, body, headers }) => check(endpoint, query as Values, body, headers['content-type']),
    checkUrl: (endpoint, params, query) => {
      const schemas = routeSchema(endpoint)
      const parts = [
        ['params', schemas.params, params],
        ['querystring', schemas.querystring, query],
      ] as const
      // In the order in which Fastify validates.
      for (const [part, schema, values] of parts) {
        const validate = schema && validatorOf(schema)
        const first = validate === undefined || validate(values) ? undefined : validate.errors?.[0]
        if (first) throw validationError(endpoint, part, first)
      }
      check(endpoint, query, undefined, undefined)
    },
    validatedUrl,
    requestBody,
    errorOf: contractError,
    notFound: () => new EdgeError(603),
    sendError,
  }
}

/**
 * The router merges slashes. The real API serves nothing for a path that begins with two slashes. In a write, an empty
 * segment is an id that the client did not have: `PUT /agents//restart` must not restart all agents.
 */
function hasEmptySegment(method: string, url: string): boolean {
  const reads = method === 'GET' || method === 'HEAD'
  return reads ? url.startsWith('//') : /^[^?]*\/\//.test(url)
}

function contractError(thrown: unknown, request: FastifyRequest): EdgeError {
  const endpoint = request.routeOptions.config?.endpoint
  const { validation, validationContext = '' } = thrown as { validation?: SchemaError[]; validationContext?: string }
  const first = validation?.[0]
  if (first !== undefined && endpoint !== undefined) return validationError(endpoint, validationContext, first)
  return toEdgeError(thrown)
}

/** Sends `{error, message}`; 401 as the text of the real API, unless the client accepts JSON by name. */
function sendError({ edge, headers }: FastifyRequest, reply: FastifyReply, error: EdgeError): FastifyReply {
  if (error.status === 401 && !acceptsJson(headers.accept)) return reply.type('text/plain').send('401 Unauthorized')
  const text = JSON.stringify({ error: error.code, message: error.message })
  return reply.header('content-type', JSON_TYPE).send(edge.flags.pretty ? pretty(text) : text)
}

function acceptsJson(accept: string | undefined): boolean {
  return accept?.split(',').some((range) => /^\s*application\/json\s*(?:;|$)/i.test(range)) ?? false
}
