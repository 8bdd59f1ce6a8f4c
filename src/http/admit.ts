/**
 * Admission: every check that depends on the headers of a request, in one order. A request is rejected with the error of
 * the first check that fails.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Endpoint } from '../catalogue/endpoint.ts'
import { allows, namesSecret } from '../core/access.ts'
import { EdgeError } from '../core/errors.ts'
import type { Caller } from '../core/request.ts'
import type { Authenticator } from './authenticate.ts'
import type { HttpContract } from './contract.ts'
import type { Values } from './parameters.ts'

/** The endpoint of a request and what its admission depends on. */
export interface AdmissionTarget {
  readonly endpoint: Endpoint
  readonly query: Values
}

const READ_SECRETS = 'secrets:read'
const READS: ReadonlySet<string> = new Set(['GET', 'HEAD'])

export interface AdmissionParts {
  readonly authenticator: Pick<Authenticator, 'authenticate'>
  readonly managerVersion: () => string | undefined
  readonly contract: Pick<HttpContract, 'checkContentHeaders' | 'comparesAppVersion' | 'refuseEarly'>
  /** Throws 603 and 604. */
  readonly targetOf: (request: FastifyRequest) => AdmissionTarget
}

/** Returns the hook that admits a request. It rejects with the error of the first check that fails. */
export function createAdmission({ authenticator, managerVersion, contract, targetOf }: AdmissionParts) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const { edge, headers } = request
    contract.refuseEarly?.(request)
    edge.nextStage('authenticate')
    // Whether a read costs is known in the pipeline. A write certainly costs, and pays before anything else is decided:
    // each write that is refused later is an audit record.
    const costs = !READS.has(request.method)
    edge.caller = await authenticator.authenticate(request, reply, edge.clientAddress, costs)
    edge.nextStage('authorise')
    const target = targetOf(request)
    if (contract.comparesAppVersion) checkAppVersion(headers['wazuh-app-version'], managerVersion)
    authorise(edge.caller, target)
    const takesBody = 'body' in target.endpoint
    if (takesBody || headers['content-encoding'] !== undefined) contract.checkContentHeaders(headers, target.endpoint)
    edge.nextStage('validate')
  }
}

/** Anything that no role grants is denied: throws 902, naming the missing permission. */
export function authorise(caller: Caller, target: AdmissionTarget): void {
  const missing = missingPermission(caller, target)
  if (missing !== undefined) throw new EdgeError(902, `. Permission needed: ${missing}`)
}

/** Returns a permission that the caller needs and does not have. */
export function missingPermission({ permissions }: Caller, { endpoint, query }: AdmissionTarget): string | undefined {
  const needed = endpoint.permission
  if (needed !== 'signedIn' && !allows(permissions, needed)) return needed
  const isSecret = endpoint.secret !== 'none' || namesSecret(endpoint, query)
  return isSecret && !allows(permissions, READ_SECRETS) ? READ_SECRETS : undefined
}

const VERSION = /^v?([0-9]{1,4})\.([0-9]{1,4})\.[0-9]{1,4}$/

/**
 * `wazuh-app-version`: a client that sends its version needs a manager of the same major and minor version (contract,
 * errors 801 and 802). The edge compares with the version that the nodes report (`3.11.5`, `Wazuh v3.11.5`). Where there
 * is none to compare with, only malformed headers are rejected.
 */
function checkAppVersion(header: string | string[] | undefined, managerVersion: () => string | undefined): void {
  if (header === undefined) return
  const app = typeof header === 'string' ? VERSION.exec(header) : null
  if (app === null) throw new EdgeError(801)
  const manager = VERSION.exec(managerVersion()?.split(' ').at(-1) ?? '')
  if (manager === null || (app[1] === manager[1] && app[2] === manager[2])) return
  const minorOf = ([, major, minor]: RegExpExecArray) => `'${major}.${minor}.x'`
  throw new EdgeError(802, `. Expected version ${minorOf(manager)}, and found ${minorOf(app)}.`)
}
