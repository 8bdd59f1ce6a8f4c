/** The second listener, for those who run the edge. Bind it to an address that clients cannot reach. */
import Fastify, { type FastifyInstance } from 'fastify'
import { EdgeError } from '../errors.ts'
import { type Readiness, registerProbes } from './probes.ts'

export type { Readiness } from './probes.ts'

export interface OperationsOptions {
  readonly ready: () => Readiness
  /** The OpenAPI document of the public listener. */
  readonly openApi: object
  readonly log: { error(fields: object, message: string): void }
}

/** Makes the app; it listens when it is told to. Its `close` waits for nobody. */
export function createOperations({ ready, openApi, log }: OperationsOptions): FastifyInstance {
  const app = Fastify({
    logger: false,
    forceCloseConnections: true,
    return503OnClosing: false,
    requestTimeout: 10_000,
    keepAliveTimeout: 5000,
    bodyLimit: 1024,
  })
  const document = JSON.stringify(openApi)
  app.addHook('onRequest', async (_request, reply) => {
    reply.headers({ 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
  })
  registerProbes(app, ready)
  app.get('/openapi.json', async (_request, reply) => reply.type('application/json; charset=utf-8').send(document))
  app.setNotFoundHandler((_request, reply) => reply.code(404).send(bodyOf(new EdgeError(603))))
  app.setErrorHandler((fault: Error & { statusCode?: number }, _request, reply) => {
    const status = fault.statusCode ?? 500
    if (status >= 500) log.error({ fault: fault.message }, 'the operations listener failed')
    return reply.code(status).send(bodyOf(new EdgeError(status >= 500 ? 949 : 900)))
  })
  return app
}

function bodyOf(error: EdgeError): { error: number; message: string } {
  return { error: error.code, message: error.message }
}
