/**
 * Admission: every check that depends on the headers of a request, in one order. A request is rejected with the error of
 * the first check that fails.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Endpoint } from '../catalogue/endpoint.ts'
import { namesSecret } from '../catalogue/secret.ts'
import { allows } from '../core/access.ts'
import { EdgeError } from '../core/errors.ts'
import type { Caller } from '../core/request.ts'
import type { Authenticator, Charge } from './authenticate.ts'
import { checkContentHeaders } from './body.ts'
import type { Values } from './parameters.ts'

/** The endpoint of a request and what its admission depends on. */
export interface AdmissionTarget {
  readonly endpoint: Endpoint
  readonly query: Values
}

const READ_SECRETS = 'secrets:read'
const READS: ReadonlySet<string> = new Set(['GET', 'HEAD'])

export class Admission {
  readonly charge: Charge
  readonly #authenticator: Authenticator
  readonly #managerVersion: () => string | undefined

  constructor(authenticator: Authenticator, managerVersion: () => string | undefined) {
    this.charge = authenticator.charge
    this.#authenticator = authenticator
    this.#managerVersion = managerVersion
  }

  /** Returns the caller of credentials that were verified before and still hold; `undefined`: they must be verified. */
  recall(authorization: string | undefined, clientAddress: string): Caller | undefined {
    return this.#authenticator.recall(authorization, clientAddress)
  }

  /** Counts a hit; returns `false` if the limit on hits is exceeded. */
  countHit(caller: Caller): boolean {
    return this.#authenticator.countHit(caller)
  }

  /** Whether the caller may read the endpoint. */
  allows(caller: Caller, target: AdmissionTarget): boolean {
    try {
      authorise(caller, target)
      return true
    } catch (error) {
      if (error instanceof EdgeError) return false
      throw error
    }
  }

  /** Rejects with the error of the first check that fails. `targetOf` throws 603 and 604. */
  async admit(
    request: FastifyRequest,
    reply: FastifyReply,
    targetOf: (request: FastifyRequest) => AdmissionTarget,
  ): Promise<void> {
    const { edge } = request
    edge.nextStage('authenticate')
    // Whether a read costs is known in the pipeline. A write certainly costs, and pays before anything else is decided:
    // each write that is refused later is an audit record.
    const costs = !READS.has(request.method)
    edge.caller = await this.#authenticator.authenticate(request, reply, edge.clientAddress, costs)
    edge.nextStage('authorise')
    this.#check(edge.caller, request.headers, targetOf(request))
    edge.nextStage('validate')
  }

  #check(caller: Caller, headers: IncomingHttpHeaders, target: AdmissionTarget): void {
    checkAppVersion(headers['wazuh-app-version'], this.#managerVersion)
    authorise(caller, target)
    checkContentHeaders(headers, target.endpoint)
  }
}

/** Anything that no role grants is denied: throws 902, naming the missing permission. */
export function authorise({ permissions }: Caller, { endpoint, query }: AdmissionTarget): void {
  const needed = endpoint.permission
  if (needed !== 'signedIn' && !allows(permissions, needed)) throw denied(needed)
  if ((endpoint.secret !== 'none' || namesSecret(endpoint, query)) && !allows(permissions, READ_SECRETS)) {
    throw denied(READ_SECRETS)
  }
}

function denied(permission: string): EdgeError {
  return new EdgeError(902, `. Permission needed: ${permission}`)
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
