/** From a validated request to an Ask: typed, canonical, with nothing of the raw URL left. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Endpoint } from '../catalogue/endpoint.ts'
import { kinds } from '../catalogue/schemas/kinds.ts'
import type { Ask, AskBody } from '../pipeline/ports.ts'
import { canonicalText, canonicalValues } from './canonical.ts'
import type { Values } from './parameters.ts'
import { badValue } from './validation-error.ts'

const IPV4 = new RegExp(kinds.ips.pattern)

export function toAsk(endpoint: Endpoint, request: FastifyRequest, reply: FastifyReply, client: string): Ask {
  const body = askBody(endpoint, request, client)
  return {
    endpoint,
    params: canonicalValues(endpoint.params, request.params as Values),
    query: canonicalValues(endpoint.query, request.query as Values),
    ...(body && { body }),
    caller: request.caller,
    waitForComplete: request.flags.waitForComplete,
    requestId: request.id,
    signal: leaving(reply),
  }
}

/** Aborted when the connection ends before the answer is out. */
function leaving(reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  // It may have left while its password was checked or its file was read.
  if (reply.raw.destroyed) controller.abort()
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) controller.abort()
  })
  return controller.signal
}

function askBody(endpoint: Endpoint, request: FastifyRequest, client: string): AskBody | undefined {
  const body = 'body' in endpoint ? endpoint.body : undefined
  if (body === undefined) return undefined
  if (body.kind === 'upload') {
    const type = request.headers['content-type'] === 'application/xml' ? 'application/xml' : 'application/octet-stream'
    return { kind: 'upload', type, bytes: request.body as Buffer }
  }
  const sent = request.body as Readonly<Record<string, unknown>>
  const fields: Record<string, unknown> = {}
  for (const [name, field] of Object.entries(body.fields)) {
    const value = sent[name] ?? (field.fill === 'clientAddress' ? ipv4(client, name) : undefined)
    if (value !== undefined) fields[name] = canonicalField(field.canonical, value)
  }
  return { kind: 'fields', fields }
}

/** The manager registers IPv4 only; an address it would refuse is refused here, as the real API does (606). */
function ipv4(client: string, name: string): string {
  if (!IPV4.test(client)) throw badValue('ips', name)
  return client
}

function canonicalField(canonical: Parameters<typeof canonicalText>[0], value: unknown): unknown {
  if (Array.isArray(value))
    return value.map((one) => canonicalField(canonical === 'agentIds' ? 'agentId' : canonical, one))
  return typeof value === 'string' ? canonicalText(canonical, value) : value
}
