/** Console API of the running edge: rates, problems, and the live tail of requests. */
import type { ServerResponse } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { allows } from '../../core/access.ts'
import type { NodeLoad, Now, Problems } from './api-types.ts'
import type { TailFilter } from './live-tail.ts'
import type { ConsolePorts, NodeState } from './ports.ts'
import { problemsOf } from './problems.ts'
import type { TailBatch } from './request-types.ts'

const text = Type.Optional(Type.String({ maxLength: 200 }))
const tailQuery = Type.Object(
  {
    status: Type.Optional(Type.String({ pattern: '^(?:[1-5](?:xx|[0-9]{2}))?$' })),
    endpoint: text,
    user: text,
    node: text,
    cache: text,
    slower: Type.Optional(Type.Integer({ minimum: 0, maximum: 86_400_000 })),
    id: Type.Optional(Type.String({ pattern: '^[0-9A-Fa-f-]{0,36}$' })),
  },
  { additionalProperties: false },
)
/** A subscriber with more unsent bytes receives no further batch. */
const MAX_UNSENT_BYTES = 256 * 1024
const HEARTBEAT_INTERVAL_MS = 5000

export function registerLiveRoutes(app: FastifyInstance, ports: ConsolePorts): void {
  const { name, version, traffic } = ports
  const startedAt = performance.now()
  app.get('/api/now', async ({ caller }): Promise<Now> => {
    const { ok, reasons } = ports.ready()
    return {
      edge: { name, version, uptime: performance.now() - startedAt, url: ports.url(), ready: ok, reasons },
      problems: problemsOf(ports),
      nodes: ports.nodes().map(loadOf),
      cache: ports.cache(),
      operator: { name: caller.name, mayPurge: allows(caller.permissions, 'cache:purge') },
      rates: traffic.rates(),
      totals: traffic.totals(),
    }
  })
  app.get('/api/problems', async (): Promise<Problems> => ({ problems: problemsOf(ports) }))
  registerTail(app, ports)
}

function loadOf({ name, type, state, inFlight, limit, queue }: NodeState): NodeLoad {
  return { name, type, state, inFlight, limit, queue }
}

/**
 * Server-sent events with a `TailBatch` each, and events named `heartbeat` and, if a newer stream took the place of this
 * one, `replaced`. The query holds the filter.
 */
function registerTail(app: FastifyInstance, { tail }: ConsolePorts): void {
  const openStreams = new Set<() => void>()
  app.addHook('preClose', async () => {
    for (const end of openStreams) end()
  })
  const schema = { querystring: tailQuery }
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
