/** The reference of the public API: `/openapi.json` for programs, and pages under `/docs` for people. */
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { OperationsPart } from './listener.ts'

/** The OpenAPI document, which is built at its first use. */
export interface ReferenceOptions {
  readonly document: () => Promise<object>
  /** Returns the response with the document: with an entity tag, and compressed if the client accepts it. */
  readonly represent: (headers: IncomingHttpHeaders) => Promise<{
    readonly status: number
    readonly stableHeaders: { readonly pairs: readonly string[] }
    readonly bytes?: Buffer
  }>
}

/** Headers of a connection, which the operations listener writes itself. */
const HOP_BY_HOP = ['connection', 'date', 'keep-alive', 'transfer-encoding']

export function referencePart({ document, represent }: ReferenceOptions): OperationsPart {
  return (app) => {
    app.get('/openapi.json', async ({ headers }, reply) => {
      const { status, stableHeaders, bytes } = await represent(headers)
      const { pairs } = stableHeaders
      for (let at = 0; at < pairs.length; at += 2) reply.header(pairs[at] ?? '', pairs[at + 1])
      return reply.code(status).send(bytes)
    })
    registerPages(app, document)
  }
}

/**
 * The pages are loaded at the first request for one of them: that takes a tenth of a start, and most processes are never
 * asked for them. They are an app of their own, because an app accepts no plugins after its start.
 */
function registerPages(app: FastifyInstance, document: () => Promise<object>): void {
  let pages: Promise<FastifyInstance> | undefined
  const load = async () => {
    const { createReferencePages } = await import('./reference-pages.ts')
    return createReferencePages((await document()) as Parameters<typeof createReferencePages>[0])
  }
  const send = async ({ url, headers }: FastifyRequest, reply: FastifyReply) => {
    pages ??= load()
    const loaded = await pages.catch((error: unknown) => {
      pages = undefined
      throw error
    })
    const response = await loaded.inject({ url, headers })
    if (response.statusCode === 404) return reply.callNotFound()
    for (const name of HOP_BY_HOP) delete response.headers[name]
    return reply.code(response.statusCode).headers(response.headers).send(response.rawPayload)
  }
  app.get('/docs', send)
  app.get('/docs/*', send)
  app.addHook('onClose', () => pages?.then((loaded) => loaded.close()).catch(() => undefined))
}
