/**
 * Whether balancers should send requests to this replica. It is not ready until a node was read once, while the manager
 * refuses the credentials, while it drains, and while it cannot reach any node but other replicas can. If no replica can
 * reach a node, all of them stay ready: they serve stale responses, and errors that name the fault.
 */
import type { FastifyInstance } from 'fastify'

export interface Readiness {
  readonly ok: boolean
  /** Reasons why the edge is not ready; empty if it is. */
  readonly reasons: readonly string[]
}

export const NOT_READY = {
  draining: 'draining',
  noNodeYet: 'no node has answered since the start',
  credentialsRefused: 'the manager refuses the credentials',
  cutOff: 'this replica cannot reach any node, but other replicas can',
} as const

/** `detail` has no addresses and no names but those of keys in Redis: `/readyz` needs no sign-in. */
export interface Degradation {
  readonly reason: string
  readonly detail: string
  /** ISO 8601, for people. */
  readonly since: string
}

interface ReadinessFacts {
  readonly isDraining: boolean
  /** What the calls of this replica show about the nodes in use. */
  readonly contacts: { readonly hasRead: boolean; readonly isRefused: boolean; readonly isCutOff: boolean }
}

export function readinessOf({ isDraining, contacts: { hasRead, isRefused, isCutOff } }: ReadinessFacts): Readiness {
  const reasons = [
    ...(isDraining ? [NOT_READY.draining] : []),
    ...(isRefused ? [NOT_READY.credentialsRefused] : hasRead ? [] : [NOT_READY.noNodeYet]),
    ...(isCutOff ? [NOT_READY.cutOff] : []),
  ]
  return { ok: reasons.length === 0, reasons }
}

/**
 * `/livez` responds while the event loop runs. `/readyz` responds with 200, or with 503 and the reasons. With `?verbose`
 * the body also lists what does not work although the replica may be ready.
 */
export function registerProbes(
  app: FastifyInstance,
  ready: () => Readiness,
  degradations: () => readonly Degradation[],
): void {
  app.get('/livez', async () => ({ status: 'alive' }))
  app.get<{ Querystring: { verbose?: string } }>('/readyz', async ({ query }, reply) => {
    const { ok, reasons } = ready()
    const details = query.verbose === undefined ? {} : { degraded: degradations() }
    return ok ? { status: 'ready', ...details } : reply.code(503).send({ status: 'not ready', reasons, ...details })
  })
}
