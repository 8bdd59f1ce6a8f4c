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
  /** What does not work although the edge may be ready. */
  readonly degraded: readonly Degradation[]
}

export const NOT_READY = {
  draining: 'draining',
  starting: 'not all processes have started',
  noNodeYet: 'no node has answered since the start',
  credentialsRefused: 'the manager refuses the credentials',
  cutOff: 'this replica cannot reach any node, but other replicas can',
} as const

/** Values of the label `reason` of `edge_degraded`. */
export const DEGRADATIONS = [
  'noNode',
  'nodeUnreachable',
  'nodeDrained',
  'credentialsRefused',
  'weakCredentials',
  'redisUnreachable',
  'redisSlow',
  'redisFull',
  'redisWrongType',
  'configurationNotReloaded',
  'mixedLayouts',
] as const

/** `detail` has no addresses and no names but those of keys in Redis: `/readyz` needs no sign-in. */
export interface Degradation {
  readonly reason: (typeof DEGRADATIONS)[number]
  readonly detail: string
}

const details = {
  weakCredentials: 'the password of the account on the nodes (cluster.credentials) is easily guessed',
  configurationNotReloaded: 'the changed configuration has a fault; the last valid one is in use',
  mixedLayouts: 'nodes have different layouts, as during an upgrade; writes are refused',
} as const satisfies Partial<Record<Degradation['reason'], string>>

export interface ReadinessFacts {
  readonly isDraining: boolean
  /** What the calls of this replica show about the nodes in use. */
  readonly contacts: {
    readonly hasRead: boolean
    readonly isRefused: boolean
    readonly isCutOff: boolean
    readonly inUse: readonly string[]
    readonly failing: readonly object[]
    readonly refusing: readonly string[]
  }
  /** Number of nodes with an address, drained ones included. */
  readonly addressed: number
  /** What is wrong with Redis. */
  readonly redis: readonly Degradation[]
  /** Further reasons that hold. */
  readonly others: Readonly<Record<keyof typeof details, boolean>>
}

export function readinessOf({ isDraining, contacts, addressed, redis, others }: ReadinessFacts): Readiness {
  const { hasRead, isRefused, isCutOff, inUse, failing, refusing } = contacts
  const reasons = [
    ...(isDraining ? [NOT_READY.draining] : []),
    ...(isRefused ? [NOT_READY.credentialsRefused] : hasRead ? [] : [NOT_READY.noNodeYet]),
    ...(isCutOff ? [NOT_READY.cutOff] : []),
  ]
  const degraded: Degradation[] = []
  const drained = addressed - inUse.length
  if (drained > 0)
    degraded.push({ reason: 'nodeDrained', detail: `${drained} of ${addressed} nodes are drained for maintenance` })
  if (failing.length > 0) {
    const reason = failing.length === inUse.length ? 'noNode' : 'nodeUnreachable'
    degraded.push({ reason, detail: `${failing.length} of ${inUse.length} nodes cannot be reached` })
  }
  if (refusing.length > 0) {
    const detail = `${refusing.length} of ${inUse.length} nodes refuse the credentials`
    degraded.push({ reason: 'credentialsRefused', detail })
  }
  degraded.push(...redis)
  for (const [name, detail] of Object.entries(details)) {
    const reason = name as keyof typeof details
    if (others[reason]) degraded.push({ reason, detail })
  }
  return { ok: reasons.length === 0, reasons, degraded }
}

/**
 * `/livez` responds while the event loop runs. `/readyz` responds with 200, or with 503 and the reasons. With `?verbose`
 * the body also lists what is degraded.
 */
export function registerProbes(app: FastifyInstance, ready: () => Readiness): void {
  app.get('/livez', async () => ({ status: 'alive' }))
  app.get<{ Querystring: { verbose?: string } }>('/readyz', async ({ query }, reply) => {
    const { ok, reasons, degraded } = ready()
    const details = query.verbose === undefined ? {} : { degraded }
    return ok ? { status: 'ready', ...details } : reply.code(503).send({ status: 'not ready', reasons, ...details })
  })
}
