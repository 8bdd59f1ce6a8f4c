/**
 * The routes of a contract, one for each endpoint: a hook of the route validates the request, and its handler makes the
 * EdgeRequest, calls the pipeline and sends the response.
 */

import type { FastifyInstance } from 'fastify'
import { describedBody } from '../core/endpoint-names.ts'
import { EdgeError } from '../core/errors.ts'
import { type Handler, NO_BODY } from '../core/request.ts'
import { hasBody } from '../listener/framing.ts'
import type { Authenticator } from './authenticator.ts'
import { dropBody, mediaTypeOf } from './body.ts'
import { type HttpContract, methodsOf, routeUrl } from './contract.ts'
import { toEdgeRequest } from './edge-request.ts'
import type { Values } from './parameters.ts'
import type { PreparedHits } from './prepared-hits.ts'
import { eventNamesOf } from './request-events.ts'
import { sendResponse } from './send-response.ts'

const NO_BYTES = Buffer.alloc(0)

export interface RouteOptions {
  readonly contract: HttpContract
  readonly handle: Handler
}

interface RouteParts extends RouteOptions {
  readonly hits: Pick<PreparedHits, 'remember'>
  readonly charge: Authenticator['charge']
}

export function registerRoutes(app: FastifyInstance, { contract, handle, hits, charge }: RouteParts): void {
  for (const endpoint of contract.catalogue) {
    const described = describedBody(endpoint)
    app.route({
      method: methodsOf(endpoint),
      url: routeUrl(endpoint),
      config: { endpoint, eventNames: eventNamesOf(endpoint) },
      preValidation: async (request, reply) => {
        // Fastify runs no parser for a request without a body, but an empty upload must be rejected too.
        if (described !== undefined) request.body ??= await contract.parseBody(endpoint, mediaTypeOf(request), NO_BYTES)
        else if (hasBody(request.headers)) await dropBody(request, reply, contract.bodyLimitOf)
        // The listener has already sent this error. The request must not have an effect any more.
        if (request.raw.rejectedWith !== undefined) throw request.raw.rejectedWith
        const { headers, body = {} } = request
        contract.check(endpoint, { params: request.params as Values, query: request.query as Values, headers, body })
      },
      handler: async (request, reply) => {
        const { edge, headers, id } = request
        const { caller, clientAddress, isAddressKnown, trace } = edge
        // Admission has set the caller. Without a caller nothing is served.
        if (caller === undefined) throw new EdgeError(949)
        // An agent must not be registered with the address of a proxy.
        const ownAddress = isAddressKnown ? clientAddress : ''
        const body = described === undefined ? NO_BODY : contract.requestBody(described, request, ownAddress)
        const url = contract.validatedUrl(endpoint, request.params as Values, request.query as Values, edge.flags)
        edge.endStage()
        edge.enteredPipeline = true
        const parts = { caller, headers, id, body, clientAddress, trace, client: { response: reply.raw }, charge }
        edge.response = await handle(toEdgeRequest(url, parts))
        hits.remember(request, caller, url, edge.response)
        return sendResponse(request, reply, edge.response)
      },
    })
  }
}
