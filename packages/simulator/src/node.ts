import type { IncomingMessage, ServerResponse } from 'node:http'
import { CollectionError } from '../../../src/collections/request.ts'
import { errorTable } from '../../../src/core/errors.ts'
import { ProcessEnd, parseBody } from './bodies.ts'
import type { CapacityModel } from './capacity.ts'
import { type Call, type Cluster, execute, handlerKey, throwFault } from './distribute.ts'
import type { Fault } from './faults.ts'
import { filter, parseQuery } from './filters.ts'
import { FrameworkError, type SeenRequest, type SimNode } from './model.ts'
import { receive } from './receive.ts'
import type { FindRoute } from './routes.ts'
import { disfigured, send } from './send.ts'
import { failure, json, type Outgoing, preflight, success, unauthorized, unlessKnown } from './wire.ts'
import { letTimePass } from './world.ts'
/** The API of one node: a plain server that behaves like a real node, including its faults. */

export interface NodeParts {
  readonly node: SimNode
  readonly cluster: Cluster
  readonly findRoute: FindRoute
  readonly capacity: CapacityModel
  /** The exact value of the header, `Basic …`. */
  readonly authorization: string
  /** Called for each request as soon as its headers are complete. */
  see(request: SeenRequest): void
  /** Called for unexpected exceptions, which are answered as error 1000 as in the real API. */
  thrown(fault: unknown): void
}

/** Returns the request listener of a node; it never rejects. */
export function nodeApi(parts: NodeParts): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    serve(parts, request, response).catch((fault: unknown) => {
      // The client disconnected before the end of its request.
      if (request.destroyed && !request.complete) return
      parts.thrown(fault)
      request.socket.destroy()
    })
  }
}

async function serve(parts: NodeParts, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const received = await receive(parts, request)
  if (received === undefined) return
  const { bytes, fault } = received
  const { method = 'GET', headers } = request
  try {
    const outgoing =
      disfigured(fault) ?? (await parts.capacity.countInFlight(() => respond(parts, request, bytes, fault)))
    send(response, unlessKnown(outgoing, /^(?:GET|HEAD)$/.test(method) ? headers['if-none-match'] : undefined), fault)
  } catch (end) {
    if (!(end instanceof ProcessEnd)) throw end
    await parts.cluster.faults.set(parts.node.name, { apiDown: true })
  }
}

/** Checks run in the order of the real API. */
async function respond(parts: NodeParts, request: IncomingMessage, bytes: Buffer, fault: Fault): Promise<Outgoing> {
  const { headers } = request
  const requested = headers['access-control-request-headers']
  if (request.method === 'OPTIONS') return preflight(requested === undefined ? undefined : String(requested))
  await parts.capacity.admit()
  if (headers.authorization !== parts.authorization) return unauthorized
  const [path = '/', ...search] = (request.url ?? '/').split('?')
  const { query, pretty, waitForComplete } = parseQuery(search.join('?'))
  try {
    const body = parseBody(request, bytes)
    checkHead(request, parts.cluster.world.version)
    const method = request.method === 'HEAD' ? 'GET' : (request.method ?? 'GET')
    const match = parts.findRoute(method, path)
    if (match === undefined) throw new FrameworkError(603, errorTable[603].message, 404)
    const asked = filter(match, query, body)
    const client = (request.socket.remoteAddress ?? '').replace(/^::ffff:/, '')
    const call = { ...asked, endpoint: match.endpoint, entry: parts.node, client, waitForComplete }
    const bypass = headers['x-apicache-bypass'] !== undefined
    const key = { method, url: request.url ?? '/', path: match.endpoint.path, bypass }
    return await parts.capacity.respond(key, () => framework(parts, call, fault, pretty))
  } catch (refused) {
    return refusedWith(refused, pretty, parts)
  }
}

/** Returns the response of the interpreter. The real API caches its errors too. */
async function framework(parts: NodeParts, call: Call, { error }: Fault, pretty: boolean): Promise<Outgoing> {
  try {
    if (error !== undefined) throwFault(error, handlerKey(call.endpoint))
    letTimePass(parts.cluster.world)
    return success(await execute(parts.cluster, call), pretty)
  } catch (refused) {
    return refusedWith(refused, pretty, parts)
  }
}

function refusedWith(refused: unknown, pretty: boolean, parts: NodeParts): Outgoing {
  if (refused instanceof ProcessEnd) throw refused
  if (refused instanceof FrameworkError) return failure(refused, pretty)
  if (refused instanceof CollectionError) return failure(new FrameworkError(refused.code, refused.message), pretty)
  parts.thrown(refused)
  return json(200, { error: 1000, message: 'Internal error' }, pretty)
}

const postTypes = [
  'application/json',
  'application/x-www-form-urlencoded',
  'application/xml',
  'application/octet-stream',
]

function checkHead({ method, headers }: IncomingMessage, version: string): void {
  const app = headers['wazuh-app-version']
  if (app !== undefined) {
    if (!/^\d+\.\d+\.\d+$/.test(String(app))) throw new FrameworkError(801, errorTable[801].message, 400)
    const minor = (text: string) => text.split('.').slice(0, 2).join('.')
    if (minor(String(app)) !== minor(version)) {
      const detail = `Expected version '${minor(version)}.x', and found '${minor(String(app))}.x'.`
      throw new FrameworkError(802, `${errorTable[802].message}. ${detail}`, 400)
    }
  }
  // Accepts exactly one of the four media types; a charset parameter is rejected too.
  if (method === 'POST' && !postTypes.includes(headers['content-type'] ?? '')) {
    throw new FrameworkError(607, errorTable[607].message, 400)
  }
}
