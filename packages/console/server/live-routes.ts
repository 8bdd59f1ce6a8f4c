/** Console API of the running edge: rates, problems, the live tail of requests, nodes with their drains, and replicas. */
import type { ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { requirePermission } from '../../../src/admin/sign-in.ts'
import { allows } from '../../../src/core/access.ts'
import type { DrainOptions, EdgeView, PurgeCaller } from '../../../src/status/edge-view.ts'
import type { DrainResult, NodeState } from '../../../src/status/node-types.ts'
import type { NodeLoad, Now } from './api-types.ts'
import { type TailFilter, tailFilter } from './live-tail.ts'
import type { NodeSummary, Nodes } from './node-types.ts'
import type { Recorders } from './recorders.ts'
import { readReplicas } from './reported-replicas.ts'
import type { TailBatch } from './request-types.ts'
import { sumRates } from './traffic.ts'

/** A subscriber with more unsent bytes receives no further batch. */
const MAX_UNSENT_BYTES = 256 * 1024
const HEARTBEAT_INTERVAL_MS = 5000
/** Of the reason of a drain. Each replica reads the state of all drains with each of its heartbeats. */
const MAX_REASON_CHARS = 150

export function registerLiveRoutes(app: FastifyInstance, view: EdgeView, recorders: Recorders): void {
  const { name, version, cluster, cache } = view
  const { traffic } = recorders
  const replicas = readReplicas(cluster)
  const startedAt = performance.now()
  app.get('/api/now', async ({ caller }): Promise<Now> => {
    const { ok, reasons } = view.ready()
    const clientPorts = view.clientPorts()
    const url = clientPorts[0]?.url ?? ''
    const uptime = performance.now() - startedAt
    const others = replicas?.() ?? []
    const servedInOutage = cluster.servedInOutage?.()
    return {
      edge: { name, version, uptime, url, ports: clientPorts, ready: ok, reasons },
      problems: view.problems(),
      ...(servedInOutage !== undefined && { servedInOutage }),
      nodes: cluster.nodes().map(loadOf),
      cache: cache.state(),
      operator: { name: caller.name, mayPurge: allows(caller.permissions, 'cache:purge') },
      rates: sumRates([traffic.rates(), ...others.map(({ rates }) => rates)]),
      replicas: 1 + others.length,
      totals: traffic.totals(),
    }
  })
  registerTail(app, recorders)
}

function loadOf({ name, type, state, inFlight, limit, queue, drain }: NodeState): NodeLoad {
  return { name, type, state, inFlight, limit, queue, ...(drain && { drain }) }
}

/**
 * Server-sent events with a `TailBatch` each, and events named `heartbeat` and, if a newer stream took the place of this
 * one, `replaced`. The query holds the filter.
 */
function registerTail(app: FastifyInstance, { tail }: Recorders): void {
  const openStreams = new Set<() => void>()
  app.addHook('preClose', async () => {
    for (const end of openStreams) end()
  })
  const schema = { querystring: tailFilter }
  app.get<{ Querystring: TailFilter }>('/api/requests', { schema, exposeHeadRoute: false }, (request, reply) => {
    const { raw } = reply
    reply.hijack()
    const headers = { ...reply.getHeaders(), 'content-type': 'text/event-stream; charset=utf-8' }
    raw.writeHead(200, headers as Record<string, string>)
    raw.write('retry: 2000\n\n')
    const unsubscribe = tail.subscribe(request.query, {
      send: (batch) => send(raw, batch),
      onReplaced: () => {
        raw.write('event: replaced\ndata: {}\n\n')
        end()
      },
    })
    const heartbeat = setInterval(
      () => void sendHeartbeat(request, raw).then((isAllowed) => isAllowed || end()),
      HEARTBEAT_INTERVAL_MS,
    )
    // After `end`, nothing may be written: a write to an ended response emits an error.
    const end = (): void => {
      clearInterval(heartbeat)
      openStreams.delete(end)
      unsubscribe()
      raw.end()
    }
    openStreams.add(end)
    raw.once('close', end)
    raw.on('error', end)
  })
}

/** Returns false if the client has not read enough of the earlier batches. */
function send(raw: ServerResponse, batch: TailBatch): boolean {
  if (raw.writableLength > MAX_UNSENT_BYTES) return false
  raw.write(`data: ${JSON.stringify(batch)}\n\n`)
  return true
}

/** The page reconnects if it receives no heartbeat. Returns false if the caller may no longer read the tail. */
async function sendHeartbeat(request: FastifyRequest, raw: ServerResponse): Promise<boolean> {
  if (!(await request.isStillSignedIn())) return false
  if (!raw.writableEnded && raw.writableLength <= MAX_UNSENT_BYTES) raw.write('event: heartbeat\ndata: {}\n\n')
  return true
}

const DRAIN_PERMISSION = 'nodes:drain'
/** The value of `confirm` with which an operator confirms that the master is meant. */
const MASTER = 'master'

/** Narrower than node names of a cluster may be: the name gets into audit records. */
const nodeParams = Type.Object({ node: Type.String({ pattern: '^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,254}$' }) })
const drainQuery = Type.Object(
  {
    confirm: Type.Optional(Type.String({ pattern: `^${MASTER}$` })),
    for: Type.Optional(Type.String({ maxLength: 20 })),
    reason: Type.Optional(
      Type.String({ minLength: 1, maxLength: MAX_REASON_CHARS, pattern: '^[^\\u0000-\\u001f\\u007f]+$' }),
    ),
  },
  { additionalProperties: false },
)
const emptyQuery = Type.Object({}, { additionalProperties: false })
const DRAIN_URL = '/api/nodes/:node/drain'

type NodeParams = { readonly node: string }

export function registerNodeRoutes(
  app: FastifyInstance,
  { cluster, drains }: EdgeView,
  { joins, traffic }: Recorders,
): void {
  const replicas = readReplicas(cluster)
  app.get('/api/nodes', async ({ caller }): Promise<Nodes> => {
    const mixture = cluster.layoutMixture()
    const optional = { ...(mixture && { mixture }), ...(replicas && { replicas: replicas() ?? null }) }
    const mayDrain = allows(caller.permissions, DRAIN_PERMISSION)
    const drain = { mayDrain, drainsAreShared: drains.areShared, maxReasonChars: MAX_REASON_CHARS }
    return { nodes: nodeSummaries(cluster.nodes(), traffic), joined: joins.last(), ...drain, ...optional }
  })
  app.put<{ Params: NodeParams; Querystring: DrainOptions }>(
    DRAIN_URL,
    { schema: { params: nodeParams, querystring: drainQuery } },
    async (request): Promise<DrainResult> => drains.drain(request.params.node, request.query, checkCaller(request)),
  )
  app.delete<{ Params: NodeParams }>(
    DRAIN_URL,
    { schema: { params: nodeParams, querystring: emptyQuery } },
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

function nodeSummaries(nodes: readonly NodeState[], traffic: Recorders['traffic']): NodeSummary[] {
  return nodes.map((node) => {
    const { p50, p99, ...counts } = traffic.node(node.name)
    return { ...node, ...counts, ...(p50 !== undefined && { p50 }), ...(p99 !== undefined && { p99 }) }
  })
}
