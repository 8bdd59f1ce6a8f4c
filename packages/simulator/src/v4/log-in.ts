/** Logging in with Basic credentials, also on behalf of another context (`run_as`). */
import type { IncomingMessage } from 'node:http'
import { checkJson } from './bodies.ts'
import { requireMaster } from './distribute.ts'
import { Refusal, Uncaught, V4Error } from './errors.ts'
import { notReady } from './execution.ts'
import type { Operation } from './model.ts'
import { checkQuery, isTrue } from './parameters.ts'
import { isLaterAt, type V4Parts, versionOf } from './parts.ts'
import { unauthorized } from './rbac/security.ts'
import { isMasterOnly } from './releases.ts'
import { json, plain } from './wire.ts'

interface LogIn {
  readonly request: IncomingMessage
  readonly search: string
  readonly body: string
  readonly error: number | undefined
}

/** Of an authorisation context, since release 5.0. */
const MAX_CONTEXT_BYTES = 8192
const CONTEXT_TOO_LARGE = () => {
  const detail = `Auth context payload exceeds the maximum allowed size of ${MAX_CONTEXT_BYTES} bytes.`
  return new Refusal(413, 'Request Entity Too Large', detail, 413)
}

/** Basic credentials that cannot be decoded. */
function isBroken(authorization: string | undefined): boolean {
  const [scheme, encoded = ''] = (authorization ?? '').split(' ')
  if (scheme?.toLowerCase() !== 'basic') return false
  return !/^[A-Za-z0-9+/]+={0,2}$/.test(encoded) || !Buffer.from(encoded, 'base64').includes(':')
}

/** Every failure counts as a failed login of the address, also a request without credentials. */
export async function logInCall(parts: V4Parts, call: Operation, logIn: LogIn) {
  return parts.limits.countLogin(logIn.request, () => checkLogIn(parts, call, logIn))
}

async function checkLogIn(parts: V4Parts, call: Operation, { request, search, body, error }: LogIn) {
  const { node, cluster, security, limits, costs } = parts
  if (error === 1017 || node.startedAt > cluster.world.now()) throw notReady(node.name)
  requireMaster(node, cluster.world)
  const isRelease5 = isMasterOnly(versionOf(parts))
  const { authorization } = request.headers
  if (isRelease5 && isBroken(authorization)) throw new Uncaught()
  const user = security.checkPassword(authorization)
  if (user === undefined) {
    limits.fail(request)
    throw unauthorized('Invalid credentials')
  }
  await costs.logIn()
  const runAs = call.path.endsWith('/run_as')
  if (isRelease5 && runAs && Buffer.byteLength(body) > MAX_CONTEXT_BYTES) throw CONTEXT_TOO_LARGE()
  const context = runAs ? checkJson(undefined, body) : undefined
  const query = checkQuery(call.query, search, { without: call.without, isLater: isLaterAt(parts) })
  if (runAs && !user.runAs) throw new V4Error(6004)
  const token = security.issue(user, node.name, context)
  return isTrue(query.raw) ? plain(token) : json(200, { data: { token }, error: 0 })
}
