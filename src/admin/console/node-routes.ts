/** Console API of nodes and replicas: their state, and the drain of a node for maintenance. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { allows } from '../../core/access.ts'
import { requirePermission } from '../sign-in.ts'
import type { DrainResult, NodeSummary, Nodes } from './node-types.ts'
import type { ConsolePorts, PurgeCaller } from './ports.ts'

const DRAIN_PERMISSION = 'nodes:drain'
/** The value of `confirm` with which an operator confirms that the master is meant. */
const MASTER = 'master'

/** Narrower than node names of a cluster may be: the name gets into audit records. */
const params = Type.Object({ node: Type.String({ pattern: '^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,254}$' }) })
const drainQuery = Type.Object(
  { confirm: Type.Optional(Type.String({ pattern: `^${MASTER}$` })) },
  { additionalProperties: false },
)
const emptyQuery = Type.Object({}, { additionalProperties: false })
const DRAIN_URL = '/api/nodes/:node/drain'

type Params = { readonly node: string }

export function registerNodeRoutes(app: FastifyInstance, ports: ConsolePorts): void {
  const { drains } = ports
  app.get('/api/nodes', async ({ caller }): Promise<Nodes> => {
    const { replicas, joins } = ports
    const mixture = ports.layoutMixture()
    const optional = { ...(mixture && { mixture }), ...(replicas && { replicas: replicas() ?? null }) }
    const mayDrain = allows(caller.permissions, DRAIN_PERMISSION)
    const drain = { mayDrain, drainsAreShared: drains.areShared }
    return { nodes: nodeSummaries(ports), joined: joins.last(), ...drain, ...optional }
  })
  app.put<{ Params: Params; Querystring: { confirm?: string } }>(
    DRAIN_URL,
    { schema: { params, querystring: drainQuery } },
    async (request): Promise<DrainResult> =>
      drains.drain(request.params.node, request.query.confirm === MASTER, checkCaller(request)),
  )
  app.delete<{ Params: Params }>(
    DRAIN_URL,
    { schema: { params, querystring: emptyQuery } },
    async (request): Promise<DrainResult> => drains.putBack(request.params.node, checkCaller(request)),
  )
}

/** Throws 902 without the permission. From here on, the change writes the audit records itself. */
function checkCaller(
  request: Pick<FastifyRequest, 'caller' | 'clientAddress' | 'id' | 'isAuditedByPipeline'>,
): PurgeCaller {
  const { caller, clientAddress: client, id: requestId } = request
  requirePermission(caller, DRAIN_PERMISSION)
  request.isAuditedByPipeline = true
  return { caller, client, requestId }
}

function nodeSummaries({ nodes, traffic }: Pick<ConsolePorts, 'nodes' | 'traffic'>): NodeSummary[] {
  return nodes().map((node) => {
    const { p50, p99, ...counts } = traffic.node(node.name)
    return { ...node, ...counts, ...(p50 !== undefined && { p50 }), ...(p99 !== undefined && { p99 }) }
  })
}
