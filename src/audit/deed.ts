/** What of a request may stand in the audit. Values that a client writes freely may be secrets: their names alone stand there. */
import { createHash } from 'node:crypto'
import type { Endpoint, Param } from '../catalogue/endpoint.ts'
import type { EdgeRequest, RequestBody } from '../core/request.ts'
import type { Deed } from './line.ts'

/** Kinds whose values say nothing but what they are. */
const CLOSED: ReadonlySet<string> = new Set([
  'numbers',
  'array_numbers',
  'boolean',
  'yes_no',
  'empty_boolean',
  'flag',
  'timeframe',
  'ranges',
  'dates',
])

export function deedOf(ask: EdgeRequest): Deed {
  const { endpoint, params, query, body, caller, clientAddress: client, requestId } = ask
  const told = Object.keys(query).filter((name) => mayBeTold(endpoint, name))
  const names = Object.keys(query).filter((name) => !told.includes(name))
  return {
    request: requestId,
    caller: caller.name,
    ...(client !== undefined && { client }),
    method: endpoint.method,
    route: endpoint.path,
    ...(Object.keys(params).length > 0 && { params }),
    ...(told.length > 0 && { query: Object.fromEntries(told.map((name) => [name, query[name] ?? ''])) }),
    ...(names.length > 0 && { queryNames: names }),
    ...(body && ofBody(endpoint, body)),
  }
}

/** What the edge answers itself takes names of its own making: groups, keys of entries, flags. */
function mayBeTold({ target, query }: Endpoint, name: string): boolean {
  const known: Readonly<Record<string, Param>> = query
  return target.kind === 'edge' || CLOSED.has(known[name]?.kind ?? '')
}

function ofBody(endpoint: Endpoint, body: RequestBody): Pick<Deed, 'fields' | 'ids' | 'upload'> {
  if (body.kind === 'upload') {
    const { type, bytes } = body
    return { upload: { type, bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') } }
  }
  const spec = 'body' in endpoint && endpoint.body?.kind === 'fields' ? endpoint.body.fields : {}
  const agents = Object.keys(body.fields).filter((name) => spec[name]?.canonical?.startsWith('agentId'))
  const ids = agents.flatMap((name) => body.fields[name]).map(String)
  return { fields: Object.keys(body.fields), ...(ids.length > 0 && { ids }) }
}
