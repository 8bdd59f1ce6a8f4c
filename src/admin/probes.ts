/** What balancers and orchestrators ask: does the process live, may it get requests. */
import type { FastifyInstance } from 'fastify'

export interface Readiness {
  readonly ok: boolean
  /** What is wrong, in words; empty when nothing is. */
  readonly reasons: readonly string[]
}

/** `/livez` answers as long as the event loop turns; `/readyz` 200 or 503 with the reasons. HEAD runs GET. */
export function registerProbes(app: FastifyInstance, ready: () => Readiness): void {
  app.get('/livez', async () => ({ status: 'alive' }))
  app.get('/readyz', async (_request, reply) => {
    const { ok, reasons } = ready()
    return ok ? { status: 'ready' } : reply.code(503).send({ status: 'not ready', reasons })
  })
}
