/** What a response shows about its node, and which calls show it. */
import { isRelease5, type NodeCall, type NodeResponse } from '../core/node-call.ts'
import { ownField, parseJson } from '../core/values.ts'

/**
 * What a response of the v4 layout shows about the node itself, not about the call.
 * `tooManyRequests`: its limit of requests per minute is reached. `tooManyUnauthenticated`: that of release 5.0 for requests
 * without valid credentials, which calls with a token do not share. `addressBlocked`: it refuses every request of this
 * address after 50 failed logins. `hanging`: the only process that carries out its calls did not end one in ten seconds.
 */
type NodeProblem = 'tooManyRequests' | 'tooManyUnauthenticated' | 'addressBlocked' | 'hanging'

const TOO_MANY_REQUESTS = 429
const FORBIDDEN = 403
const INTERNAL_ERROR = 500
const ADDRESS_BLOCKED = 6000
const TOO_MANY_UNAUTHENTICATED = 6005
const EXECUTION_TIMEOUT = 3021
/** A longer body is no such problem. */
const MAX_PROBLEM_BYTES = 16 * 1024

/** Returns `undefined` for every other response. `name`: the node that answered. */
export function problemOf({ status, body }: NodeResponse, name: string): NodeProblem | undefined {
  const isProblem = status === TOO_MANY_REQUESTS || status === FORBIDDEN || status === INTERNAL_ERROR
  if (!isProblem) return undefined
  const problem = Buffer.isBuffer(body) && body.length <= MAX_PROBLEM_BYTES ? parseJson(body) : undefined
  const code = ownField(problem, 'error')
  if (status === TOO_MANY_REQUESTS)
    return code === TOO_MANY_UNAUTHENTICATED ? 'tooManyUnauthenticated' : 'tooManyRequests'
  if (status === FORBIDDEN) return code === ADDRESS_BLOCKED ? 'addressBlocked' : undefined
  return code === EXECUTION_TIMEOUT && isOwn(problem, name) ? 'hanging' : undefined
}

/** The error names the nodes that had it: another one may hang, to which this one passed the call on. */
function isOwn(problem: unknown, name: string): boolean {
  const nodes = Object.keys(Object(ownField(problem, 'dapi_errors')) as object)
  return nodes.length === 0 || nodes.includes(name) || nodes.includes('unknown-node')
}

const SENDING_TIMEOUT = 3020

/** Returns whether the node gave up a call that it passed on, because the other node did not answer. */
export function isTimeoutInside({ status, body }: NodeResponse, name: string): boolean {
  if (status !== INTERNAL_ERROR || !Buffer.isBuffer(body) || body.length > MAX_PROBLEM_BYTES) return false
  const problem = parseJson(body)
  const code = ownField(problem, 'error')
  return code === SENDING_TIMEOUT || (code === EXECUTION_TIMEOUT && !isOwn(problem, name))
}

/** Calls that the process in question carries out: of releases 4, and of release 5.0. */
const STATUS_PATHS = ['/manager/status', '/agents/summary/status'] as const

/** A client may read what the probe of release 5.0 reads. */
export function isStatusProbe({ endpoint, priority }: Pick<NodeCall, 'endpoint' | 'priority'>): boolean {
  const [path, ofRelease5] = STATUS_PATHS
  return endpoint === `GET ${path}` || (priority === 'own' && endpoint === `GET ${ofRelease5}`)
}

/** Returns the call that the edge sends to a node that hangs. */
export function statusProbe(release: string | undefined): { readonly path: string; readonly endpoint: string } {
  const path = STATUS_PATHS[isRelease5(release) ? 1 : 0]
  return { path, endpoint: `GET ${path}` }
}

/** Calls that the API process of a node answers by itself: they succeed while the other process hangs. */
const ANSWERED_WHILE_HANGING: ReadonlySet<string> = new Set([
  'GET /',
  'GET /version',
  'GET /cluster/nodes',
  'GET /cluster/healthcheck',
  'GET /security/user/authenticate',
  'POST /security/user/authenticate',
])

/** Whether the call is a login, which the API process answers by itself. */
export function isLogin({ endpoint }: Pick<NodeCall, 'endpoint'>): boolean {
  return endpoint.endsWith(' /security/user/authenticate')
}

/** Returns whether a success of the call shows that the process works. */
export function provesExecution({ endpoint, passedOnTo }: Pick<NodeCall, 'endpoint' | 'passedOnTo'>): boolean {
  return passedOnTo === undefined && !ANSWERED_WHILE_HANGING.has(endpoint)
}
