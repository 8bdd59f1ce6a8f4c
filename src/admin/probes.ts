/** `/livez` and `/readyz`, for load balancers and orchestrators. */
import type { FastifyInstance } from 'fastify'

export interface Readiness {
  readonly ok: boolean
  /** Reasons why the edge is not ready; empty if it is. */
  readonly reasons: readonly string[]
}

/** `/livez` responds while the event loop runs. `/readyz` responds with 200, or with 503 and the reasons. */
export function registerProbes(app: FastifyInstance, ready: () => Readiness): void {
  app.get('/livez', async () => ({ status: 'alive' }))
  app.get('/readyz', async (_request, reply) => {
    const { ok, reasons } = ready()
    return ok ? { status: 'ready' } : reply.code(503).send({ status: 'not ready', reasons })
  })
}
