/** The v3 contract: paths in any case, texts as values, and errors as `{error, message}` with a code for each fault. */

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Endpoint } from '../contracts/endpoint.ts'
import { describedBody } from '../core/endpoint-names.ts'
import { EdgeError, errorTable, ProblemError, SUGGESTION_HEADER } from '../core/errors.ts'
import { PROBLEM_TYPE } from '../core/origins.ts'
import { JSON_TYPE, PROBLEM_CONTENT } from '../representation/headers.ts'
import { pretty } from '../representation/pretty.ts'
import { checkContentHeaders, parseRequestBody, requestBody } from './body.ts'
import { type HttpContract, type HttpSettings, type RouterOptions, routeFinder, toEdgeError } from './contract.ts'
import { validatedUrl } from './edge-request.ts'
import { createChecks } from './param-checks.ts'
import { MAX_PARAMETERS, parseParameters, takeFlags } from './parameters.ts'

const QUERY_LIMITS = { count: MAX_PARAMETERS, tooMany: 604 } as const

const router: RouterOptions = {
  caseSensitive: false,
  ignoreTrailingSlash: true,
  ignoreDuplicateSlashes: true,
  // Longer values reach the validation, which rejects them with their own code and not as an unknown path.
  maxParamLength: 16_384,
}

export function v3Contract(catalogue: readonly Endpoint[]): (settings: () => HttpSettings) => HttpContract {
  return (settings) => createV3Contract(catalogue, settings)
}

function createV3Contract(catalogue: readonly Endpoint[], settings: () => HttpSettings): HttpContract {
  const isServed = ({ experimental }: Endpoint) => !experimental || settings().cluster.experimental
  return {
    catalogue,
    router,
    comparesAppVersion: true,
    findRoute: routeFinder({ catalogue, router }),
    isServed,
    parseQuery: (url, endpoint) => {
      const mark = url.indexOf('?')
      const separatorOf = (name: string) => (SINGLE_KINDS.has(endpoint?.query[name]?.kind ?? '') ? '\n' : ',')
      const query = parseParameters(mark < 0 ? '' : url.slice(mark + 1), QUERY_LIMITS, separatorOf)
      return { flags: takeFlags(query), query }
    },
    served: (endpoint, method, url) => {
      if (endpoint === undefined || !isServed(endpoint) || hasEmptySegment(method, url)) throw new EdgeError(603)
      return endpoint
    },
    checkContentHeaders,
    bodyLimitOf: (endpoint) => {
      const { body, upload } = settings().listen.limits
      return endpoint !== undefined && describedBody(endpoint)?.kind === 'upload' ? upload : body
    },
    parseBody: parseRequestBody,
    check: createChecks(() => settings().cluster),
    validatedUrl,
    requestBody,
    errorOf: toEdgeError,
    notFound: () => new EdgeError(603),
    sendError,
  }
}

/**
 * Values with commas that are no lists. The manager fails on two of them, so they are joined with what makes them an invalid
 * value: no line feed is valid in one.
 */
const SINGLE_KINDS: ReadonlySet<string> = new Set(['sort', 'search', 'query'])

/**
 * The router merges slashes. The real API serves nothing for a path that begins with two slashes. In a write, an empty
 * segment is an id that the client did not have: `PUT /agents//restart` must not restart all agents.
 */
function hasEmptySegment(method: string, url: string): boolean {
  const reads = method === 'GET' || method === 'HEAD'
  return reads ? url.startsWith('//') : /^[^?]*\/\//.test(url)
}

/**
 * Sends `{error, message}`, or a problem (RFC 9457) if the client accepts that by name; 401 as the text of the real API, unless
 * the client accepts JSON by name.
 */
function sendError({ edge, headers }: FastifyRequest, reply: FastifyReply, error: EdgeError): FastifyReply {
  const send = (type: string, contents: object) => {
    const text = JSON.stringify(contents)
    return reply.header('content-type', type).send(edge.flags.pretty ? pretty(text) : text)
  }
  if (accepts(headers.accept, PROBLEM_TYPE)) {
    // A problem has no status of a success: the real API sends some errors with 200.
    const status = error.status === 200 ? 400 : error.status
    reply.code(status)
    return send(PROBLEM_CONTENT, v3Problem(error, status))
  }
  if (error.status === 401 && !accepts(headers.accept, 'application/json'))
    return reply.type('text/plain').send('401 Unauthorized')
  // Of the manager: its texts end at the first colon.
  if (error instanceof ProblemError && error.number !== undefined)
    return send(JSON_TYPE, { error: error.number, message: error.detail.split(':')[0] })
  return send(JSON_TYPE, { error: error.code, message: error.message })
}

function v3Problem({ code, message, headers }: EdgeError, status: number): object {
  const { message: title, remedy } = errorTable[code]
  const name = headers[SUGGESTION_HEADER]
  return {
    title,
    status,
    detail: message,
    error: code,
    remediation: remedy,
    ...(name !== undefined && { suggestion: `Did you mean "${name}"?` }),
  }
}

/** Whether `Accept` names the type, not only by a wildcard. */
function accepts(accept: string | undefined, type: string): boolean {
  return accept?.split(',').some((range) => range.split(';')[0]?.trim().toLowerCase() === type) ?? false
}
