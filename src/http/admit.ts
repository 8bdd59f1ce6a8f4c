/**
 * Admission: who the caller is, and every check that depends on the headers of a request, in one order. A request is
 * rejected with the error of the first check that fails.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Endpoint } from '../contracts/endpoint.ts'
import { allows, asksForSecret } from '../core/access.ts'
import { EdgeError } from '../core/errors.ts'
import type { Caller } from '../core/request.ts'
import type { Authenticator } from './authenticator.ts'
import type { HttpContract } from './contract.ts'
import type { Values } from './parameters.ts'

/** The endpoint of a request and what its admission depends on. */
interface AdmissionTarget {
  readonly endpoint: Endpoint
  readonly query: Values
}

const READ_SECRETS = 'secrets:read'
const READS: ReadonlySet<string> = new Set(['GET', 'HEAD'])

interface AdmissionParts {
  readonly authenticator: Pick<Authenticator, 'authenticate'>
  readonly managerVersion: () => string | undefined
  readonly contract: HttpContract
  readonly refusalByRights?: RefusalByRights
}

/** Resolves to the error with which the manager refuses the caller; `undefined`: it may not. */
export type RefusalByRights = (caller: Caller, endpoint: Endpoint) => Promise<EdgeError | undefined>

/** A smaller body costs less than to ask the manager. */
const LARGE_BODY_BYTES = 64 * 1024

/** Whether the body is large, or its length is not known before it is read. */
function mayHaveLargeBody(headers: FastifyRequest['headers']): boolean {
  if (headers['transfer-encoding'] !== undefined) return true
  return Number(headers['content-length'] ?? 0) > (headers['content-encoding'] === undefined ? LARGE_BODY_BYTES : 0)
}

/** Returns the hook that admits a request. It rejects with the error of the first check that fails. */
export function createAdmission({ authenticator, managerVersion, contract, refusalByRights }: AdmissionParts) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const { edge, headers, routeOptions } = request
    edge.nextStage('authenticate')
    // Whether a read costs is known in the pipeline. A write certainly costs, and pays before anything else is decided:
    // each write that is refused later is an audit record.
    const costs = !READS.has(request.method)
    edge.caller = await authenticator.authenticate(request, reply, edge.clientAddress, costs)
    if (costs && edge.caller.isOnlyForReads)
      throw new EdgeError(920, ' to check the token', { headers: { 'retry-after': '1' } })
    edge.nextStage('authorise')
    const { url = '' } = request.raw
    const { endpoint: found, permission = '' } = routeOptions.config
    const { query, flags } = contract.parseQuery(url, found)
    edge.flags = flags
    request.query = query
    if (permission !== '') return requirePermission(edge.caller, permission)
    const endpoint = contract.served(found, request.method, url)
    const appVersion = headers['wazuh-app-version']
    if (appVersion !== undefined && contract.comparesAppVersion) checkAppVersion(appVersion, managerVersion)
    authorise(edge.caller, { endpoint, query })
    if ('body' in endpoint || headers['content-encoding'] !== undefined) contract.checkContentHeaders(headers, endpoint)
    const refused = mayHaveLargeBody(headers) ? await refusalByRights?.(edge.caller, endpoint) : undefined
    if (refused !== undefined) throw refused
    edge.nextStage('validate')
  }
}

/** Of the route of a plugin. */
function requirePermission({ permissions }: Caller, permission: string): void {
  if (permission !== 'signedIn' && !allows(permissions, permission)) throw denied(permission)
}

/** Anything that no role grants is denied: throws 902, naming the missing permission. */
export function authorise(caller: Caller, target: AdmissionTarget): void {
  const missing = missingPermission(caller, target)
  if (missing !== undefined) throw denied(missing)
}

function denied(permission: string): EdgeError {
  return new EdgeError(902, `. Permission needed: ${permission}`)
}

export function missingPermission({ permissions }: Caller, { endpoint, query }: AdmissionTarget): string | undefined {
  const needed = endpoint.permission
  if (needed !== 'signedIn' && !allows(permissions, needed)) return needed
  const { secret, allFieldsWithout } = endpoint
  const isSecret = secret !== 'none' || allFieldsWithout !== undefined || asksForSecret(endpoint, query)
  return isSecret && !allows(permissions, READ_SECRETS) ? READ_SECRETS : undefined
}

const VERSION = /^v?([0-9]{1,4})\.([0-9]{1,4})\.[0-9]{1,4}$/

/**
 * `wazuh-app-version`: a client that sends its version needs a manager of the same major and minor version (contract,
 * errors 801 and 802). The edge compares with the version that the nodes report (`3.11.5`, `Wazuh v3.11.5`). Where there
 * is none to compare with, only malformed headers are rejected.
 */
function checkAppVersion(header: string | string[], managerVersion: () => string | undefined): void {
  const app = typeof header === 'string' ? VERSION.exec(header) : null
  if (app === null) throw new EdgeError(801)
  const manager = VERSION.exec(managerVersion()?.split(' ').at(-1) ?? '')
  if (manager === null || (app[1] === manager[1] && app[2] === manager[2])) return
  const minorOf = ([, major, minor]: RegExpExecArray) => `'${major}.${minor}.x'`
  throw new EdgeError(802, `. Expected version ${minorOf(manager)}, and found ${minorOf(app)}.`)
}
