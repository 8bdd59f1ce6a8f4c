/** The API of one node in the v4 layout: a plain server that behaves like a real node, including its faults. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { receive } from '../receive.ts'
import { disfigured, send } from '../send.ts'
import type { Outgoing } from '../wire.ts'
import { letTimePass } from '../world.ts'
import { checkJson, checkMembers, checkSize, checkType, checkUpload, type Fields } from './bodies.ts'
import { execute, requireMaster } from './distribute.ts'
import { badRequest, Moved, Refusal, Uncaught, V4Error } from './errors.ts'
import { faultOf } from './execution.ts'
import { logInCall } from './log-in.ts'
import type { Operation } from './model.ts'
import { checkPath, checkQuery, isTrue, type Texts } from './parameters.ts'
import { isLaterAt, type V4Parts, versionOf } from './parts.ts'
import { agentFilter, nameFilter, permit } from './permit.ts'
import { isMasterOnly, minorOf } from './releases.ts'
import { asWrittenBy, crashed, failure, redirect, success, tooLong, uncaught } from './wire.ts'

/** The request line may not be longer. */
const MAX_URL_BYTES = 8190

interface CachedResponse {
  readonly outgoing: Outgoing
  readonly until: number
}

/** Returns the request listener of a node; it never rejects. */
export function v4NodeApi(parts: V4Parts): (request: IncomingMessage, response: ServerResponse) => void {
  const cached = new Map<string, CachedResponse>()
  return (request, response) => {
    serve(parts, cached, request, response).catch((fault: unknown) => {
      // The client disconnected before the end of its request.
      if (request.destroyed && !request.complete) return
      parts.thrown(fault)
      request.socket.destroy()
    })
  }
}

async function serve(
  parts: V4Parts,
  cached: Map<string, CachedResponse>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const received = await receive(parts, request)
  if (received === undefined || received.fault.cutOff !== undefined) return
  const { bytes, fault } = received
  const body = bytes.toString('utf8')
  const outgoing =
    disfigured(fault) ??
    asWrittenBy(
      await parts.costs.countInFlight(() => respond(parts, cached, request, body, fault.error)),
      versionOf(parts),
    )
  send(response, outgoing, fault)
}

async function respond(
  parts: V4Parts,
  cached: Map<string, CachedResponse>,
  request: IncomingMessage,
  body: string,
  error: number | undefined,
): Promise<Outgoing> {
  const { url = '/' } = request
  const isRelease5 = isMasterOnly(versionOf(parts))
  const method = request.method === 'HEAD' && isRelease5 ? 'GET' : (request.method ?? 'GET')
  const [path = '/', ...search] = url.split('?')
  try {
    if (url.length > MAX_URL_BYTES) return tooLong(url)
    parts.limits.admit(request)
    if (url.startsWith('//') && !isLaterAt(parts)) return redirect(308, url.replace(/^\/+/, '/'))
    const { call, params } = parts.findCall(method, path)
    const key = `${method} ${url}`
    const known = cached.get(key)
    if (known !== undefined && known.until > now(parts)) return known.outgoing
    const outgoing = await answer(parts, call, { request, params, search: search.join('?'), body, error })
    if (call.cached && parts.ownCacheMs > 0) {
      for (const [old, { until }] of cached) if (until <= now(parts)) cached.delete(old)
      cached.set(key, { outgoing, until: now(parts) + parts.ownCacheMs })
    }
    return outgoing
  } catch (refused) {
    if (refused instanceof Moved) return redirect(307, [refused.path, ...search].join('?'))
    return refusedWith(parts.limits.countRefusal(request, refused), parts, method)
  }
}

function now({ cluster }: V4Parts): number {
  return cluster.world.now().getTime()
}

function refusedWith(refused: unknown, parts: V4Parts, method: string): Outgoing {
  if (refused instanceof Refusal && method === 'HEAD') return { ...failure(refused, ''), body: Buffer.alloc(0) }
  if (refused instanceof V4Error || refused instanceof Refusal) return failure(refused, parts.node.name)
  if (refused instanceof ApiCrash) return crashed(isMasterOnly(versionOf(parts)))
  if (refused instanceof Uncaught) return uncaught
  parts.thrown(refused)
  return failure(new V4Error(1000), parts.node.name)
}

/** Without its cluster daemon, a master of release 5.0 fails at these calls. */
function needsCluster({ path }: Operation): boolean {
  return path.startsWith('/cluster/') && path !== '/cluster/status' && !path.startsWith('/cluster/local/')
}

/** The API fails with 500 and no code for some inputs. */
class ApiCrash extends Error {}

interface Incoming {
  readonly request: IncomingMessage
  readonly params: Texts
  readonly search: string
  readonly body: string
  readonly error: number | undefined
}

/** Checks run in the order of the real API: token, parameters, body, permissions. */
async function answer(parts: V4Parts, call: Operation, incoming: Incoming): Promise<Outgoing> {
  const { node, cluster, security } = parts
  const { request } = incoming
  const { world } = cluster
  const { authorization } = request.headers
  if (call.path.startsWith('/security/user/authenticate') && call.method !== 'DELETE') {
    return logInCall(parts, call, incoming)
  }
  const fails = incoming.error === undefined ? undefined : faultOf(incoming.error, call, node.name)
  if (fails !== undefined) throw fails
  requireMaster(node, world)
  const session = security.authenticate(authorization, node.name)
  const { query, params, fields, text } = check(call, incoming, isLaterAt(parts))
  if (!parts.experimental && call.path.startsWith('/experimental/')) throw new V4Error(1122, '', { inApi: true })
  letTimePass(world)
  if (node.clusterDaemonDown === true && isMasterOnly(versionOf(parts)) && needsCluster(call))
    throw new ApiCrash(call.path)
  const asked = { params, query, fields }
  const { rights } = session
  const permitted = permit(call, asked, rights, world, node.name)
  const answered = await execute(
    cluster,
    call,
    {
      ...asked,
      query: permitted.query,
      text,
      world,
      session,
      rights,
      security,
      tasks: parts.tasks,
      allows: agentFilter(call, rights),
      allowsNamed: nameFilter(call, rights),
    },
    node,
  )
  const merged =
    answered.answer.kind === 'affected' && permitted.failed.length > 0
      ? { ...answered.answer, failed: [...answered.answer.failed, ...permitted.failed] }
      : answered.answer
  const outgoing = success(merged, answered.texts, isTrue(query.pretty))
  const { acceptedSince } = call
  const isAccepted = acceptedSince !== undefined && minorOf(versionOf(parts)) >= acceptedSince
  return isAccepted ? { ...outgoing, status: 202 } : outgoing
}

/**
 * Checks the types of a body, then the parameters, then the media type and the other members of the body. The later
 * framework checks the media type first, then the parameters, then the body.
 */
function check(call: Operation, { request, params, search, body }: Incoming, isLater: boolean) {
  checkSize(Buffer.byteLength(body))
  const expected = call.body
  const [sent] = request.headers['content-type']?.toLowerCase().split(';') ?? []
  if (isLater && expected !== undefined) checkType(expected.type, sent)
  // Without a media type, the earlier framework takes a body for a file.
  const type = sent ?? (isLater ? (expected?.type ?? '') : 'application/octet-stream')
  const isJson = expected?.type === 'application/json'
  if (isJson && call.crashes?.(body) === true) throw new ApiCrash(call.path)
  const checkParameters = () => ({
    query: checkQuery(call.query, search, { without: call.without, isLater }),
    params: checkPath(call.params, params, isLater),
  })
  const early = isLater ? checkParameters() : undefined
  if (isLater && isJson && body === '') throw badRequest('Request body must not be empty')
  const fields: Fields = isJson ? checkJson(expected.fields, body) : {}
  const checked = { ...(early ?? checkParameters()), fields }
  if (isJson) checkMembers(expected.fields, type, fields)
  const text = expected === undefined || isJson ? '' : checkUpload(expected.type, type, body)
  return { ...checked, text }
}
