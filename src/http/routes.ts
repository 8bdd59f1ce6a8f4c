import type { FastifyInstance } from 'fastify'
import type { Endpoint } from '../catalogue/endpoint.ts'
import type { Handler } from '../core/request.ts'
import { askBody, toAsk, validated } from './edge-request.ts'
import type { HitRoad } from './fast-path.ts'
import type { Questions } from './questions.ts'
import { sendAnswer } from './reply.ts'
import { endStage } from './request-state.ts'
import { routeSchema, routeUrl } from './schema.ts'
import { furtherChecks, type Prefixes } from './validation.ts'

/** Each record of the catalogue becomes a route: what is valid is asked of the pipeline, and its answer is sent. */

export interface RouteOptions {
  readonly catalogue: readonly Endpoint[]
  readonly handle: Handler
  /** Greatest number of query parameters; greatest bytes of a JSON or form body, and of an upload. */
  readonly limits: { readonly query: number; readonly fields: number; readonly upload: number }
  readonly prefixes: Prefixes
  /** Bytes from which on kept answers are compressed; 1 KiB when absent. */
  readonly compressFrom?: number
  readonly corsOrigins: readonly string[]
  /** Hits of known URLs are answered in front of the router; absent: they are. */
  readonly hitRoad?: boolean
}

export interface RouteParts {
  readonly road: HitRoad
  readonly questions: Questions
}

export function registerRoutes(app: FastifyInstance, options: RouteOptions, { road, questions }: RouteParts): void {
  const check = furtherChecks(options.prefixes)
  // CORS adds headers of its own to every answer: then there is one road only.
  const short = options.hitRoad !== false && options.corsOrigins.length === 0
  for (const endpoint of options.catalogue) {
    const upload = 'body' in endpoint && endpoint.body?.kind === 'upload'
    app.route({
      method: endpoint.method === 'GET' ? ['GET', 'HEAD'] : endpoint.method,
      url: routeUrl(endpoint),
      schema: routeSchema(endpoint),
      bodyLimit: upload ? options.limits.upload : options.limits.fields,
      config: { endpoint },
      preHandler: async ({ raw, query, body, headers }) => {
        // Its client was told so: what comes of it afterwards must not act.
        if (raw.refusedWith !== undefined) throw raw.refusedWith
        check(endpoint, query as Record<string, string>, body, headers['content-type'])
      },
      handler: async (request, reply) => {
        const { raw, caller, headers, id, trace } = request
        const body = askBody(endpoint, request, request.clientAddress)
        const found = validated(endpoint, request)
        endStage(request)
        const question = questions.find(request)
        if (question !== undefined) {
          question.ask = toAsk(found, { caller, headers, id, body }, reply.raw)
          return reply.code(204).send()
        }
        if (short && mayBeKept(endpoint)) road.learn(raw.url ?? '', found)
        const client = request.clientAddress
        request.asked = true
        const asked = () => options.handle(toAsk(found, { caller, headers, id, body, client, trace }, reply.raw))
        const answer = await (road.decided(raw)?.answer ?? asked())
        request.answered = answer
        return sendAnswer(request, reply, answer, options.compressFrom)
      },
    })
  }
}

function mayBeKept(endpoint: Endpoint): boolean {
  return endpoint.method === 'GET' && 'group' in endpoint.cache
}
