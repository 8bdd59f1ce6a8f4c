/** The console's API over what happens: rates, the last hour, nodes, replicas, and the live tail of requests. */
import type { ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { EdgeError } from '../../core/errors.ts'
import { allows } from '../../core/permissions.ts'
import type { NodeLine, Nodes, Now, TailBatch } from './api-types.ts'
import type { TailFilter } from './live-tail.ts'
import type { ConsolePorts } from './ports.ts'

const part = Type.Optional(Type.String({ maxLength: 200 }))
const tailQuery = Type.Object(
  {
    status: Type.Optional(Type.String({ pattern: '^(?:[1-5](?:xx|[0-9]{2}))?$' })),
    endpoint: part,
    user: part,
    node: part,
    cache: part,
  },
  { additionalProperties: false },
)
/** Bytes that a reader of the tail may be behind. */
const BEHIND = 256 * 1024
const PULSE = 5000

export function liveApi(app: FastifyInstance, ports: ConsolePorts): void {
  const { name, version, traffic } = ports
  const began = performance.now()
  app.get('/api/now', async ({ caller }): Promise<Now> => {
    const { ok, reasons } = ports.ready()
    return {
      edge: { name, version, uptime: performance.now() - began, url: ports.url(), ready: ok, reasons },
      cache: ports.cache(),
      you: { name: caller.name, mayPurge: allows(caller.permissions, 'cache:purge') },
      rates: traffic.rates(),
      sinceStart: traffic.totals(),
    }
  })
  app.get('/api/history', async () => traffic.history())
  app.get('/api/nodes', async (): Promise<Nodes> => {
    const { replicas, joins } = ports
    return { nodes: nodeLines(ports), joined: joins.last(), ...(replicas && { replicas: replicas() ?? null }) }
  })
  tailRoute(app, ports)
}

/** The nodes as this replica sees them. */
function nodeLines({ nodes, traffic }: Pick<ConsolePorts, 'nodes' | 'traffic'>): NodeLine[] {
  return nodes().map((node) => {
    const { p50, p99, calls, errors } = traffic.node(node.name)
    return { ...node, calls, errors, ...(p50 !== undefined && { p50 }), ...(p99 !== undefined && { p99 }) }
  })
}

/** Server-sent events: `data: {lines, skipped}`; the filter is in the query. */
function tailRoute(app: FastifyInstance, { tail }: ConsolePorts): void {
  const open = new Set<() => void>()
  app.addHook('preClose', async () => {
    for (const leave of open) leave()
  })
  const schema = { querystring: tailQuery }
  app.get<{ Querystring: TailFilter }>('/api/requests', { schema, exposeHeadRoute: false }, (request, reply) => {
    const { raw } = reply
    // Headers go before the first batch, and the first batch is sent while it begins to watch.
    const held: TailBatch[] = []
    let opened = false
    const stop = tail.watch(request.query, (batch) => (opened ? send(raw, batch) : held.push(batch) > 0))
    if (stop === undefined)
      throw new EdgeError(903, '. Too many watch the requests already', { headers: { 'retry-after': '10' } })
    reply.hijack()
    const headers = { ...reply.getHeaders(), 'content-type': 'text/event-stream; charset=utf-8' }
    raw.writeHead(200, headers as Record<string, string>)
    opened = true
    raw.write('retry: 2000\n\n')
    for (const batch of held) send(raw, batch)
    const pulse = setInterval(() => void beat(request, raw).then((goesOn) => goesOn || leave()), PULSE)
    // Nothing is written from then on: to an answer that has ended, that is a fault.
    const leave = (): void => {
      clearInterval(pulse)
      open.delete(leave)
      stop()
      raw.end()
    }
    open.add(leave)
    raw.once('close', leave)
    raw.on('error', leave)
  })
}

/** `false`: its reader is too far behind. */
function send(raw: ServerResponse, batch: TailBatch): boolean {
  if (raw.writableLength > BEHIND) return false
  raw.write(`data: ${JSON.stringify(batch)}\n\n`)
  return true
}

/** A reader that hears nothing must know whether there is nothing, or nobody. `false`: it may not hear any more. */
async function beat(request: FastifyRequest, raw: ServerResponse): Promise<boolean> {
  if (!(await request.signedInStill())) return false
  if (!raw.writableEnded && raw.writableLength <= BEHIND) raw.write('event: pulse\ndata: {}\n\n')
  return true
}
